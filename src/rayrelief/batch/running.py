"""Tasks through an engine: every one of them ends as a result or as the error that it raised."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from typing import TypeVar

from rayrelief.batch.base import Engine, EngineLostError, WorkersLostError

Item = TypeVar("Item")
Result = TypeVar("Result")


def run(
    engine: Engine, task: Callable[[Item], Result], items: Sequence[Item]
) -> Generator[tuple[int, Result | BaseException], None, None]:
    """Run a task on all items; yield the number and the end of each, in the order of their ends.

    When a process is lost, each of the tasks that it may have been computing is done again, alone:
    the one that loses its process then too is given up. EngineLostError where none can be done any
    more.
    """
    waiting = deque(range(len(items)))
    while waiting:
        with engine.executor() as executor:
            lost = yield from _until_lost(executor, engine.at_a_time, task, items, waiting)
        for number in lost:
            with engine.executor() as executor:
                again = yield from _until_lost(executor, 1, task, items, deque([number]))
            yield from again.items()


def _until_lost(
    executor: Executor,
    at_a_time: int,
    task: Callable[[Item], Result],
    items: Sequence[Item],
    waiting: deque[int],
) -> Generator[tuple[int, Result | BaseException], None, dict[int, WorkersLostError]]:
    """Run the tasks that wait until the executor breaks; return those that a lost process had."""
    under_way: dict[Future[Result], int] = {}
    lost: dict[int, WorkersLostError] = {}
    is_broken = False
    while (waiting and not is_broken) or under_way:
        while waiting and not is_broken and len(under_way) < at_a_time:
            try:
                future = executor.submit(task, items[waiting[0]])
            except BrokenExecutor:
                is_broken = True
            else:
                under_way[future] = waiting.popleft()
        done, _ = wait(under_way, return_when=FIRST_COMPLETED)
        for future in done:
            error = future.exception()
            if isinstance(error, BrokenExecutor):
                return lost | {number: _given_up() for number in under_way.values()}
            if isinstance(error, EngineLostError):
                raise error
            number = under_way.pop(future)
            if isinstance(error, WorkersLostError):
                lost[number] = error
            else:
                yield number, future.result() if error is None else error
    return lost


def _given_up() -> WorkersLostError:
    return WorkersLostError(
        "the process that computed this map was ended twice, most likely for want of memory",
        expected="a process that lasts",
        remedy="Integrate the map alone, crop it, or use fewer workers (--workers)",
    )
