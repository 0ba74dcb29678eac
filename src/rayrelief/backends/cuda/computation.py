"""One problem under way on a machine: the unknown, weights and hierarchy never leave it."""

from __future__ import annotations

import math
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from rayrelief.backends.base import Borders, Final, Integers
from rayrelief.backends.cuda.borders import borders_of, shift_parts
from rayrelief.backends.cuda.engine import Engine
from rayrelief.backends.cuda.equations import NodeImages
from rayrelief.backends.cuda.laws import KernelLaw, kernel_law
from rayrelief.backends.cuda.layout import Struct
from rayrelief.backends.cuda.machine import Array
from rayrelief.checks import require
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.graph import Int32Array
from rayrelief.laws.base import Law
from rayrelief.solvers.base import LinearSolution, Solver
from rayrelief.solvers.multigrid import Multigrid

# A correction in single precision makes the residual this fraction of what it was; where the matrix
# does not depend on the surface, others follow, until what is left are rounding errors.
REFINED = 1e-5
ROUNDING = 1e-6
FIRST_CYCLES, MORE_CYCLES = 10, 2
# A set-up costs as much as six cycles. Weights of intervals settle: while a law stays the same, and
# a solve took no more cycles than this, the hierarchy of the last one is good enough.
FEW_CYCLES = 3


@dataclass(frozen=True, eq=False)
class Iterate:
    """A surface on the machine: the last one, or the one before the last step.

    It does not keep its computation, whose memory is free as soon as nobody else does.
    """

    owner: weakref.ref[GridComputation]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        """Copy its values at the nodes (N,) from the machine."""
        computation = self.owner()
        if computation is None:
            raise LookupError("the computation of this surface is over")
        return computation.values(self)


Surface = Iterate | FloatArray
"""A surface on the machine, or values (N,) that are to be put there."""


@dataclass(frozen=True, eq=False)
class Kept:
    """A surface in single precision, in a place that is free again when nobody holds this."""

    place: int


