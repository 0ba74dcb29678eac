"""Validate, repair or drop normals; returns what is left and a report of what was done."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import AXIS_SIGNS, BoolArray, FloatArray
from rayrelief.errors import InputError, IntegrationWarning

FacingAway = Literal["keep", "average", "drop"]

WARN_FRACTION = 0.01  # facing away: more than this is worth a warning
ERROR_FRACTION = 0.20  # and more than this is the wrong axes


@dataclass(frozen=True)
class Preprocessing:
    """What to do with normals that cannot be seen, or do not fit their neighbours.

    Attributes
    ----------
    facing_away
        For n . ray >= 0: ``"keep"`` uses them as they are (edges that become impossible are left
        out), ``"average"`` takes the mean of the facing normals around, ``"drop"`` takes them from
        the mask. None keeps them too, but more than 20 % is an error: it is nearly always a flipped
        axis.
    outlier_ratio
        Also averages normals whose |n . ray| differs from its local mean by more than this fraction
        of the mean; the paper uses 0.75. None leaves them.
    average_window, outlier_window
        Odd widths, in pixels, of the windows for the average and for the local mean.
    """

    facing_away: FacingAway | None = None
    outlier_ratio: float | None = None
    average_window: int = 3
    outlier_window: int = 3

    def __post_init__(self) -> None:
        if self.facing_away not in (None, "keep", "average", "drop"):
            raise InputError(
                f"facing_away is {self.facing_away!r}",
                expected="'keep', 'average' or 'drop'",
                remedy="Leave it out to keep such normals and be warned of many",
            )
        if self.outlier_ratio is not None and not self.outlier_ratio > 0:
            raise InputError(
                f"outlier_ratio is {self.outlier_ratio}",
                expected="a positive fraction, or None",
                remedy="The paper uses 0.75",
            )
        for name in ("average_window", "outlier_window"):
            width = getattr(self, name)
            if width < 3 or width % 2 == 0:
                raise InputError(
                    f"{name} is {width}", expected="an odd number from 3", remedy="Use 3"
                )


@dataclass(frozen=True)
class PreprocessReport:
    """Pixel counts of what was found and done, inside the given mask."""

    pixels: int
    without_normal: int
    without_ray: int
    facing_away: int
    averaged: int
    dropped: int
    outliers: int

    def notes(self) -> tuple[str, ...]:
        """Say what is worth saying, one sentence each."""
        sayings = (
            (self.without_normal, "{} pixels have no normal (NaN or zero) and left the mask"),
            (self.without_ray, "{} pixels have no ray in this camera and left the mask"),
            (self.facing_away, "{} normals face away from the camera (see facing_away)"),
            (self.outliers, "{} normals differ from their neighbourhood (outlier_ratio)"),
            (self.averaged, "{} normals were replaced by the mean of their neighbours"),
            (self.dropped, "{} pixels left the mask for their normals"),
        )
        return tuple(text.format(f"{count:,}") for count, text in sayings if count)


def prepare_normals(
    normals: npt.NDArray[Any], mask: BoolArray, rays: FloatArray, options: Preprocessing
) -> tuple[FloatArray, BoolArray, PreprocessReport]:
    """Unit normals (H, W, 3), NaN outside, the mask that is left, and a report; camera frame.

    The inputs are not modified.
    """
    inside = mask.copy()
    unit = np.array(normals, dtype=np.float64)  # a copy, whatever dtype, stride or flag came in
    length = _lengths(unit)
    has_normal = np.isfinite(length) & (length > 0)
    has_ray = np.isfinite(rays).all(axis=-1)
    without_normal = int((inside & ~has_normal).sum())
    without_ray = int((inside & has_normal & ~has_ray).sum())
    inside &= has_normal & has_ray
    if not inside.any():
        raise InputError(
            f"no pixel is left to integrate: of {int(mask.sum()):,} in the mask "
            f"{without_normal:,} have no normal and {without_ray:,} no ray",
            expected="a finite, non-zero normal and a ray at some pixel of the mask",
            remedy="Check that the mask fits the map, and that the map holds normals",
        )
    unit[~inside] = np.nan
    unit[inside] /= length[inside, None]
    incidence = np.full(mask.shape, np.nan)
    incidence[inside] = np.einsum("ij,ij->i", unit[inside], rays[inside])
    away = inside & (incidence >= 0)
    _judge_facing_away(unit, rays, inside, away, options)

    averaged = outliers = dropped = 0
    if options.facing_away == "drop":
        dropped = int(away.sum())
        inside &= ~away
    repair = away if options.facing_away == "average" else np.zeros_like(away)
    if options.outlier_ratio is not None:
        odd = inside & ~away & _is_outlier(incidence, inside, options)
        outliers = int(odd.sum())
        repair = repair | odd
    if repair.any():
        failed = _average_neighbours(unit, rays, inside, repair, incidence, options.average_window)
        averaged = int(repair.sum()) - int(failed.sum())
        dropped += int(failed.sum())
        inside &= ~failed
    unit[~inside] = np.nan
    report = PreprocessReport(
        pixels=int(mask.sum()),
        without_normal=without_normal,
        without_ray=without_ray,
        facing_away=int(away.sum()),
        averaged=averaged,
        dropped=dropped,
        outliers=outliers,
    )
    if not inside.any():
        raise InputError(
            "every normal of the mask faces away from the camera and was dropped",
            expected="normals with n.ray < 0",
            remedy="Check the convention of the normal map",
        )
    return unit, inside, report


def _lengths(vectors: FloatArray) -> FloatArray:
    """Lengths (H, W) of vectors (H, W, 3); those whose square overflows are scaled in place."""
    with np.errstate(over="ignore"):
        length: FloatArray = np.linalg.norm(vectors, axis=-1)
    extreme = np.isfinite(vectors).all(axis=-1) & ~((length > 1e-150) & (length < 1e150))
    largest = np.abs(vectors[extreme]).max(axis=-1, keepdims=True)
    vectors[extreme] /= np.where(largest > 0, largest, 1.0)
    length[extreme] = np.linalg.norm(vectors[extreme], axis=-1)
    return length


def _judge_facing_away(
    unit: FloatArray, rays: FloatArray, inside: BoolArray, away: BoolArray, options: Preprocessing
) -> None:
    fraction = away.sum() / inside.sum()
    if fraction <= WARN_FRACTION:
        return
    found = f"{100 * fraction:.0f} % of the normals face away from the camera (n.ray >= 0)"
    if fraction > ERROR_FRACTION and options.facing_away is None:
        fitting = _conventions_that_fit(unit[inside], rays[inside])
        likely = (
            f"The axes of {' or '.join(map(repr, fitting))} would fit: pass "
            f"convention={fitting[0]!r} to read_scene or to_opencv (--convention)"
            if fitting
            else "No known convention fits; these may be world-space normals"
        )
        raise InputError(
            found,
            expected="under 1 %",
            remedy=f"{likely}. To go on regardless, choose facing_away 'keep', 'average' or 'drop'",
        )
    if options.facing_away is None:
        warnings.warn(
            f"{found}; expected under 1 %. Check the convention, or choose facing_away 'average' "
            "or 'drop'.",
            IntegrationWarning,
            stacklevel=4,
        )


def _conventions_that_fit(normals: FloatArray, rays: FloatArray) -> list[str]:
    """Conventions in which hardly any of these normals (N, 3) would face away, best first."""
    fractions = {
        name: float(np.mean(np.einsum("ij,ij->i", normals * signs, rays) >= 0))
        for name, signs in AXIS_SIGNS.items()
        if name != "opencv"
    }
    return sorted(
        (n for n, f in fractions.items() if f <= WARN_FRACTION), key=fractions.__getitem__
    )


def _is_outlier(incidence: FloatArray, inside: BoolArray, options: Preprocessing) -> BoolArray:
    """Whether |n . ray| differs from its local mean by more than outlier_ratio of that mean."""
    size = np.abs(incidence)
    total, count = _window_sums(np.where(inside, size, 0.0), inside, options.outlier_window)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / count
        odd: BoolArray = np.abs(size - mean) > options.outlier_ratio * mean  # type: ignore[operator]
    return odd


def _average_neighbours(
    unit: FloatArray,
    rays: FloatArray,
    inside: BoolArray,
    repair: BoolArray,
    incidence: FloatArray,
    window: int,
) -> BoolArray:
    """Replace normals by the mean of the facing ones around, in place; returns those that failed.

    The window grows until the mean exists and faces the camera itself.
    """
    good = inside & (incidence < 0) & ~repair
    left = repair.copy()
    source = np.where(good[..., None], unit, 0.0)
    while left.any() and window // 2 < max(inside.shape) and good.any():
        sums = [_window_sums(source[..., i], good, window) for i in range(3)]
        total = np.stack([s for s, _ in sums], axis=-1)
        length = np.linalg.norm(total, axis=-1)
        solved = left & (sums[0][1] > 0) & (length > 1e-6)  # opposite normals may cancel
        total[solved] /= length[solved, None]
        solved[solved] = np.einsum("ij,ij->i", total[solved], rays[solved]) < 0
        unit[solved] = total[solved]
        left &= ~solved
        window += 2
    return left


def _window_sums(
    values: FloatArray, counted: BoolArray, window: int
) -> tuple[FloatArray, FloatArray]:
    """Sum of values (H, W), zero where not counted, and count of pixels in a square window."""
    from scipy.ndimage import uniform_filter

    area = window * window
    total = uniform_filter(values, window, mode="constant") * area
    count = np.rint(uniform_filter(counted.astype(np.float64), window, mode="constant") * area)
    return total, count
