"""Colours of depth and error."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.evaluation.metrics import error_map
from rayrelief.result import Integration
from rayrelief.shading import Image
from rayrelief.viewer.sheet import ColourScale, colour_table


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


def depth_scale(result: HasDepth) -> ColourScale:
    """Colours of the depth of a result, from near to far."""
    depth = result.depth[result.mask]
    low, high = (float(end) for end in np.percentile(depth, (1, 99)))
    clipped = bool(depth.min() < low), bool(depth.max() > high)
    return ColourScale(colour_table("viridis"), low, high, ("near", "far"), clipped)


def jump_scale(jumps: FloatArray) -> ColourScale | None:
    """Colours of the sizes of jumps (H, W); None where there are none."""
    sizes = jumps[jumps > 0]
    if not sizes.size:
        return None
    most = float(np.percentile(sizes, 95))
    return _from_zero(colour_table("inferno", 205, 0), most, float(sizes.max()))


def paint_jumps(jumps: FloatArray) -> Image:
    """Picture (H, W, 3) of the sizes of jumps (H, W); white where it is continuous."""
    scale = jump_scale(jumps) or ColourScale(colour_table("inferno"), 0.0, 0.0)
    picture = scale.paint(jumps)
    picture[jumps == 0] = 255
    return picture


def error_of(result: Integration, truth: FloatArray) -> FloatArray:
    """Error (H, W) in the unit of the truth, as those of a summary; NaN where unknown."""
    return error_map(result.depth, truth, "scale" if result.camera.central else "shift")


def error_scale(*errors: FloatArray) -> ColourScale:
    """Colours of an error (H, W) from none on, or of several that are compared."""
    known = [each[np.isfinite(each)] for each in errors]
    most = max(float(np.percentile(each, 99)) for each in known)
    largest = max(float(each.max()) for each in known)
    return _from_zero(colour_table("magma", 255, 0), most, largest)


def _from_zero(colours: Image, most: float, largest: float) -> ColourScale:
    """Colours of lengths up to the most that is told apart, of which one may be larger."""
    return ColourScale(colours, 0.0, most, clipped=(False, largest > most))
