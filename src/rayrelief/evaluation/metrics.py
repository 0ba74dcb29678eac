"""Depth against ground truth: MADE, RE and ERA, each named with its alignment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from rayrelief.checks import as_array, one_of
from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError, in_number

Alignment = Literal["scale", "shift"]


@dataclass(frozen=True)
class DepthErrors:
    """Errors of a depth map after alignment by the scale or shift that normals do not determine.

    Attributes
    ----------
    alignment
        "scale": times median(truth / depth), for central cameras; "shift": plus
        median(truth - depth), for orthographic ones.
    made
        Mean absolute depth error, in the unit of the truth.
    re
        Mean of |error| / truth, in percent; NaN after a shift, where depth has no zero.
    era
        Mean of |error| over the mean of the truth, in percent; NaN after a shift.
    """

    alignment: Alignment
    made: float
    re: float
    era: float

    def __str__(self) -> str:
        text = f"MADE (median {self.alignment}) {self.made:.4g}"
        if self.alignment == "scale":
            text += f", RE {self.re:.4g} %, ERA {self.era:.4g} %"
        return text


def aligned(depth: FloatArray, truth: FloatArray, alignment: Alignment) -> FloatArray:
    """Depth (H, W) after one global scale or shift, the median over all pixels that have both."""
    remedy = "Use 'scale' for central cameras and 'shift' for orthographic ones"
    one_of(get_args(Alignment), remedy).check("the alignment", alignment)
    depth, truth = as_array(depth, "the depth"), as_array(truth, "the truth")
    if depth.shape != truth.shape:
        raise InputError(
            f"the depth has the shape {depth.shape} and the truth {truth.shape}",
            expected="two maps of the same size",
            remedy="Evaluate against the ground truth of the same image",
        )
    both = np.isfinite(depth) & np.isfinite(truth)
    if not both.any():
        raise InputError(
            "no pixel has both a depth and a true depth",
            expected="masks that overlap",
            remedy="Check that the ground truth belongs to this map",
        )
    if alignment == "scale":
        zeros = int((both & ((depth == 0) | (truth == 0))).sum())
        if zeros:
            raise InputError(
                f"{in_number(zeros, 'pixel has', 'pixels have')} the depth 0",
                expected="NaN where a depth is not known",
                remedy="Set these pixels to NaN, or leave them out of the mask",
            )
        return depth * np.median(truth[both] / depth[both])
    return depth + np.median(truth[both] - depth[both])


def error_map(depth: FloatArray, truth: FloatArray, alignment: Alignment) -> FloatArray:
    """Absolute error (H, W) after alignment; NaN where either is missing."""
    error: FloatArray = np.abs(aligned(depth, truth, alignment) - truth)
    return error


def depth_errors(depth: FloatArray, truth: FloatArray, alignment: Alignment) -> DepthErrors:
    """Compare depth (H, W) with the truth of the same kind."""
    depth, truth = as_array(depth, "the depth"), as_array(truth, "the truth")
    error = error_map(depth, truth, alignment)
    both = np.isfinite(error)
    made = float(error[both].mean())
    if alignment == "shift":
        return DepthErrors(alignment, made, float("nan"), float("nan"))
    re = 100 * float(np.mean(error[both] / truth[both]))
    return DepthErrors(alignment, made, re, 100 * made / float(truth[both].mean()))
