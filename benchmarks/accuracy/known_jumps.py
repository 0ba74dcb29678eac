"""The oracle of Table 2: the paper's method when it is told the true discontinuities."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from rayrelief import RayPlane
from rayrelief.backends import Backend
from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError
from rayrelief.methods import Callback, Problem, Solution


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownJumps(RayPlane):
    """RayPlane without jumps of its own, whose equations are those of the true depth (H, W).

    With the true jump omega + omega_eps alpha is the true ratio of two depths. Where the truth has
    no value the equations stay as they are.
    """

    depth: FloatArray = field(repr=False)
    jumps: bool = False

    __eq__ = object.__eq__  # the same only as itself: a depth is no setting
    __hash__ = object.__hash__

    def solve(
        self, problem: Problem, backend: Backend, callback: Callback | None = None
    ) -> Solution:
        """Solve the equations of the truth."""
        graph = problem.graph
        if self.depth.shape != graph.shape:
            raise InputError(
                f"the true depth has the shape {self.depth.shape}",
                expected=f"{graph.shape}, the size of the normal map",
            )
        with np.errstate(invalid="ignore", divide="ignore"):
            x = problem.unknown(self.depth)
        offset = problem.equations.offset.copy()
        for d, a, b in graph.edges():
            difference = x[a] - x[b]
            usable = np.isfinite(difference)
            offset[d, a[usable]] = difference[usable]
        told = replace(problem, equations=replace(problem.equations, offset=offset))
        return super().solve(told, backend, callback)


def knowing_jumps(depth: FloatArray, iterations: int = 150) -> KnownJumps:
    """The published schedule with the jumps of a true depth (H, W) along its camera's rays."""
    return KnownJumps.published(iterations, jumps=False, depth=depth)
