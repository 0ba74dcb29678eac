"""What a run of the paper's experiments covers, and what its files are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from benchmarks.settings import options_of

PrincipalPoint = Literal["file", "paper"]
PRINCIPAL_POINTS: tuple[str, ...] = get_args(PrincipalPoint)
BOTH = "both"  # of them, beside each other
PUBLISHED_ITERATIONS = 1200


@dataclass(frozen=True)
class Settings:
    """The defaults are what the paper did; fewer objects or iterations give a quick look.

    Attributes
    ----------
    objects
        Objects of DiLiGenT; none for all.
    iterations
        Instead of the 1200 of the published schedule; shorter schedules shrink alike.
    principal_point
        "file" for that of K.txt, "paper" for the one that some of the paper's rows fit.
    """

    objects: tuple[str, ...] = ()
    iterations: int = PUBLISHED_ITERATIONS
    principal_point: PrincipalPoint = "file"

    @property
    def held_to_limits(self) -> bool:
        """Whether errors have limits: those are of full schedules with the point of K.txt."""
        return self.iterations == PUBLISHED_ITERATIONS and self.principal_point == "file"

    def command(self, *words: str) -> str:
        """What to type for tables and other options with these settings."""
        return " ".join(["python -m benchmarks.accuracy", *words, *options_of(self)])

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader of other schedules must know."""
        if self.iterations == PUBLISHED_ITERATIONS:
            return ()
        instead = f"{self.iterations} iterations instead of {PUBLISHED_ITERATIONS}"
        return (f"With {instead}, and other schedules scaled alike; rows keep their names.",)

    def file_stem(self, *parts: str) -> str:
        """Name of a file without its suffix: runs with other settings never share one."""
        moved = ["moved"] * (self.principal_point != "file")
        quick = [f"{self.iterations}_iterations"] * (self.iterations != PUBLISHED_ITERATIONS)
        return "-".join([*parts, *moved, *self.objects, *quick])
