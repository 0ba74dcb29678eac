"""The protocol of a method: solve(problem) -> Solution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from rayrelief.backends.base import Backend
from rayrelief.conventions import BoolArray, FloatArray, SingleArray
from rayrelief.errors import Outcome, in_number
from rayrelief.graph import Int32Array
from rayrelief.problem import Anchors, Problem

__all__ = ["Anchors", "Callback", "Iteration", "Method", "Problem", "Solution"]

SMALLEST = 8  # pixels: below, a part is a speck, which is moved but not counted as a part


@dataclass(frozen=True)
class Iteration:
    """One outer iteration, as passed to the callback and stored in the history.

    Attributes
    ----------
    number
        1 for the first iteration.
    energy
        What the method minimises: the weighted sum of squared residuals at the new iterate; with
        ``Ordered``, whose law is another cost, that of the iterate before.
    change
        Root mean square change of the unknown, divided by its relief (the root mean square
        deviation from the mean), without each component's constant: independent of scale, shift
        and unit.
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


class Support(IntEnum):
    """What the place of a segment relative to its neighbours rests on."""

    NOTHING = 0
    """Nothing: it floats."""
    ORDER = 1
    """What is in front of what: it floats, but not through anything."""
    CONTACT = 2
    """It touches another segment, or is the largest one."""
    KNOWN = 3
    """Its depth is known at a pixel."""


Callback = Callable[[Iteration], bool | None]


def numbered_through(callback: Callback | None) -> tuple[Callback, list[Iteration]]:
    """Callback for runs one after the other, and the list to which it adds their iterations."""
    history: list[Iteration] = []

    def add(iteration: Iteration) -> bool:
        history.append(replace(iteration, number=len(history) + 1))
        return callback is not None and bool(callback(history[-1]))

    return add, history


@dataclass(frozen=True, eq=False)
class Solution:
    """What a method returns: a surface, how the run ended, and what was decided about the edges.

    Attributes
    ----------
    x
        (N,) unknown at the nodes of the problem's graph: log-depth, or depth for parallel rays.
    outcome
        How the run ended.
    history
        All iterations.
    notes
        Notes for the user, one sentence each.
    anchored
        (C,) components whose constant is known; None if none is.
    cuts
        (D, N) whether the surface is discontinuous across each directed edge, as seen from its
        node a; None if the method does not decide: then the size of a jump does.
    weights
        (D, N) weight of each directed edge, small on a jump.
    activation
        (D, N) to what degree each directed edge is treated as a jump, 0 to 1.
    segments
        (N,) label of the continuous part that each node belongs to.
    support
        (S,) what the place of each segment rests on.
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
    support: tuple[Support, ...] | None = None

    @property
    def floating(self) -> BoolArray:
        """Segments (S,) whose place nothing tells, specks apart; none where nobody looked."""
        if self.segments is None or self.support is None:
            return np.zeros(0, dtype=np.bool_)
        large = np.bincount(self.segments, minlength=len(self.support)) >= SMALLEST
        floats: BoolArray = large & (np.array(self.support) < Support.CONTACT)
        return floats

    def known_at(self, nodes: npt.NDArray[np.int64]) -> Solution:
        """Return the same, with the segments of nodes whose depth is known said to be known."""
        if self.segments is None or self.support is None:
            return self
        known = set(self.segments[nodes].tolist())
        support = (Support.KNOWN if i in known else s for i, s in enumerate(self.support))
        return replace(self, support=tuple(support))

    def floating_note(self) -> tuple[str, ...]:
        """Say how many parts float, if any."""
        if not (floating := int(np.count_nonzero(self.floating))):
            return ()
        parts = in_number(floating, "part touches", "parts touch")
        return (f"{parts} nothing else in view: how far behind or in front is not known",)


@runtime_checkable
class Method(Protocol):
    """Anything that solves a problem.

    It may also have ``connectivity``, ``preprocessing`` and ``equations(graph, normals, view)``,
    which define how the problem is assembled, ``memory(nodes, backend)``, the bytes that it needs,
    ``max_iterations`` for a progress bar, and ``continued``, the method that goes on from a surface
    which was joined from runs on parts of the map, from a start and with anchors around each part.
    """

    def solve(
        self, problem: Problem, backend: Backend, callback: Callback | None = None
    ) -> Solution:
        """Solve a problem; the callback gets each iteration and stops the run by returning True."""
        ...


def usual_iterations(method: Method) -> int | None:
    """Number of iterations that few runs of a method exceed, where it says."""
    limit: int | None = getattr(method, "max_iterations", None)
    usual: int | None = getattr(method, "usual_iterations", limit)
    return usual
