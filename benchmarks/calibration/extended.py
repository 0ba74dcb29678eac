"""Errors that extend over many pixels: as how much noise should they count?"""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import numpy as np

from benchmarks.calibration.edges import renderers
from benchmarks.calibration.stages import relative_error, run
from benchmarks.report import Row, Table, columns, progress
from rayrelief import Ordered, RayPlane
from rayrelief.formulation import loops
from rayrelief.scene import Scene
from rayrelief.synthetic import with_extended_errors

SCENES = ("crowd 0", "crowd 1", "still_life", "overlapping_spheres", "tori")
ERRORS = ((3.0, 6.0), (3.0, 20.0), (6.0, 20.0))  # degrees, pixels
EXTENTS = (0.0, 1.0, loops.EXTENT, 2 * loops.EXTENT)


def extended_table(size: tuple[int, int]) -> Table:
    """RE for several values of EXTENT, and their geometric means over that of 0."""
    rows: list[Row] = []
    found: list[list[float]] = []
    for name in SCENES:
        exact = renderers(*size)[name](*size)
        for degrees, extent in ERRORS:
            progress(f"extended errors, {name}, {degrees:g} degrees over {extent:g} pixels")
            rng = np.random.default_rng(0)
            scene = replace(
                exact, normals=with_extended_errors(exact.normals, degrees, extent, rng)
            )
            found.append([*_with_extents(scene), relative_error(scene, run(scene, RayPlane()))])
            rows.append((f"{name}, {degrees:g} degrees, {extent:g} pixels", *found[-1]))
    ratios = np.array(found) / np.array(found)[:, :1]
    rows.append(("geometric mean over 0", *np.exp(np.log(ratios).mean(axis=0)).tolist()))
    heads = ("errors", *(f"{extent:g}:.3f" for extent in EXTENTS), "RayPlane():.3f")
    return Table("Relative error by EXTENT, %", columns(" | ".join(heads)), tuple(rows))


def _with_extents(scene: Scene) -> list[float]:
    errors = []
    for extent in EXTENTS:
        with mock.patch.object(loops, "EXTENT", extent):
            errors.append(relative_error(scene, run(scene, Ordered())))
    return errors
