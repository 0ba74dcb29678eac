"""Colours of what is known at every pixel: normals, depth, error."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from rayrelief.conventions import BoolArray, FloatArray, from_opencv
from rayrelief.evaluation.metrics import error_map
from rayrelief.result import Integration
from rayrelief.viewer.sheet import PAPER, ColourScale, Image, colour_table


class HasDepth(Protocol):
    """A result, as it was computed or as it was read back."""

    @property
    def depth(self) -> FloatArray:
        """(H, W), NaN outside."""
        ...

    @property
    def mask(self) -> BoolArray:
        """(H, W): pixels that have a depth."""
        ...


def paint_normals(normals: FloatArray) -> Image:
    """Picture of normals (..., 3) in the usual colours: x right red, y up green, z back blue."""
    level: FloatArray = 127.5 * (np.nan_to_num(from_opencv(normals, "opengl")) + 1.0)
    picture = level.round().astype(np.uint8)
    picture[np.isnan(normals[..., 0])] = PAPER
    return picture


def depth_scale(result: HasDepth) -> ColourScale:
    """Colours of the depth of a result, from near to far."""
    low, high = np.percentile(result.depth[result.mask], (1, 99))
    return ColourScale(colour_table("viridis"), float(low), float(high), ("near", "far"))


def jump_scale(jumps: FloatArray) -> ColourScale | None:
    """Colours of the sizes of jumps (H, W); None where there are none."""
    sizes = jumps[jumps > 0]
    if not sizes.size:
        return None
    return ColourScale(colour_table("inferno", 205, 0), 0.0, float(np.percentile(sizes, 95)))


def paint_jumps(jumps: FloatArray) -> Image:
    """Picture (H, W, 3) of the sizes of jumps (H, W); white where it is continuous."""
    scale = jump_scale(jumps) or ColourScale(colour_table("inferno"), 0.0, 0.0)
    picture = scale.paint(jumps)
    picture[jumps == 0] = 255
    return picture


def error_of(result: Integration, truth: FloatArray) -> FloatArray:
    """Error (H, W) in the unit of the depth: the truth is aligned with it; NaN where unknown."""
    return error_map(truth, result.depth, "scale" if result.camera.central else "shift")


def error_scale(error: FloatArray) -> ColourScale:
    """Colours of an error (H, W), from none on."""
    most = float(np.percentile(error[np.isfinite(error)], 99))
    return ColourScale(colour_table("magma", 255, 0), 0.0, most)
