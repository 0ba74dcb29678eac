"""The protocol of a method: solve(problem) -> Solution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from rayrelief.backends.base import Backend
from rayrelief.conventions import BoolArray, FloatArray, SingleArray
from rayrelief.errors import Outcome
from rayrelief.graph import Int32Array
from rayrelief.problem import Problem


@dataclass(frozen=True)
class Iteration:
    """One outer iteration, as the callback and the history see it.

    Attributes
    ----------
    number
        1 for the first.
    energy
        Weighted sum of squared residuals at the new iterate.
    change
        Root mean square change of the unknown over its relief (the root mean square deviation
        from the mean), each component's constant removed: free of scale, shift and unit.
    inner_iterations
        Steps of the linear solver.
    seconds
        Time of this iteration.
    """

    number: int
    energy: float
    change: float
    inner_iterations: int
    seconds: float


Callback = Callable[[Iteration], bool | None]


@dataclass(frozen=True, eq=False)
class Solution:
    """What a method returns: a surface, how it came about, and what was decided on the way.

    Attributes
    ----------
    x
        (N,) unknown at the nodes of the problem's graph: log-depth, or depth for parallel rays.
    outcome
        How the run ended.
    history
        All iterations.
    notes
        What a reader of the result should know, one sentence each.
    anchored
        (C,) components whose constant is known; None where all are free.
    cuts
        (D, N) whether the surface is discontinuous across each directed edge, as seen from its
        node a; None where the method does not say, and the size of a jump alone decides.
    weights
        (D, N) weight of each directed edge, small on a jump.
    activation
        (D, N) how far each directed edge was taken for a jump, 0 to 1.
    segments
        (N,) label of the continuous part that each node belongs to.
    """

    x: FloatArray
    outcome: Outcome = Outcome.COMPLETED
    history: tuple[Iteration, ...] = ()
    notes: tuple[str, ...] = ()
    anchored: BoolArray | None = None
    cuts: BoolArray | None = None
    weights: SingleArray | None = None
    activation: SingleArray | None = None
    segments: Int32Array | None = None


@runtime_checkable
class Method(Protocol):
    """Anything that solves a problem.

    It may also have ``connectivity``, ``preprocessing`` and ``equations(graph, normals, view)``,
    which say how the problem is assembled, ``memory(nodes, backend)``, the bytes that it takes,
    and ``max_iterations`` for a progress bar.
    """

    def solve(
        self, problem: Problem, backend: Backend, callback: Callback | None = None
    ) -> Solution:
        """Solve a problem; the callback sees each iteration and stops the run by returning True."""
        ...
