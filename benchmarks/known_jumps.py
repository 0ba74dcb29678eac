"""KnownJumps: the paper's method, told the true discontinuities: the oracle of Table 2."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief import RayPlane
from rayrelief.backends.base import Backend
from rayrelief.errors import InputError
from rayrelief.methods.base import Callback, Solution
from rayrelief.problem import Problem


@dataclass(frozen=True, eq=False)
class KnownJumps:
    """A recipe, without jumps of its own, whose equations are those of the true depth (H, W).

    With the true jump omega + omega_eps alpha is the true ratio of two depths. Where the truth has
    no value the equations stay as they are.
    """

    recipe: RayPlane
    depth: npt.NDArray[np.float64]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.recipe, name)  # connectivity, preprocessing, equations ...

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
        return replace(self.recipe, jumps=False).solve(told, backend, callback)
