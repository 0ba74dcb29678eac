"""When a run of reweighted least squares is done: one rule, with its reasons in docs/stopping.md.

On most real maps the bilateral weights never quite converge: some edges switch between two states
for ever, and now and then one of them tilts a whole part of the surface, which the next iteration
undoes. So a run ends when the surface converges, alternates between two states, or oscillates
without progress; and it never ends on an excursion.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import median

import numpy as np

from rayrelief.backends.base import Computation, Vector
from rayrelief.errors import Outcome


@dataclass(frozen=True)
class StoppingRule:
    """What counts as an oscillation, as an excursion and as a surface that still moves.

    Attributes
    ----------
    enough, most
        Numbers of iterations after which a run without a limit of its own ends: unless the surface
        still moves, and in any case.
    window
        Number of iterations after which the surface is compared with the one before them.
    oscillation
        A surface oscillates if over a window, and in the last step, it moved by at most this
        fraction of its relief ...
    wandering
        ... and over the window by at most this many of its usual steps; a random walk would
        move by 2.4 of them.
    moving
        Fraction of the relief: a surface that moved by more over the last window goes on until it
        moves by no more than an oscillation, and fails at the iteration limit.
    excursion
        An iterate is an excursion if it is this many times the usual distance from the last two.
    memory
        Distances below this are rounding errors of earlier iterates, stored in single precision.
    tightenings, tighter
        Before a surface counts as converged it is solved again this many times, each time with the
        tolerance multiplied by this factor. The first system is solved as accurately, because the
        second iteration would mistake its errors for jumps.
    """

    enough: int = 40
    most: int = 120
    window: int = 6
    oscillation: float = 0.02
    wandering: float = 1.5
    moving: float = 0.2
    excursion: float = 5.0
    memory: float = 1e-6
    tightenings: int = 2
    tighter: float = 0.01


class Watch:
    """Follows a surface from iterate to iterate, and applies the stopping rule.

    Parameters
    ----------
    computation
        Measures distances.
    start
        First iterate.
    tolerance
        Change below which the surface has converged. None runs all iterations: changes are only
        recorded.
    rule
        What counts as rest, as an oscillation and as an excursion.
    """

    def __init__(
        self,
        computation: Computation,
        start: Vector,
        tolerance: float | None,
        rule: StoppingRule,
    ) -> None:
        self.rule = rule
        self.changes: list[float] = []
        self.energies: list[float] = []
        self._computation = computation
        self._tolerance = tolerance
        self._tightened = 0 if tolerance is None else self.rule.tightenings
        self._solved = True
        self._last_but_one = self._landmark = computation.remember(start)
        self._return = np.inf  # distance from the last iterate but one
        self._drift = np.inf  # distance over the last whole window
        self._distances: deque[float] = deque(maxlen=self.rule.window)  # from the nearer of two

    @property
    def tightness(self) -> float:
        """Factor of the solver's tolerance in the next solve."""
        return self.rule.tighter**self._tightened

    def add(self, old: Vector, new: Vector, energy: float) -> None:
        """Add an iterate and its energy; ``old`` is the one before it."""
        measure, remember = self._computation.change, self._computation.remember
        self.changes.append(measure(new, old))
        self.energies.append(energy)
        if self._tolerance is None:
            return
        if len(self.changes) > 2:
            self._return = measure(new, self._last_but_one)
        self._last_but_one = None  # whose memory is then free for the next one
        self._last_but_one = remember(old)
        self._distances.append(min(self.changes[-1], self._return))
        if len(self.changes) % self.rule.window == 0 and not self.strays:
            self._drift = measure(new, self._landmark)
            self._landmark = None
            self._landmark = remember(new)

    def judge(self, solved: bool) -> Outcome | None:
        """How the run ended with the last iterate; None if it continues.

        ``solved`` says whether the inner solver met its tolerance.
        """
        self._solved = solved
        tight = self._tightened == self.rule.tightenings
        if not solved:
            self._tightened = 0
        elif self.rests and tight:
            return Outcome.CONVERGED
        elif self.alternates and tight and self._falls:
            return Outcome.ALTERNATES
        elif self.oscillates:
            return Outcome.OSCILLATES
        else:
            settles = self.rests or self.alternates
            self._tightened = min(self._tightened + 1, self.rule.tightenings) if settles else 0
        return None

    @property
    def pauses(self) -> bool:
        """Whether a run of enough iterations, and whole windows more, has just ended."""
        more = len(self.changes) - self.rule.enough
        return more >= 0 and more % self.rule.window == 0

    def at_the_limit(self, x: Vector) -> Outcome:
        """How a run ended that reached its iteration limit with the surface x."""
        if not self._solved:
            return Outcome.SOLVER_LIMIT
        return Outcome.ITERATION_LIMIT if self.moves(x) else Outcome.COMPLETED

    @property
    def is_worse(self) -> bool:
        """Whether the iterate before the last is the better one to end with."""
        return self.strays or (self.alternates and not self._falls)

    @property
    def rests(self) -> bool:
        """Whether the last iteration changed less than the tolerance."""
        return self._tolerance is not None and self.changes[-1] < self._tolerance

    @property
    def alternates(self) -> bool:
        """Whether the surface does not rest, but is back where it was two iterations ago."""
        if self._tolerance is None or self.rests:
            return False
        return self._return < max(self._tolerance, self.rule.memory)

    @property
    def strays(self) -> bool:
        """Whether the last iterate is far from both before it, compared with the usual distance."""
        if len(self._distances) < self.rule.window:
            return False
        return self._distances[-1] > self.rule.excursion * median(self._distances)

    @property
    def oscillates(self) -> bool:
        """Whether a window has just ended that made no progress."""
        rule = self.rule
        if self._tolerance is None or len(self.changes) % rule.window or self.strays:
            return False
        small = max(self._drift, self.changes[-1]) <= rule.oscillation
        return small and self._drift <= rule.wandering * median(self.changes[-rule.window :])

    def moves(self, x: Vector) -> bool:
        """Whether the last window, or the iterations after it, moved the surface far, to x now.

        Before the second window the last iteration decides, or the one before an excursion.
        """
        return self._moved(x) > self.rule.moving

    def goes_on(self, x: Vector) -> bool:
        """Whether a run that had enough iterations needs more: far from done, or not done since."""
        begun = len(self.changes) > self.rule.enough
        return self._moved(x) > (self.rule.oscillation if begun else self.rule.moving)

    def _moved(self, x: Vector) -> float:
        if self._tolerance is None or not self.changes:
            return 0.0
        if len(self.changes) < 2 * self.rule.window:
            return self.changes[-2 if self.strays else -1]
        return max(self._drift, self._computation.change(x, self._landmark))

    @property
    def _falls(self) -> bool:
        """Whether the last iterate has the lower energy of the last two."""
        return self.energies[-1] <= self.energies[-2]
