"""Noisy normals, each for itself or over many pixels: what they ask of two constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import ModuleType
from unittest import mock

import numpy as np

from benchmarks.calibration.edges import renderers
from benchmarks.calibration.stages import relative_error, run
from benchmarks.report import Row, Table, columns, progress
from rayrelief import Ordered, RayPlane
from rayrelief.conventions import FloatArray
from rayrelief.formulation import loops
from rayrelief.laws import ordered
from rayrelief.scene import Scene
from rayrelief.synthetic import with_extended_errors, with_rotation_noise

SCENES = ("crowd 0", "crowd 1", "still_life", "overlapping_spheres", "tori")
EXTENDED = ((3.0, 6.0), (3.0, 20.0), (6.0, 20.0))  # degrees, pixels
ROTATIONS = (2.0, 5.0, 10.0)  # degrees
EXTENTS = (0.0, 1.0, loops.EXTENT, 2 * loops.EXTENT)
AVERAGED = (1.0, 0.5 * ordered.AVERAGED, ordered.AVERAGED)
SEEDS = 3  # of normals that err each for itself

Noise = Callable[[FloatArray, np.random.Generator], FloatArray]


def extended_table(size: tuple[int, int]) -> Table:
    """RE by EXTENT where errors extend over many pixels."""
    kinds: dict[str, Noise] = {
        f"{degrees:g} degrees, {extent:g} pixels": partial(_extended, degrees, extent)
        for degrees, extent in EXTENDED
    }
    return _table(size, kinds, loops, "EXTENT", EXTENTS, 1)


def averaged_table(size: tuple[int, int]) -> Table:
    """RE by AVERAGED where each normal errs for itself."""
    kinds: dict[str, Noise] = {
        f"{degrees:g} degrees": partial(_turned, degrees) for degrees in ROTATIONS
    }
    return _table(size, kinds, ordered, "AVERAGED", AVERAGED, SEEDS)


def _table(
    size: tuple[int, int],
    kinds: dict[str, Noise],
    room: ModuleType,
    constant: str,
    values: Sequence[float],
    seeds: int,
) -> Table:
    """Median RE for several values of a constant, and their geometric means over the first."""
    rows: list[Row] = []
    found: list[list[float]] = []
    for name in SCENES:
        exact = renderers(*size)[name](*size)
        for kind, noise in kinds.items():
            progress(f"{constant}, {name}, {kind}")
            scenes = [
                replace(exact, normals=noise(exact.normals, np.random.default_rng(seed)))
                for seed in range(seeds)
            ]
            errors = [[_with(room, constant, value, scene) for scene in scenes] for value in values]
            errors.append([relative_error(scene, run(scene, RayPlane())) for scene in scenes])
            found.append(np.median(errors, axis=1).tolist())
            rows.append((f"{name}, {kind}", *found[-1]))
    ratios = np.array(found) / np.array(found)[:, :1]
    means = np.exp(np.log(ratios).mean(axis=0)).tolist()
    rows.append((f"geometric mean over {values[0]:g}", *means))
    heads = ("errors", *(f"{value:g}:.3f" for value in values), "RayPlane():.3f")
    return Table(f"Relative error by {constant}, %", columns(" | ".join(heads)), tuple(rows))


def _with(room: ModuleType, constant: str, value: float, scene: Scene) -> float:
    with mock.patch.object(room, constant, value):
        return relative_error(scene, run(scene, Ordered()))


def _extended(
    degrees: float, extent: float, normals: FloatArray, rng: np.random.Generator
) -> FloatArray:
    return with_extended_errors(normals, degrees, extent, rng)


def _turned(degrees: float, normals: FloatArray, rng: np.random.Generator) -> FloatArray:
    return with_rotation_noise(normals, degrees, rng)
