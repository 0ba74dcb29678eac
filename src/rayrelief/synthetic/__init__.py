"""Closed-form scenes, ray-cast through any camera to exact normals and depth."""

from rayrelief.synthetic.gallery import GALLERY
from rayrelief.synthetic.render import render

__all__ = ["GALLERY", "render"]