class GridComputation:
    """The loop's arithmetic on the arrays of a workspace; ``Computation`` for any method.

    Parameters
    ----------
    engine
        Its workspace has equations, components and the first surface.
    nodes
        How many there are.
    anchored
        (C,): whether anchors hold the constant of each component.
    is_flat
        Whether the first surface is 0 everywhere.
    finish
        What a law decides about a surface (H * W,) on the machine.
    images
        Nodes to images and back, for methods that look at a surface, or change it.
    """

    def __init__(
        self,
        engine: Engine,
        solver: Solver,
        nodes: int,
        anchored: BoolArray,
        is_flat: bool,
        finish: Callable[[Law, Array], Final],
        images: NodeImages | None = None,
    ) -> None:
        require(
            isinstance(solver, Multigrid),
            f"the solver {type(solver).__name__} was asked for on a GPU",
            "Multigrid, the only solver there",
            "Leave the solver out, or use the CPU",
        )
        self._solver: Multigrid = solver  # type: ignore[assignment]
        self._engine, self._work = engine, engine.work
        self._queue, self._schedule = engine.queue, engine.schedule
        self._nodes, self._is_flat, self._finish = nodes, is_flat, finish
        self.anchored, self._images = anchored, images
        self._current: Surface = Iterate(weakref.ref(self))
        self._previous: Surface | None = None
        self._before: Kept | None = None  # the same, where it is more than one step away
        self._places: list[weakref.ref[Kept] | None] = []
        self._counts = deque([FIRST_CYCLES], maxlen=2)  # of the last solves: as many are tried
        self._law: KernelLaw | None = None
        self._residual, self._steps = math.inf, 0

    def start(self) -> Surface:
        """First iterate."""
        return self._current

    def linearise(self, law: Law, x: Surface, *, last: bool = False) -> float:
        """Set up operator, residual and hierarchy of the law at x; returns the energy."""
        self._be_at(x)
        before, self._law = self._law, self._turned_to(kernel_law(law, is_flat=self._is_flat))
        settles = self._law.needs_intervals and self._law == before
        self._queue.replay(self._law, partial(self._schedule.weigh, self._law.kernel))
        self._queue.mark()
        if not last and not (settles and self._steps <= FEW_CYCLES):
            self._queue.replay("set up", self._schedule.set_up)
        found = self._engine.scalars()
        self._residual = _relative_residual(found)
        return float(found["energy"])

    def _turned_to(self, law: KernelLaw) -> KernelLaw:
        require(
            law.needs_intervals == ("sigma2" in self._work.arrays or "sigma0" in self._work.arrays),
            "a law was given equations of another kind",
            "equations with intervals for the laws of Ordered, and plain ones for the others",
            "Use the law of the method that makes the equations",
        )
        for name, value in law.settings:
            self._work.grid[name] = value
        return law

    def solve(self, x: Surface, tighten: float) -> LinearSolution:
        """Solve what was set up last, from x."""
        self._be_at(x)
        rtol = self._solver.rtol * tighten
        if rtol < REFINED and self._law is not None and self._law.is_linear:
            self._before = None  # whose place is then free for the next one
            self._previous, self._before = x, self._keep(x)
            steps, converged = self._refine(rtol, self._law)
        else:
            self._previous, self._before = x, None
            found = self._run(rtol, self._solver.max_steps)
            steps, converged = int(found["cycles"]), bool(found["done"])
        self._current, self._is_flat = Iterate(weakref.ref(self)), False
        self._steps = steps
        return LinearSolution(self._current, steps, converged)  # type: ignore[arg-type]

    def _refine(self, rtol: float, law: KernelLaw) -> tuple[int, bool]:
        """Corrections until the residual in double precision is small, or only rounding errors."""
        steps, left = 0, self._residual
        while True:
            found = self._run(max(rtol, REFINED * left), self._solver.max_steps - steps)
            steps += int(found["cycles"])
            self._queue.replay(law, partial(self._schedule.weigh, law.kernel))
            self._queue.mark()
            before, left = left, _relative_residual(self._engine.scalars())
            if left <= rtol or not left < before / 2 or steps >= self._solver.max_steps:
                return steps, left <= max(rtol, ROUNDING)

    def _run(self, rtol: float, most: int) -> Struct:
        """Cycles until the residual is small enough, and the step that they lead to."""
        schedule, queue = self._schedule, self._queue
        queue.wait_for_questions()
        count, done = max(self._counts), 0
        while True:
            count = min(count, most - done)
            queue.replay(
                ("cycles", count, done % 2, rtol if done == 0 else None),
                partial(self._cycles, count, done, rtol),
            )
            queue.mark()
            found = self._engine.scalars()
            done += count
            if found["done"] or done >= most:
                break
            count = MORE_CYCLES
        self._counts.append(int(found["cycles"]) + 1)  # the last one finds that it is not needed
        segments = int(self._work.grid["segments"][0])
        schedule.step(len(self.anchored), segments, is_corrected=bool(found["done"]))
        queue.mark()  # how far it has moved is asked after the whole step
        return found

    def _cycles(self, count: int, done: int, rtol: float) -> None:
        if done == 0:
            self._schedule.aim(rtol)
        self._schedule.cycles(count, done % 2)

    def _be_at(self, x: Surface) -> None:
        """Make x the surface on the machine: it is, it was before the last step, or it is new."""
        if x is self._current:
            return
        if x is self._previous and self._before is None:
            self._schedule.step_back()
        elif isinstance(x, np.ndarray) and self._images is not None:
            with self._queue.arrays():
                self._work.arrays["x"][...] = self._work.machine.put(self._images.image(x))
            self._is_flat = False
        else:
            raise LookupError("a GPU holds the last two surfaces of a run alone")
        self._queue.mark()
        self._current, self._previous, self._before = x, None, None

    def values(self, x: Surface) -> FloatArray:
        """Values of x at the nodes (N,), copied from the machine."""
        image = self.surface(x)
        self._queue.finish()
        values: FloatArray = self._work.machine.get(image)
        return values if self._images is None else self._images.values(values)

    def change(self, new: Surface, old: Surface | Kept) -> float:
        """Root mean square of new - old over that of new, free constants apart."""
        self._be_at(new)
        kept = self._before if old is self._previous else old
        place = kept.place if isinstance(kept, Kept) else -1
        self._queue.ask(("measure", place), partial(self._schedule.measure, place))
        sum_moved, moved, sum_x, squares = map(float, self._engine.scalars()["measured"][:4])
        if not self.anchored.any():
            moved -= sum_moved**2 / self._nodes
        relief = squares - sum_x**2 / self._nodes
        if not math.isfinite(moved + relief):
            return math.nan
        return math.sqrt(max(moved, 0.0) / relief) if relief > 0 else 0.0

    def remember(self, x: Surface) -> Kept:
        """Keep x in single precision."""
        is_kept = x is self._previous and self._before is not None
        return self._before if is_kept else self._keep(x)  # type: ignore[return-value]

    def _keep(self, x: Surface) -> Kept:
        free = (i for i, held in enumerate(self._places) if held is None or held() is None)
        place = next(free, len(self._places))
        if place == len(self._places):
            self._places.append(None)
            if f"kept{place}" not in self._work.arrays:
                self._work.place(f"kept{place}", self._work.pixels, np.float32)
        kept = Kept(place)
        self._places[place] = weakref.ref(kept)
        before = x is not self._current
        keep = partial(self._schedule.keep, place, before=before)
        self._queue.ask(("keep", place, before), keep)
        return kept

    def borders(
        self,
        x: Surface,
        joins: tuple[float, float],
        staying: Callable[[Integers, Integers], BoolArray],
    ) -> Borders:
        """Edges of the parts of x that are not to stay."""
        self._be_at(x)
        self._work.grid["deviations"], self._work.grid["widest"] = joins
        self._queue.wait_for_questions()
        self._queue.replay(("parts", joins), self._schedule.find_parts)
        self._queue.mark()
        return borders_of(self._engine, staying)

    def shift_parts(self, parts: Int32Array, shifts: FloatArray) -> Surface:
        """Shift some of the parts that were found last."""
        shift_parts(self._engine, parts, shifts)
        # Nothing is known of this surface: its weights are others, and so is its hierarchy.
        self._current = Iterate(weakref.ref(self))
        self._previous, self._before, self._is_flat, self._law = None, None, False, None
        return self._current

    def surface(self, x: Surface) -> Array:
        """Values of x at all pixels (H * W,), on the machine."""
        self._be_at(x)
        return self._work.arrays["x"]

    def finish(self, law: Law, x: Surface) -> Final:
        """Return x with what the law decides about it."""
        return self._finish(law, self.surface(x))


def _relative_residual(found: Struct) -> float:
    return math.sqrt(found["rr"] / found["bb"]) if found["bb"] > 0 else 0.0
