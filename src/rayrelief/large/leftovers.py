"""What an earlier run left in a working folder, before it is gone on with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rayrelief.large.identity import REFUSED, kept
from rayrelief.large.job import Job
from rayrelief.large.layout import Layout
from rayrelief.large.state import sweeps_kept
from rayrelief.large.store import RUN, STATE, Store, refusing_damage


@dataclass(frozen=True)
class Leftovers:
    """How far an earlier run came.

    Attributes
    ----------
    integrated, again
        Blocks that were integrated, and that were looked at again.
    sweeps
        Sweeps of both looks.
    """

    integrated: int
    again: int
    sweeps: int


def leftovers(job: Job) -> Leftovers | None:
    """What the folder of a job holds of the same run; InputError if it holds parts of another."""
    store = kept(job, job.store.folder)
    if store is None:
        return None
    numbers = range(len(job.layout))
    integrated, again = (
        sum(store.has_note(f"decided.{look}.{number}") for number in numbers) for look in (0, 1)
    )
    sweeps = sum(sweeps_kept(store.folder / f"{STATE}.{look}.npz") for look in (0, 1))
    return Leftovers(integrated, again, sweeps)


def kept_layout(folder: Path) -> Layout | None:
    """Blocks of the run that a folder holds parts of, if any."""
    noted = Store(folder).noted(RUN)
    if noted is None or noted.get(REFUSED):
        return None
    with refusing_damage(folder / f"{RUN}.json"):
        return Layout.from_lists(noted)
