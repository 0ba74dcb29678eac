"""What the numbers of a varied cell say of the printed one, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from benchmarks.accuracy.perturbations import HALF_TURNED, ROUNDED
from benchmarks.accuracy.tables import MM, Scored, printed_range

OTHER_POINT = "other principal point"
EXACT = "exact inner solver"
KNOWN = "known discontinuities"
TINY = (HALF_TURNED, ROUNDED)
VARIATIONS = (OTHER_POINT, *(each.name for each in TINY), EXACT, KNOWN)


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
        return "; ".join([*self._fits(), *self._other_prints()])

    def _fits(self) -> Iterator[str]:
        agreeing = [name for name, made in self.varied.items() if self._with(made).agrees]
        fitting = [name for name in agreeing if name != KNOWN]  # which no method knows
        if EXACT in fitting:  # what changes besides the solver adds nothing
            fitting = [name for name in fitting if name in (OTHER_POINT, EXACT)]
        # Only what is solved alike tells how far perturbations move a setting.
        solved = [self.varied[n] for n in (EXACT, *(e.name for e in TINY)) if n in self.varied]
        small, spread = "accurate solves under tiny perturbations", self._with(*solved)
        if self._drawn:
            small, spread = "the draws", self.ours
        for name in fitting:
            yield f"{self._label(name)} fits ({MM.show(self.varied[name])})"
        if spread.print_within:
            yield f"within the spread of {small} ({_range(spread)})"
        elif not fitting:
            gave = f"{small} gave {_range(spread)}"
            yield f"no variation reaches the print ({gave}){self._closest()}"
        if KNOWN in agreeing:
            yield f"so small with {KNOWN} only ({MM.show(self.varied[KNOWN])})"

    def _label(self, name: str) -> str:
        """Name of a variation, and that the solver changed with it."""
        return name if name in (OTHER_POINT, EXACT) else f"{name}, solved exactly,"

    @property
    def _drawn(self) -> bool:
        """Whether there are several draws of noise."""
        return len(self.ours.made) > 1

    def _closest(self) -> str:
        """The variation that is closest to the print, if it is at most half as far off as ours."""
        away = {n: self._distance(made) for n, made in self.varied.items() if n != KNOWN}
        name = min(away, key=lambda each: (round(away[each], 2), each != EXACT))
        if away[name] > self._distance(self.ours.median) / 2 or math.isinf(away[name]):
            return ""
        return f"; the closest is {self._label(name)} ({MM.show(self.varied[name])})"

    def _distance(self, made: float) -> float:
        low, high = printed_range(self.ours.printed)
        return math.inf if math.isnan(made) else max(low - made, made - high)

    def _other_prints(self) -> Iterator[str]:
        for number in dict.fromkeys(each.number for each in self.prints):
            if number != self.ours.printed:
                tables = ", ".join(each.table for each in self.prints if each.number == number)
                fits = ", which ours fits" if replace(self.ours, printed=number).agrees else ""
                yield f"the same setting is printed as {number} in {tables}{fits}"

    def _with(self, *made: float) -> Scored:
        return replace(self.ours, made=made)


def _range(each: Scored) -> str:
    return " to ".join(MM.show(value) for value in each.extremes)
