"""Where the sweeps are: kept after each, so that a run that was killed goes on."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from rayrelief.conventions import FloatArray
from rayrelief.io.atomic import atomic_write
from rayrelief.io.sources import open_file
from rayrelief.large.acceleration import MEMORY, Anderson
from rayrelief.large.store import refusing_damage

FASTEST, SLOWEST = 0.2, 0.9  # factors by which changes fall that are believed
KEPT = ("last", "steps", "images")  # of the acceleration


@dataclass
class State:
    """Where the sweeps are: all that is not in the files of the blocks."""

    sweep: int
    ring: FloatArray
    moves: FloatArray
    changes: list[float] = field(default_factory=list)
    anderson: Anderson = field(default_factory=Anderson)
    short: int = 0  # blocks of the last sweep whose solver ended short of its tolerance

    @property
    def left(self) -> float:
        """Sum of the changes of all sweeps to come, if they fall no slower than the last ones."""
        if len(self.changes) < 2:
            return np.inf if not self.changes or self.changes[-1] > 0 else 0.0
        falls = [b / a if a > 0 else 0.0 for a, b in pairwise(self.changes[-3:])]
        rate = min(max(FASTEST, *falls), SLOWEST)
        return self.changes[-1] * rate / (1 - rate)

    def save(self, path: Path) -> None:
        """Keep it in a file."""
        with atomic_write(path) as temporary, temporary.open("wb") as file:
            np.savez(
                file,
                sweep=self.sweep,
                ring=self.ring,
                moves=self.moves,
                changes=np.array(self.changes),
                short=self.short,
                **{
                    f"{name}{number}": array
                    for name in KEPT
                    for number, array in enumerate(getattr(self.anderson, name))
                },
            )

    @classmethod
    def load(cls, path: Path) -> State:
        """As it was kept."""
        with (
            refusing_damage(path),
            open_file(path) as file,
            np.load(file, allow_pickle=False) as kept,
        ):
            lists = {
                name: [
                    kept[f"{name}{number}"] for number in range(MEMORY) if f"{name}{number}" in kept
                ]
                for name in KEPT
            }
            anderson = Anderson(**lists)
            return cls(
                int(kept["sweep"]),
                kept["ring"],
                kept["moves"],
                kept["changes"].tolist(),
                anderson,
                int(kept["short"]),
            )


def sweeps_kept(path: Path) -> int:
    """Number of the last sweep of a kept state, of which nothing else is read; 0 without one."""
    if not path.is_file():
        return 0
    with refusing_damage(path), open_file(path) as file, np.load(file, allow_pickle=False) as kept:
        return int(kept["sweep"])
