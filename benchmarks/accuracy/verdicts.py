"""What the numbers of a varied cell say of the printed one, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from benchmarks.accuracy.perturbations import HALF_TURNED, ROUNDED
from benchmarks.accuracy.tables import MM, WITHIN, Scored, distance

OTHER_POINT = "other principal point"
FIRST_DRAW = "first draw"
EXACT = "exact inner solver"
KNOWN = "known discontinuities"
PERTURBED = (HALF_TURNED, ROUNDED)
VARIATIONS = (OTHER_POINT, *(each.name for each in PERTURBED), FIRST_DRAW, EXACT, KNOWN)
CLOSE = f"within {WITHIN} mm"
SOLVED = "accurate solves, perturbed or not"


class Met(Enum):
    """What meets a print that ours does not, the plainest first."""

    POINT = OTHER_POINT
    SOLVER = EXACT
    SPREAD = SOLVED
    DRAWS = "the draws"
    KNOWN = f"{KNOWN} only"
    NOTHING = "nothing of this"


@dataclass(frozen=True)
class Print:
    """A number of the paper, and where it stands."""

    table: str
    row: str
    number: str


@dataclass(frozen=True)
class Explanation:
    """A cell that is off: the variations by name, and all prints of the setting, its own first.

    A cell of noise has one number for each draw, and only some of the variations.
    """

    table: str
    ours: Scored
    varied: Mapping[str, float]
    prints: tuple[Print, ...]
    remark: str
    failures: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """What the numbers say, in words."""
        return "; ".join([*(text for _, text in self._findings()), *self._other_prints()])

    @property
    def met(self) -> Met:
        """The plainest of what meets the print."""
        found = {met for met, _ in self._findings()}
        return next(met for met in Met if met in found)

    def _findings(self) -> Iterator[tuple[Met, str]]:
        met = [*self._single_runs(), *self._spread()]
        yield from met
        if not met:
            yield Met.NOTHING, f"not met: {self._gave}{self._closest()}"
        if self._close(KNOWN):  # which no method knows
            yield Met.KNOWN, f"{CLOSE} with {KNOWN} only ({self._shown(KNOWN)})"

    def _single_runs(self) -> Iterator[tuple[Met, str]]:
        """Runs whose number is close to the print."""
        if self._close(OTHER_POINT):
            yield Met.POINT, f"{OTHER_POINT}: {CLOSE} ({self._shown(OTHER_POINT)})"
        if self._close(EXACT):
            yield Met.SOLVER, f"{EXACT}: {CLOSE} ({self._shown(EXACT)})"
            return  # what changes besides the solver adds nothing
        for name in (each.name for each in PERTURBED):
            if self._close(name):
                yield Met.SPREAD, f"{name}, solved exactly: {CLOSE} ({self._shown(name)})"

    def _spread(self) -> Iterator[tuple[Met, str]]:
        """Runs that have the print between them; only what is solved alike belongs together."""
        if self._drawn:
            if self.ours.print_within:
                yield Met.DRAWS, f"between the draws ({_listed(self.ours.made)})"
            elif self._with(self._nearest_draw).agrees:
                yield Met.DRAWS, f"a draw: {CLOSE} ({MM.show(self._nearest_draw)})"
        elif self._with(*self._solved).print_within:
            yield Met.SPREAD, f"between {SOLVED} ({_listed(self._solved)})"

    @property
    def _gave(self) -> str:
        """What the runs gave that do not have the print between them."""
        what, made = ("the draws", self.ours.made) if self._drawn else (SOLVED, self._solved)
        return f"{what} gave {_listed(made)}"

    @property
    def _solved(self) -> tuple[float, ...]:
        names = (EXACT, *(each.name for each in PERTURBED))
        return tuple(self.varied[name] for name in names if name in self.varied)

    @property
    def _drawn(self) -> bool:
        """Whether there are several draws of noise."""
        return len(self.ours.made) > 1

    @property
    def _nearest_draw(self) -> float:
        """Ours where there is one draw only."""
        return min(self.ours.made, key=self._distance)

    def _closest(self) -> str:
        """The variation that is closest to the print, if it is at most half as far off as ours.

        Under noise it must be closer than every draw, too.
        """
        away = {
            name: self._distance(made)
            for name, made in self.varied.items()
            if name not in (KNOWN, FIRST_DRAW)
        }
        name = min(away, key=lambda each: (round(away[each], 2), each != EXACT))
        most = min(self._distance(self.ours.median) / 2, self._distance(self._nearest_draw))
        if away[name] > most or math.isinf(away[name]):
            return ""
        how = "" if name in (OTHER_POINT, EXACT) else ", solved exactly"
        return f"; the closest is {name}{how} ({self._shown(name)})"

    def _distance(self, made: float) -> float:
        return distance(made, self.ours.printed)

    def _other_prints(self) -> Iterator[str]:
        for number in dict.fromkeys(each.number for each in self.prints):
            if number != self.ours.printed:
                tables = ", ".join(each.table for each in self.prints if each.number == number)
                agrees = replace(self.ours, printed=number).agrees
                near = f", and ours is {CLOSE} of that" if agrees else ""
                yield f"the same setting is printed as {number} in {tables}{near}"

    def _close(self, name: str) -> bool:
        return name in self.varied and self._with(self.varied[name]).agrees

    def _shown(self, name: str) -> str:
        return MM.show(self.varied[name])

    def _with(self, *made: float) -> Scored:
        return replace(self.ours, made=made)


def _listed(made: tuple[float, ...]) -> str:
    return ", ".join(MM.show(value) for value in sorted(made))
