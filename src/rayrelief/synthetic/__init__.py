"""Closed-form scenes, ray-cast through any camera to exact normals and depth."""

from rayrelief.synthetic.gallery import GALLERY
from rayrelief.synthetic.perturb import (
    quantised,
    with_extended_errors,
    with_outliers,
    with_rotation_noise,
)
from rayrelief.synthetic.render import render

__all__ = [
    "GALLERY",
    "quantised",
    "render",
    "with_extended_errors",
    "with_outliers",
    "with_rotation_noise",
]
