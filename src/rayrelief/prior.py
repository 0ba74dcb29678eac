"""DepthPrior: depths that are known beside the normals, of all pixels or of a few."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, get_args

import numpy as np
import numpy.typing as npt

from rayrelief.checks import (
    COUNTS,
    LONGEST,
    SHORTEST,
    Rule,
    as_array,
    check_settings,
    is_length,
    is_not_negative,
    one_of,
    require,
)
from rayrelief.conventions import BoolArray, DepthKind, FloatArray
from rayrelief.errors import InputError, in_number

UNRELATED = 0.2  # rank correlation; those of built-in scenes, noisy and of few pixels, are higher
# Of built-in scenes with noise up to 10 %, in blocks up to 3 %, or a quarter of the depths wrong,
# the slope is between 0.73 and 1.09; that of relative depths below 0.12, or above 2.6.
FLATTER, STEEPER = 0.5, 2.0
# Of four to twenty points on them, a quarter wrong by up to 90 %, the misfit is up to 0.12; that of
# two points that differ by a factor of two is from 0.37 on.
CONTRARY = 0.25
Residual = Literal["log", "linear"]


@dataclass(frozen=True, eq=False)
class DepthPrior:
    """Known depths, such as those of a depth sensor, of multi-view stereo or of measured points.

    Depths that the surface contradicts are outvoted: the result names them.

    Attributes
    ----------
    depth
        (H, W), NaN where none is known.
    sigma
        Standard deviation of the known depths, one for all or (H, W): a fraction of the depth for
        logarithmic residuals, in the unit of the depth for linear ones, as --depth-sigma of the
        command line always is. Errors of neighbouring pixels are then taken as independent.
        Estimated unless given, and so is how far errors extend.
    weight
        Multiplies the say of all known depths: 1 leaves it to sigma, 0 lets the known depths place
        the parts of the surface, and bend none.
    residual
        What sigma measures: "log" for central cameras and "linear" for orthographic ones unless
        given.
    kind
        "z", or "distance" along the ray; that of the result unless given.
    """

    depth: npt.ArrayLike
    sigma: npt.ArrayLike | None = None
    weight: float = 1.0
    residual: Residual | None = None
    kind: DepthKind | None = None

    def __post_init__(self) -> None:
        given = as_array(self.depth, "the known depths")
        require(
            given.dtype != np.bool_,
            "the known depths are True and False, as those of a mask",
            "depths, and NaN or 0 where none is known",
            "Give a mask as mask= (--mask)",
        )
        depth: FloatArray = given.astype(np.float64)
        if depth.ndim != 2 or not np.isfinite(depth).any():
            raise InputError(
                f"the known depths have the shape {depth.shape}, {_finite(depth)} of them finite",
                expected="(height, width), NaN where none is known, and at least one known",
                remedy="Use DepthPrior.at(points, height, width) for a few points",
            )
        depth[~np.isfinite(depth)] = np.nan
        largest = float(np.nanmax(np.abs(depth)))
        if largest and not is_length(largest):
            raise InputError(
                f"known depths of up to {largest:g}",
                expected=f"lengths from {SHORTEST:g} to {LONGEST:g}",
                remedy="Mark pixels whose depth is not known by NaN, or choose another unit",
            )
        depth.flags.writeable = False
        object.__setattr__(self, "depth", depth)
        words = "Leave it out for the one that suits the camera"
        check_settings(
            self,
            weight=Rule(is_not_negative, "a finite number >= 0", "Leave it out for 1"),
            residual=one_of((*get_args(Residual), None), words),
            kind=one_of((*get_args(DepthKind), None), "Leave it out for that of the result"),
        )
        if self.sigma is not None:
            sigma: FloatArray = as_array(self.sigma, "sigma").astype(np.float64)
            fits = sigma.shape in ((), depth.shape)
            if not fits or not np.all(np.broadcast_to(sigma, depth.shape)[self.known] > 0):
                raise InputError(
                    f"sigma of the known depths has the shape {sigma.shape}, or is not positive",
                    expected=f"a positive number, or one for each pixel, {depth.shape}",
                    remedy="Leave it out to have it estimated",
                )

    @property
    def known(self) -> BoolArray:
        """(H, W): pixels whose depth is known."""
        known: BoolArray = np.isfinite(np.asarray(self.depth))
        return known

    @classmethod
    def at(cls, points: Iterable[tuple[float, float, float]], height: int, width: int) -> Self:
        """Depths z of points (u, v, z): column, row, counted from 0, each at its nearest pixel.

        Of several points at one pixel the median counts, and of the middle two the nearer one:
        their mean would lie between what is in front and what is behind.
        """
        COUNTS.check("height", height)
        COUNTS.check("width", width)
        found: dict[tuple[int, int], list[float]] = {}
        for u, v, z in _numbers(points):
            place = nearest_pixel(u, v, height, width)
            if place is None or not np.isfinite(z):
                raise InputError(
                    f"the known point u = {u:g}, v = {v:g}, z = {z:g}",
                    expected=f"a pixel of the {width}x{height} image, and a finite depth",
                    remedy="Give column and row, counted from 0, then the depth",
                )
            found.setdefault(place, []).append(z)
        depth = np.full((height, width), np.nan)
        for place, several in found.items():
            depth[place] = sorted(several)[(len(several) - 1) // 2]
        return cls(depth, kind="z")


@dataclass(frozen=True, eq=False)
class PriorFit:
    """How a surface agrees with the depths that were known.

    Attributes
    ----------
    residual
        (H, W) known depth minus that of the surface, in the unit of the depth; NaN where none is
        known.
    outvoted
        (H, W): known depths that the surface and the other known depths contradict.
    sigma
        Standard deviation of the others that was used, the median over the pixels, in the unit of
        the depth.
    agreement
        Rank correlation between the known depths and the surface of the normals alone, over what
        their noise would leave of a perfect one, from -1 to 1; NaN where it cannot be told.
    slope
        How much more than that surface the known depths rise and fall: about 1 where they fit, for
        central cameras in logarithms; NaN where it cannot be told.
    misfit
        Median distance of few known depths from that surface, over its size: below 0.1 where they
        fit; NaN where there are many, or one.
    """

    residual: FloatArray
    outvoted: BoolArray
    sigma: float
    agreement: float = math.nan
    slope: float = math.nan
    misfit: float = math.nan

    def scaled(self, factor: float) -> PriorFit:
        """Return the same fit in a unit that is so many times smaller."""
        return replace(self, residual=factor * self.residual, sigma=factor * self.sigma)

    @property
    def median_residual(self) -> float:
        """Median of the absolute residuals that were not outvoted, in the unit of the depth."""
        heeded = np.isfinite(self.residual) & ~self.outvoted
        return float(np.median(np.abs(self.residual[heeded]))) if heeded.any() else float("nan")

    def doubts(self) -> tuple[str, ...]:
        """What speaks against the known depths as a whole, in words; nothing if they are usual."""
        if not self.agreement < UNRELATED:
            return self._doubts_about_size()
        inverse = self.agreement < -UNRELATED
        cause = (
            "they may be disparities, which are large where it is near"
            if inverse
            else ("they may be those of another map, or hardly more than noise")
        )
        return (
            "the known depths do not rise and fall with the surface of the normals (rank "
            f"correlation {self.agreement:.2f}): {cause}",
        )

    def _doubts_about_size(self) -> tuple[str, ...]:
        """What speaks against known depths that rise and fall where the surface does."""
        if self.slope < FLATTER or self.slope > STEEPER:
            return (
                f"the known depths rise and fall {self.slope:.3g} times as much as the surface of "
                "the normals: they may be a relative depth, known only up to scale and shift, as "
                "of many estimators, or the camera may be another one (focal length, pixel size). "
                "Align them to measured depths first, or give a few of those instead",
            )
        if self.misfit > CONTRARY:
            return (
                "most known depths contradict the surface of the normals, or each other, by "
                f"{100 * self.misfit:,.0f} % of its size: check their pixels (column, row, from 0) "
                "and their unit; a relative depth, known only up to scale and shift, has to be "
                "aligned to measured depths first",
            )
        return ()

    def numbers(self) -> dict[str, float | None]:
        """All of it in a few numbers."""
        compared = {name: getattr(self, name) for name in ("agreement", "slope", "misfit")}
        return {
            "known": int(np.count_nonzero(np.isfinite(self.residual))),
            "median_residual": self.median_residual,
            "outvoted": int(np.count_nonzero(self.outvoted)),
            "sigma": self.sigma,
            **{name: None if math.isnan(value) else value for name, value in compared.items()},
        }

    def __str__(self) -> str:
        known, outvoted = np.isfinite(self.residual), int(np.count_nonzero(self.outvoted))
        found = in_number(int(np.count_nonzero(known)), "known depth")
        if outvoted == np.count_nonzero(known):
            return f"{found}, all outvoted"
        return f"{found}, median residual {self.median_residual:.3g}, {outvoted:,} outvoted"


def nearest_pixel(u: float, v: float, height: int, width: int) -> tuple[int, int] | None:
    """Row and column of the pixel at (u, v); None outside of the image.

    Halfway between two pixels it is the later one, so that -0.5 is inside and width - 0.5 is not.
    """
    if not (-1 < u < width and -1 < v < height):  # nor for NaN
        return None
    row, column = math.floor(v + 0.5), math.floor(u + 0.5)
    return (row, column) if 0 <= row < height and 0 <= column < width else None


def _numbers(points: object) -> list[tuple[float, float, float]]:
    """Points (u, v, z) as a user gave them, checked."""
    given: Any = [*points] if isinstance(points, Iterable) else points  # it may be a generator
    array = as_array(given, "the points")
    if array.ndim != 2 or array.shape[1] != 3:
        raise InputError(
            f"points of the shape {array.shape}",
            expected="(N, 3): column, row and depth of each",
            remedy="Give them as [(u, v, z), ...]",
        )
    return [(float(u), float(v), float(z)) for u, v, z in array.tolist()]


def _finite(depth: FloatArray) -> int:
    return int(np.count_nonzero(np.isfinite(depth)))
