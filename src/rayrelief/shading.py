"""Normals as pictures: in colours, or lit."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import FloatArray, from_opencv

Image = npt.NDArray[np.uint8]  # (H, W, 3), RGB

PAPER = (244, 244, 242)
CLAY = (236, 224, 208)

# A headlight held a little up and to the left shows relief that one right at the eye would flatten.
_LIGHT_FROM_EYE = (-0.35, -0.5, 0.0)
_AMBIENT = 0.2
_WRAP = 0.5  # a wide light reaches a little around the surface: no hard edge of its shadow


def shade(normals: FloatArray, towards_eye: FloatArray) -> FloatArray:
    """Brightness (...), 0 to 1, of a matt surface with normals (..., 3) under a soft headlight.

    Both vectors are of unit length in one frame with x right and y down. Normals that are NaN, of
    points without a face, count as facing the eye.
    """
    light = towards_eye + np.array(_LIGHT_FROM_EYE)
    light /= np.linalg.norm(light, axis=-1, keepdims=True)
    facing = np.where(np.isnan(normals), towards_eye, normals)
    wrapped = (np.einsum("...i,...i->...", facing, light) + _WRAP) / (1 + _WRAP)
    brightness: FloatArray = _AMBIENT + (1 - _AMBIENT) * np.clip(wrapped, 0, 1) ** 1.5
    return brightness


def paint_normals(normals: FloatArray) -> Image:
    """Picture of normals (..., 3) in the usual colours: x right red, y up green, z back blue."""
    level: FloatArray = 127.5 * (np.nan_to_num(from_opencv(normals, "opengl")) + 1.0)
    picture = level.round().astype(np.uint8)
    picture[np.isnan(normals[..., 0])] = PAPER
    return picture


def shade_from_camera(vertices: FloatArray, normals: FloatArray, *, central: bool) -> FloatArray:
    """Brightness (V,) of points (V, 3) with normals as the camera at the origin sees them.

    NaN of points that lie in no direction from it.
    """
    towards_eye = np.array([[0.0, 0.0, -1.0]])
    if central:
        # Lengths of unit size: squares of absurd depths leave the range of numbers.
        largest = np.abs(vertices).max(axis=-1, keepdims=True)
        has_length = (largest > 0) & np.isfinite(largest)
        towards_eye = -vertices / np.where(has_length, largest, np.nan)
        towards_eye /= np.linalg.norm(towards_eye, axis=-1, keepdims=True)
    return shade(normals, towards_eye)


def paint_clay(brightness: FloatArray) -> Image:
    """Picture (H, W, 3) of brightnesses (H, W), 0 to 1, of clay; paper where they are NaN."""
    colours = np.linspace(0, 1, 256)[:, None] * CLAY
    return paint(brightness, colours.round().astype(np.uint8))


def paint(level: FloatArray, colours: Image) -> Image:
    """Picture (H, W, 3) of levels (H, W), 0 to 1, in a table of 256 colours; paper where NaN."""
    index = np.clip(np.nan_to_num(level) * 255 + 0.5, 0, 255).astype(np.uint8)
    picture = colours[index]
    picture[np.isnan(level)] = PAPER
    return picture
