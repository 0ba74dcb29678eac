"""Noisy normals, each for itself or over many pixels, and wrong ones: what they ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.calibration.edges import renderers
from benchmarks.calibration.stages import relative_error, run
from benchmarks.report import Row, Table, columns, progress
from rayrelief import Ordered, RayPlane
from rayrelief.conventions import FloatArray
from rayrelief.formulation import intervals, loops
from rayrelief.laws import ordered
from rayrelief.laws.ordered import with_intervals
from rayrelief.problem import assemble
from rayrelief.scene import Scene
from rayrelief.synthetic import GALLERY, with_extended_errors, with_outliers, with_rotation_noise

SCENES = ("crowd 0", "crowd 1", "still_life", "overlapping_spheres", "tori")
RIMS = "vase", "sphere"
EXTENDED = ((3.0, 6.0), (3.0, 20.0), (6.0, 20.0))  # degrees, pixels
ROTATIONS = (2.0, 5.0, 10.0)  # degrees
OUTLIERS = (2.0, 5.0, 12.0)  # per cent
EXTENTS = (0.0, 1.0, loops.EXTENT, 2 * loops.EXTENT)
AVERAGED = (1.0, 0.5 * ordered.AVERAGED, ordered.AVERAGED)
SEEDS = 3  # of normals that err each for itself
APART = (100, 50, 25, 15, 10)  # pixels from one body of a crowd to the next

Noise = Callable[[FloatArray, np.random.Generator], FloatArray]
Change = tuple[ModuleType, str, Any]
"""A name of a module, and what it means instead."""


def extended_table(size: tuple[int, int]) -> Table:
    """RE by EXTENT where errors extend over many pixels."""
    kinds: dict[str, Noise] = {
        f"{degrees:g} degrees, {extent:g} pixels": partial(_extended, degrees, extent)
        for degrees, extent in EXTENDED
    }
    return _table("EXTENT", size, kinds, _values(loops, "EXTENT", EXTENTS), 1)


def averaged_table(size: tuple[int, int]) -> Table:
    """RE by AVERAGED where each normal errs for itself."""
    return _table("AVERAGED", size, _rotations(), _values(ordered, "AVERAGED", AVERAGED), SEEDS)


def steep_table(size: tuple[int, int]) -> Table:
    """RE where normals are noisy: as they are, and no steeper than the noise can tell."""
    as_they_are: Change = (intervals, "less_steep", lambda normals, rays, noise: (normals, 0))
    variants: dict[str, tuple[Change, ...]] = {"as they are": (as_they_are,), "less steep": ()}
    return _table("steep normals", size, _rotations(), variants, SEEDS, (*SCENES, *RIMS))


def outlier_table(size: tuple[int, int]) -> Table:
    """RE where normals are wrong: as they are, with loops that count up to MOST, and mended."""
    kinds: dict[str, Noise] = {
        f"{percent:g} % of outliers": partial(_wrong, percent / 100) for percent in OUTLIERS
    }
    as_they_are: Change = (intervals, "without_lone", lambda graph, normals: (normals, 0))
    variants: dict[str, tuple[Change, ...]] = {
        "as they are": (as_they_are, (loops, "MOST", np.inf)),
        f"MOST = {loops.MOST:g}": (as_they_are,),
        "lone ones replaced": (),
    }
    return _table("outliers", size, kinds, variants, SEEDS)


def small_table(size: tuple[int, int]) -> Table:
    """Noise that is found, and RE, where bodies are so small that many loops cross a jump."""
    rows: list[Row] = []
    longer = max(size)
    for apart in APART:
        for degrees in (0.0, ROTATIONS[0]):
            progress(f"bodies {apart} pixels apart, {degrees:g} degrees")
            found = []
            for seed in range(SEEDS):
                exact = GALLERY["crowd"](*size, across=longer / apart, seed=seed)
                normals = _turned(degrees, exact.normals, np.random.default_rng(seed))
                scene = replace(exact, normals=normals)
                known = with_intervals(
                    assemble(normals, scene.camera, mask=scene.mask, method=Ordered()).equations
                )
                errors = [
                    relative_error(scene, run(scene, each)) for each in (Ordered(), RayPlane())
                ]
                found.append((np.degrees(known.noise), *errors))
            middle = np.median(found, axis=0).tolist()
            rows.append((f"{apart} pixels apart", degrees / np.sqrt(3), *middle))
    heads = "bodies | noise, degrees:.2f | found:.2f | Ordered():.3f | RayPlane():.3f"
    return Table("Noise found and relative error, %", columns(heads), tuple(rows))


def _rotations() -> dict[str, Noise]:
    return {f"{degrees:g} degrees": partial(_turned, degrees) for degrees in ROTATIONS}


def _values(
    module: ModuleType, constant: str, values: Sequence[float]
) -> dict[str, tuple[Change, ...]]:
    """Variants by the value of a constant."""
    return {f"{value:g}": ((module, constant, value),) for value in values}


def _table(
    title: str,
    size: tuple[int, int],
    kinds: dict[str, Noise],
    variants: dict[str, tuple[Change, ...]],
    seeds: int,
    names: Sequence[str] = SCENES,
) -> Table:
    """Median RE of several variants, and their geometric means over the first."""
    rows: list[Row] = []
    found: list[list[float]] = []
    for name in names:
        exact = renderers(*size)[name](*size)
        for kind, noise in kinds.items():
            progress(f"{title}, {name}, {kind}")
            scenes = [
                replace(exact, normals=noise(exact.normals, np.random.default_rng(seed)))
                for seed in range(seeds)
            ]
            errors = [[_with(changes, scene) for scene in scenes] for changes in variants.values()]
            errors.append([relative_error(scene, run(scene, RayPlane())) for scene in scenes])
            found.append(np.median(errors, axis=1).tolist())
            rows.append((f"{name}, {kind}", *found[-1]))
    ratios = np.array(found) / np.array(found)[:, :1]
    means = np.exp(np.log(ratios).mean(axis=0)).tolist()
    rows.append(("geometric mean over the first", *means))
    heads = ("errors", *(f"{variant}:.3f" for variant in variants), "RayPlane():.3f")
    return Table(f"Relative error by {title}, %", columns(" | ".join(heads)), tuple(rows))


def _with(changes: tuple[Change, ...], scene: Scene) -> float:
    with ExitStack() as changed:
        for change in changes:
            changed.enter_context(mock.patch.object(*change))
        return relative_error(scene, run(scene, Ordered()))


def _extended(
    degrees: float, extent: float, normals: FloatArray, rng: np.random.Generator
) -> FloatArray:
    return with_extended_errors(normals, degrees, extent, rng)


def _turned(degrees: float, normals: FloatArray, rng: np.random.Generator) -> FloatArray:
    return with_rotation_noise(normals, degrees, rng)


def _wrong(share: float, normals: FloatArray, rng: np.random.Generator) -> FloatArray:
    return with_outliers(normals, share, rng)
