"""Validate, repair or drop normals; returns what is left and a report of what was done."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from rayrelief.cameras.base import Camera
from rayrelief.checks import Rule, check_settings, is_count, is_positive_or_none, one_of
from rayrelief.conventions import CONVENTIONS, BoolArray, FloatArray, to_opencv
from rayrelief.doctor.axes import find_axes
from rayrelief.errors import InputError, IntegrationWarning, in_number
from rayrelief.neighbourhood import average_neighbours
from rayrelief.pieces import side_by_side, slices

FacingAway = Literal["keep", "average", "drop"]

WARN_FRACTION = 0.01  # facing away: more than this is worth a warning
ERROR_FRACTION = 0.20  # and more than this is the wrong axes
EDGE_ON = 1e-6  # n . ray of a plane that is seen from its edge: an infinite slope, up to rounding
PIXELS_AT_A_TIME = 1 << 15  # by each thread: with fewer they wait for each other


@dataclass(frozen=True)
class Preprocessing:
    """How to treat normals that face away from the camera, and outliers.

    Attributes
    ----------
    facing_away
        What to do with normals that face away from the camera: keep uses them as they are, average
        replaces them by the mean of the facing normals around, drop removes their pixels. Unless
        given they are averaged, but more than 20 % are an error: nearly always a flipped axis.
    outlier_ratio
        Average normals whose |n . ray| differs from its local mean by more than this fraction of
        it; the paper uses 0.75. Off unless given.
    average_window
        Odd width in pixels of the window of the average.
    outlier_window
        Odd width in pixels of the window of the local mean.
    """

    facing_away: FacingAway | None = None
    outlier_ratio: float | None = None
    average_window: int = 3
    outlier_window: int = 3

    def __post_init__(self) -> None:
        window = Rule(_is_window, "an odd integer >= 3", "Use 3")
        fraction = "a positive fraction, or None"
        check_settings(
            self,
            outlier_ratio=Rule(is_positive_or_none, fraction, "The paper uses 0.75"),
            average_window=window,
            outlier_window=window,
        )
        if self.facing_away is not None:
            remedy = "Leave it out to average such normals, with a warning if there are many"
            check_settings(self, facing_away=one_of(get_args(FacingAway), remedy))

    @property
    def averages(self) -> bool:
        """Whether normals that face away are averaged."""
        return self.facing_away in (None, "average")


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
        """Notes for the user, one sentence each."""
        has, was = ("pixel has", "pixels have"), ("was", "were")
        faces, differs = ("normal faces", "normals face"), ("normal differs", "normals differ")
        sayings = (
            (self.without_normal, has, "no normal (NaN, infinite or zero) and {} excluded"),
            (self.without_ray, has, "no ray in this camera and {} excluded"),
            (self.facing_away, faces, "away from the camera (facing_away, --facing-away)"),
            (self.outliers, differs, "from those around (outlier_ratio, --outlier-ratio)"),
            (self.averaged, ("normal", ""), "{} replaced by the mean of those around"),
            (self.dropped, ("pixel", ""), "{} excluded because of the normal there"),
        )
        return tuple(
            f"{in_number(count, *words)} {rest.format(was[count > 1])}"
            for count, words, rest in sayings
            if count
        )


def prepare_normals(
    normals: npt.NDArray[Any],
    mask: BoolArray,
    rays: FloatArray,
    options: Preprocessing,
    camera: Camera | None = None,
    joined: tuple[bool, bool] = (False, False),
) -> tuple[FloatArray, BoolArray, PreprocessReport]:
    """Unit normals (H, W, 3), NaN outside, the mask that is left, and a report; camera frame.

    The inputs are not modified. Whose rays they are matters only for advice on wrong axes. Rows or
    columns whose ends are ``joined`` go on across the border.
    """
    unit: FloatArray = np.full((*mask.shape, 3), np.nan)
    inside, away = np.zeros(mask.shape, np.bool_), np.zeros(mask.shape, np.bool_)

    def look_at(rows: slice) -> tuple[int, int]:
        pixels = np.flatnonzero(mask[rows])
        within = pixels if pixels.size < mask[rows].size else slice(None)
        has_normal, vectors = _unit_vectors(normals[rows].reshape(-1, 3)[within])
        directions = np.asfortranarray(rays[rows].reshape(-1, 3)[within])
        has_ray = np.isfinite(directions).all(axis=-1)
        usable = has_normal & has_ray
        vectors[~usable] = np.nan
        unit[rows].reshape(-1, 3)[within] = vectors
        inside[rows].reshape(-1)[within] = usable
        incidence = np.einsum("ij,ij->i", vectors, directions)
        away[rows].reshape(-1)[within] = incidence >= -EDGE_ON
        return int(np.count_nonzero(~has_normal)), int(np.count_nonzero(has_normal & ~has_ray))

    height = max(1, PIXELS_AT_A_TIME // mask.shape[1])
    counts = side_by_side(look_at, slices(mask.shape[0], height))
    without_normal, without_ray = (sum(each) for each in zip(*counts, strict=True))
    if not inside.any():
        raise InputError(
            f"no pixel is left to integrate: of {int(mask.sum()):,} in the mask "
            f"{without_normal:,} have no normal and {without_ray:,} no ray",
            expected="a finite, non-zero normal and a ray at some pixel of the mask",
            remedy="Check that the mask matches the map, and that the map holds normals",
        )
    _judge_facing_away(unit, rays, inside, away, options, camera)

    averaged = outliers = dropped = 0
    if options.facing_away == "drop":
        dropped = int(away.sum())
        inside &= ~away
    # As they are, they would be cut off: no surface has them.
    repair = away if options.averages else np.zeros_like(away)
    if options.outlier_ratio is not None:
        incidence = np.einsum("...i,...i->...", unit, rays)
        odd = inside & ~away & _is_outlier(incidence, inside, options, joined)
        outliers = int(odd.sum())
        repair = repair | odd
    if repair.any():
        good = inside & ~away & ~repair
        radius = options.average_window // 2
        failed = average_neighbours(unit, rays, good, repair, radius, joined)
        averaged = int(repair.sum()) - failed
        dropped += failed
        inside &= ~np.isnan(unit[..., 0])
    if dropped:
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
            expected="normals that face the camera",
            remedy="Check the convention of the normal map",
        )
    return unit, inside, report


def facing_away_limits(options: Preprocessing) -> tuple[float, float]:
    """Shares of normals that face away from which on there is a warning, and an error.

    None where the options say what to do with such normals.
    """
    return (WARN_FRACTION, ERROR_FRACTION) if options.facing_away is None else (np.inf, np.inf)


def many_face_away(fraction: float) -> IntegrationWarning:
    """Warning of so large a share of normals that were averaged since they face away."""
    return IntegrationWarning(
        f"{facing_away_in_words(fraction)} and were averaged; expected less than 1 %. Check the "
        f"convention; if this is right, give {setting_in_words('facing_away', 'average')}."
    )


def setting_in_words(name: str, value: object) -> str:
    """How a setting of Preprocessing is given to a method, in Python and on the command line."""
    holder = f"rayrelief.Preprocessing({name}={value!r})"
    return f"the method preprocessing={holder} (--{name.replace('_', '-')} {value})"


def facing_away_in_words(fraction: float) -> str:
    """The same share, in words."""
    return f"{100 * fraction:.3g} % of the normals face away from the camera"


def _is_window(width: Any) -> bool:
    return is_count(width) and width >= 3 and width % 2 == 1


def _unit_vectors(vectors: npt.NDArray[Any]) -> tuple[BoolArray, FloatArray]:
    """Whether vectors (n, 3) have a direction, and a copy of them with unit length."""
    # All x before all y before all z in memory is where arithmetic is fast.
    unit: FloatArray = np.array(vectors, dtype=np.float64, order="F")
    length: FloatArray = np.sqrt(np.einsum("ij,ij->i", unit, unit))
    extreme = np.flatnonzero(~((length > 1e-150) & (length < 1e150)))
    if extreme.size:  # squares that leave the range of floats, and vectors that are none
        largest = np.abs(unit[extreme]).max(axis=-1)
        scale = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
        unit[extreme] /= scale[:, None]
        length[extreme] = np.linalg.norm(unit[extreme], axis=-1)
    has_direction = np.isfinite(length) & (length > 0)
    unit /= np.where(has_direction, length, 1.0)[:, None]
    return has_direction, unit


def _judge_facing_away(
    unit: FloatArray,
    rays: FloatArray,
    inside: BoolArray,
    away: BoolArray,
    options: Preprocessing,
    camera: Camera | None,
) -> None:
    fraction = away.sum() / inside.sum()
    worth_telling, too_many = facing_away_limits(options)
    if fraction <= worth_telling:
        return
    if fraction > too_many:
        fitting = _conventions_that_fit(unit, rays, inside, camera)
        likely = (
            f"As they are, they fit the axes of {' or '.join(map(repr, fitting))}: convert them "
            f"with rayrelief.to_opencv(normals, {fitting[0]!r}) or, if they were converted, from "
            "another convention than before, which 'rayrelief doctor' finds out"
            if fitting
            else "No known convention fits; these may be world-space normals"
        )
        raise InputError(
            facing_away_in_words(fraction),
            expected="less than 1 %",
            remedy=f"{likely}. To continue anyway, give "
            f"{setting_in_words('facing_away', 'keep')}, or average or drop in place of keep",
        )
    warnings.warn(many_face_away(fraction), stacklevel=5)


def _conventions_that_fit(
    normals: FloatArray, rays: FloatArray, inside: BoolArray, camera: Camera | None
) -> list[str]:
    """Conventions in which hardly any of these normals would face away, the most credible first."""
    found = find_axes(normals, inside, camera)
    some, seen = normals[inside], rays[inside]
    facing = {
        name: found.against(axes)
        for name, axes in CONVENTIONS.items()
        if name != "opencv"
        and np.mean(np.einsum("ij,ij->i", to_opencv(some, name), seen) >= 0) <= WARN_FRACTION
    }
    credible = [name for name in facing if not found.refutes(CONVENTIONS[name])]
    return sorted(credible or facing, key=facing.__getitem__)


def _is_outlier(
    incidence: FloatArray, inside: BoolArray, options: Preprocessing, joined: tuple[bool, bool]
) -> BoolArray:
    """Whether |n . ray| differs from its local mean by more than outlier_ratio of that mean."""
    from scipy.ndimage import uniform_filter

    size, window = np.abs(incidence), options.outlier_window
    beyond = ["wrap" if wraps else "constant" for wraps in joined]
    total = uniform_filter(np.where(inside, size, 0.0), window, mode=beyond)
    share = uniform_filter(inside.astype(np.float64), window, mode=beyond)
    count = np.rint(share * window**2)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total * window**2 / count
        odd: BoolArray = np.abs(size - mean) > options.outlier_ratio * mean  # type: ignore[operator]
    return odd
