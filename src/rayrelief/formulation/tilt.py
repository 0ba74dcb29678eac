"""The tilt of a texture: what its normals add up to from one side to the other."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from rayrelief.conventions import FloatArray
from rayrelief.formulation.edge_equations import EdgeEquations

WORTH_TELLING, UNLIKELY = 1e-3, 3.0  # degrees


def without_tilt(equations: EdgeEquations) -> tuple[EdgeEquations, tuple[str, ...]]:
    """Equations of a texture that repeats without the tilt along its turns, and a note about it.

    What does not reach across a seam, such as an island in a mask, may be tilted.

    A texture that repeats ends at the height at which it begins. Its normals seldom do: a step of
    8 bits that is cut off instead of rounded tilts them all, and the error of all rows would end up
    in the seam.
    """
    graph = equations.graph
    turning = np.any([graph.turns(d).any(axis=0) for d in equations.directions], axis=0)
    if not turning.any():
        return equations, ("nothing repeats: no two pixels meet across the borders of the map",)
    steps = np.array([graph.steps[d] for d in equations.directions], dtype=np.float64) * turning
    exists = graph.exists[equations.directions]
    counts = exists.sum(axis=1)
    pairs = zip(equations.offset, exists, strict=True)
    means = np.array([row[there].mean() if there.any() else 0.0 for row, there in pairs])
    # Least squares over all edges: as many equations as edges, two unknowns.
    root = np.sqrt(counts)
    slope: FloatArray = np.linalg.lstsq(steps * root[:, None], means * root, rcond=None)[0]
    offset = np.where(exists, equations.offset - (steps @ slope)[:, None], 0.0)
    pixel = max(turn / n for turn, n in zip(graph.turn, graph.shape[::-1], strict=True))
    tilt = math.degrees(math.atan(math.hypot(*slope) / pixel))
    note = f"a tilt of {tilt:.2g} degrees was removed, so that the texture repeats"
    if tilt > UNLIKELY:
        note += ". That is a lot: if it does not repeat, leave out periodic (--tile)"
    level = replace(equations, offset=offset.astype(equations.offset.dtype, copy=False))
    return level, (note,) if tilt > WORTH_TELLING else ()
