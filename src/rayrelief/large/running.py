"""A map larger than memory, from the first block to the depth."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rayrelief.batch.base import Engine
from rayrelief.batch.running import run
from rayrelief.cameras.base import Camera
from rayrelief.components import label_medians
from rayrelief.conventions import FloatArray
from rayrelief.errors import IntegrationWarning, Outcome, in_number
from rayrelief.large import steps
from rayrelief.large.coarse import Coarse
from rayrelief.large.identity import claim, give_up
from rayrelief.large.job import Job, Source
from rayrelief.large.joining import Moves, ring_values
from rayrelief.large.judging import Decided, Judge, MapRefusedError
from rayrelief.large.layout import Layout, size_of
from rayrelief.large.state import State
from rayrelief.large.store import JOINED, STATE, refusing_damage
from rayrelief.methods.base import Method

TOLERANCE = 1e-5  # what is left to change of the values around the blocks, over their relief
LOOSE = 10  # times the tolerance is enough for a surface that is looked at again
MOST_SWEEPS = 40
JOINING = ", joining"  # ends the name of a stage that is a small part of a sweep
SAMPLES = 2_000_000  # pixels of the map that count for the median, about: all of a small one

Result = TypeVar("Result")
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Finished:
    """A map that is done: its depth lies in the store, core by core.

    Attributes
    ----------
    job
        The map and its blocks.
    decided
        What was found in each block by itself.
    changes
        Change of the values around the blocks in each sweep, over their relief.
    converged
        Whether what is left to change is below the tolerance, and all blocks were solved.
    components
        How many parts of the map have a scale (a shift) of their own.
    """

    job: Job
    decided: list[Decided]
    changes: tuple[float, ...]
    converged: bool
    components: int


def integrate_blocks(
    source: Source,
    camera: Camera,
    folder: Path,
    *,
    method: Method,
    layout: Layout,
    engine: Engine,
    threads: int | None = None,
    tolerance: float = TOLERANCE,
    progress: Progress = lambda *_: None,
) -> Finished:
    """Integrate a map block by block; what the folder holds of an earlier run is not done again.

    Parameters
    ----------
    source, camera, method
        The map, the camera of the whole of it, and what runs on each block.
    folder
        Where all that is finished is kept, as files.
    layout, engine, threads
        Blocks, who computes them, and threads of each.
    tolerance
        The sweeps end when the values around the blocks are expected to move by less than this
        fraction of their relief, all sweeps to come together.
    progress
        Called with the name of a stage, how many of its blocks are done, and of how many.
    """
    job = Job.of(source, camera, method, layout, folder, threads)
    job = replace(job, store=claim(job, folder))
    work = _Work(engine, progress, range(len(layout)))
    try:
        judge = Judge(method, layout)
        first = work.each("integrating blocks", partial(steps.decide, job), ended=judge.take)
        judge.close()
    except MapRefusedError:
        give_up(job, folder)
        raise
    before, decided = [], first
    if len(layout) > 1 and hasattr(method, "continued"):
        before = _look(job, work, first, LOOSE * tolerance)
        job = replace(job, look=1)
        decided = work.each("looking again", partial(steps.decide, job))
        job.store.discard(JOINED, len(layout))
    job, coarse = _coupled(job, work, decided)
    state = _sweeps(job, work, coarse, tolerance)
    constants, components = _constants(job, work, coarse, state)
    task = partial(steps.finish, job, sweep=state.sweep)
    work.each("writing blocks", task, _with_moves(job, coarse, constants))
    settled = len(layout) == 1 or state.left <= tolerance
    failed = _failed(first, *([] if decided is first else [decided]))
    if state.short or failed:
        _warn(state.short, failed, len(layout))
    components += sum(each.alone for each in decided)
    converged = settled and not state.short and not failed
    return Finished(job, first, (*before, *state.changes), converged, components)


def _failed(*looks: list[Decided]) -> list[Outcome]:
    """How runs on blocks ended that did not end as they should; one without equations did."""
    ends = (Outcome[each.outcome] for look in looks for each in look if each.outcome)
    return [end for end in ends if not (end.ok or end is Outcome.NO_EQUATIONS)]


def _warn(short: int, failed: list[Outcome], blocks: int) -> None:
    told = sorted(
        f"{in_number(failed.count(end), 'run')}: {end.cause}; {end.remedy}" for end in {*failed}
    )
    if short:
        told.append(
            f"{in_number(short, 'solve')} of the last sweep: ended short of their tolerance"
        )
    warnings.warn(
        f"of {blocks} blocks {'. '.join(told)}. The surface there and around may be wrong",
        IntegrationWarning,
        stacklevel=3,
    )


def _look(job: Job, work: _Work, decided: list[Decided], tolerance: float) -> list[float]:
    """Keep the surface joined from blocks that were integrated by themselves; its changes."""
    noted = job.store.noted(JOINED)
    if noted is None:
        job, coarse = _coupled(job, work, decided)
        state = _sweeps(job, work, coarse, tolerance)
        task = partial(steps.join, job, sweep=state.sweep)
        work.each("keeping blocks", task, _with_moves(job, coarse, state.moves))
        noted = {"changes": state.changes}
        job.store.note(JOINED, noted)
        job.store.discard(job.surface(state.sweep), len(job.layout))
    with refusing_damage(job.store.folder / f"{JOINED}.json"):
        return [float(change) for change in noted["changes"]]


def _coupled(job: Job, work: _Work, decided: list[Decided]) -> tuple[Job, Coarse]:
    """The job that knows the parts of all blocks, and its coarse problem."""
    first = np.cumsum([0, *(each.parts for each in decided)])
    bending = tuple(each.bending for each in decided)
    job = replace(job, first=tuple(first.tolist()), bending=bending)
    return job, Coarse(work.each("joining blocks", partial(steps.couple, job)), job)


def _sweeps(job: Job, work: _Work, coarse: Coarse, tolerance: float) -> State:
    """Solve all blocks with the values around them held, and join them, until these stand still."""
    path, numbers = job.store.folder / f"{STATE}.{job.look}.npz", range(len(job.layout))
    lengths = [sum(map(size_of, job.layout.ring(job.layout.block(number)))) for number in numbers]
    ends = np.cumsum(lengths)
    state = State.load(path) if path.is_file() else _joined(job, work, coarse, 0)
    while len(numbers) > 1 and state.sweep < MOST_SWEEPS:
        if state.left <= tolerance:
            break
        sweep = state.sweep + 1
        rings = np.split(state.ring, ends[:-1])
        own = coarse.by_block(state.moves)
        given = [*zip(numbers, rings, own.values(), strict=True)]
        stage = f"sweep {sweep}{_far(state.left, tolerance)}"
        solved = work.each(stage, partial(steps.solve, job, sweep=sweep), given)
        found = _joined(job, work, coarse, sweep)
        relief = float(np.std(found.ring)) or 1.0
        change = float(np.sqrt(np.mean((found.ring - state.ring) ** 2))) / relief
        ring = state.anderson.next(state.ring, found.ring)
        before = state.sweep
        short = solved.count(False)
        state = State(sweep, ring, found.moves, [*state.changes, change], state.anderson, short)
        state.save(path)
        job.store.discard(job.surface(before), len(numbers))
    return state


def _far(left: float, tolerance: float) -> str:
    """How far what is left to change is from the tolerance, for the name of a stage."""
    return f" ({left / tolerance:.2g} times the tolerance is left)" if np.isfinite(left) else ""


def _joined(job: Job, work: _Work, coarse: Coarse, sweep: int) -> State:
    """Moves of all nodes after a sweep, and the values around the blocks with them."""
    asked = work.each(f"sweep {sweep}{JOINING}", partial(steps.balance, job, sweep=sweep))
    moves = coarse.moves(asked)
    blocks = map(job.layout.block, range(len(job.layout)))
    own = coarse.by_block(moves)
    rings = [ring_values(job, block, sweep, own) for block in blocks]
    return State(sweep, np.concatenate(rings), moves)


def _with_moves(job: Job, coarse: Coarse, moves: FloatArray) -> list[tuple[int, Moves]]:
    """Each block, and the moves of what is joined in its core: those of all do not travel."""
    own = coarse.by_block(moves)
    around = (job.layout.around(job.layout.block(number).core) for number in own)
    return [
        (number, {block.number: own[block.number] for block in blocks})
        for number, blocks in zip(own, around, strict=True)
    ]


def _constants(job: Job, work: _Work, coarse: Coarse, state: State) -> tuple[FloatArray, int]:
    """Moves with which the median of each component is 0, and how many components there are."""
    every = max(1, math.ceil(math.sqrt(math.prod(job.layout.shape) / SAMPLES)))
    task = partial(steps.sample, job, sweep=state.sweep, every=every)
    samples = work.each("finding the median", task, _with_moves(job, coarse, state.moves))
    parts, values, regular = (np.concatenate(each) for each in zip(*samples, strict=True))
    component = coarse.component[np.searchsorted(coarse.parts, parts)]
    # Of what no regular sample hits any pixel has to do.
    count = int(coarse.component.max(initial=-1)) + 1
    hit = np.bincount(component[regular], minlength=count) > 0
    kept = regular | ~hit[component]
    found, number = np.unique(component[kept], return_inverse=True)
    shifts = np.zeros(count)
    shifts[found] = label_medians(values[kept], number.astype(np.int32))
    return state.moves - shifts[coarse.component[coarse.part]], len(found)


@dataclass(frozen=True)
class _Work:
    """Blocks through an engine, with progress; the first error of a block is raised."""

    engine: Engine
    progress: Progress
    numbers: Sequence[int]

    def each(
        self,
        stage: str,
        task: Callable[[Any], Result],
        items: Sequence[Any] | None = None,
        ended: Callable[[int, Result], None] = lambda *_: None,
    ) -> list[Result]:
        items = self.numbers if items is None else items
        results: dict[int, Result] = {}
        self.progress(stage, 0, len(items))
        for index, end in run(self.engine, task, items):
            if isinstance(end, BaseException):
                raise end
            results[index] = end
            self.progress(stage, len(results), len(items))
            ended(index, end)
        return [results[index] for index in range(len(items))]
