"""Which normals of a block are usable; whether a map has the axes that were said, so far."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.errors import InputError
from rayrelief.large.layout import Layout, size_of
from rayrelief.methods.base import Method
from rayrelief.preprocess import (
    EDGE_ON,
    Preprocessing,
    PreprocessReport,
    facing_away_in_words,
    facing_away_limits,
    many_face_away,
    prepare_normals,
)
from rayrelief.problem import preprocessing_of


@dataclass(frozen=True)
class Decided:
    """What the run of a method on one block found, in numbers.

    Attributes
    ----------
    pixels, normals, facing_away
        Pixels of the core with a depth, with a normal, and with one that faces away.
    parts, bending
        Parts of the block, and how many of the first ones may bend.
    alone
        How many pieces of the map, each joined to nothing else, lie in the core.
    outcome
        Name of how the run ended; empty where the block has no pixel.
    """

    pixels: int = 0
    normals: int = 0
    facing_away: int = 0
    parts: int = 0
    bending: int = 0
    alone: int = 0
    outcome: str = ""


class MapRefusedError(InputError):
    """A map that cannot be integrated, however often it is begun."""


class Judge:
    """Counts normals block by block, and refuses a map most of whose normals face away.

    As for a map in memory, only unless the method says what to do with them.
    """

    def __init__(self, method: Method, layout: Layout) -> None:
        self._many, self._most = facing_away_limits(preprocessing_of(method))
        self._layout = layout
        self._left = math.prod(layout.shape)
        self._pixels = self._normals = self._away = 0

    def take(self, number: int, decided: Decided) -> None:
        """Count a block; MapRefusedError if too many face away, whatever the other blocks have."""
        self._left -= size_of(self._layout.block(number).core)
        self._pixels += decided.pixels
        self._normals += decided.normals
        self._away += decided.facing_away
        if self._away > self._most * (self._normals + self._left):
            raise MapRefusedError(
                facing_away_in_words(self._away / self._normals)
                + (", as far as was looked" if self._left else ""),
                expected="less than 1 %",
                remedy="Check the convention (--convention). To continue anyway, give "
                "--facing-away keep, average or drop",
            )

    def close(self) -> None:
        """Warn if many face away; MapRefusedError if no block has a pixel."""
        if not self._pixels:
            raise MapRefusedError(
                "no pixel of the map has a normal inside the mask"
                + (" that faces the camera" if self._away else ""),
                expected="at least one",
                remedy="Check the map, its convention and its mask",
            )
        if self._away > self._many * self._normals:
            warnings.warn(many_face_away(self._away / self._normals), stacklevel=3)


def of_a_part(method: Any) -> tuple[Any, Preprocessing]:
    """The method as a part of the map is given to it, and how normals are treated there.

    A part may show nothing but the rim of a body: the whole map is judged, not its parts.
    """
    options = preprocessing_of(method)
    options = replace(options, facing_away=options.facing_away or "average")
    has = hasattr(method, "preprocessing")
    return replace(method, preprocessing=options) if has else method, options


def notes_of_normals(decided: Sequence[Decided], method: Method) -> tuple[str, ...]:
    """Notes on normals that face away, as those on a map in memory."""
    options = preprocessing_of(method)
    pixels, normals, away = (
        sum(getattr(each, name) for each in decided)
        for name in ("pixels", "normals", "facing_away")
    )
    dropped = normals - pixels
    # Blocks do not count their outliers, of which some may have been averaged, too.
    are_counted = options.averages and options.outlier_ratio is None
    return PreprocessReport(
        pixels=normals,
        without_normal=0,
        without_ray=0,
        facing_away=away,
        averaged=away - dropped if are_counted else 0,
        dropped=dropped,
        outliers=0,
    ).notes()


def usable(
    normals: npt.NDArray[Any], mask: BoolArray, rays: FloatArray, options: Preprocessing
) -> tuple[BoolArray, BoolArray, bool]:
    """Pixels (h, w) with a normal and a ray, those whose normals face away, whether any is left.

    A block without any is as one outside the mask: other blocks have what there is of the map.
    """
    has = np.isfinite(normals).all(axis=-1) & normals.any(axis=-1)
    inside = mask & has & np.isfinite(rays).all(axis=-1)
    away = np.zeros_like(inside)
    if not inside.any():
        return inside, away, False
    keep = Preprocessing(facing_away="keep")
    unit, _, _ = prepare_normals(normals, inside, rays, keep)
    away[inside] = np.einsum("ij,ij->i", unit[inside], rays[inside]) >= -EDGE_ON
    del unit
    if not away.any() and options.outlier_ratio is None:
        return inside, away, True
    try:
        prepare_normals(normals, inside, rays, options)
    except InputError:  # which of such input says that none is left
        return inside, away, False
    return inside, away, True
