"""Scenes to futures of their surfaces."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any, overload

import numpy as np

from rayrelief.backends.cpu import CPU
from rayrelief.batch.base import Share
from rayrelief.batch.processes import Processes
from rayrelief.batch.running import run
from rayrelief.checks import COUNTS, instance_of
from rayrelief.estimate import check_memory
from rayrelief.integration import integrate
from rayrelief.methods.base import Method
from rayrelief.methods.catalogue import default_method
from rayrelief.result import Integration
from rayrelief.scene import Scene

SCENES = instance_of(Scene, "a Scene", "Read it with read_scene, or make one: Scene(...)")
EXECUTORS = instance_of(Executor, "an Executor of Python", "Leave it out for processes of its own")


def map(  # what it is: the function over scenes
    scenes: Iterable[Scene],
    *,
    method: Method | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    threads: int | None = None,
    **options: Any,
) -> list[Future[Integration]]:
    """Integrate scenes at the same time; returns a future of each result, in their order.

    Scripts that call it keep what they do under ``if __name__ == "__main__":``, since new processes
    import them.

    Parameters
    ----------
    scenes
        Scenes, as ``read_scene`` returns them.
    method
        As for ``integrate``.
    executor
        Who computes: any of Python's executors, such as ``Client(...).get_executor()`` of dask,
        whose futures wait for as long as its scheduler has no workers.
        None for processes on this machine, which end with the last result; the scenes of one that
        is lost are done again. Scenes that have not begun when the script ends are given up.
    workers
        Processes; by default as many as there are cores for.
    threads
        Threads of each integration: those that the processes leave each other, or one with an
        executor of your own.
    options
        Further arguments of ``integrate``, the same for all.

    Returns
    -------
    list of concurrent.futures.Future
        Their ``result()`` is the Integration, whose status tells how it ended, or raises what
        ``integrate`` raised.
    """
    tasks = _checked(scenes)
    if executor is not None:
        EXECUTORS.check("the executor", executor)
    for name, count in (("workers", workers), ("threads", threads)):
        if count is not None:
            COUNTS.check(name, count)
    how = options | {"method": default_method() if method is None else method}
    if executor is not None:
        share = Share(threads or 1, None)
        return [executor.submit(integrate_scene, scene, share, how) for scene in tasks]
    machine = Processes.sharing_this_machine(len(tasks), workers, threads)
    given = _UnlessCancelled(tasks)
    task = partial(_integrate_one, share=machine.share(), options=how)
    threading.Thread(target=_drive, args=(machine, task, given)).start()
    return given.futures


class _UnlessCancelled(Sequence[Scene | None]):
    """Scenes as they are asked for: None in place of one whose future has been cancelled."""

    def __init__(self, scenes: Sequence[Scene]) -> None:
        self._scenes = scenes
        self._begun: dict[int, bool] = {}
        self.futures: list[Future[Integration]] = [Future() for _ in scenes]

    def __len__(self) -> int:
        return len(self._scenes)

    @overload
    def __getitem__(self, number: int) -> Scene | None: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Scene | None]: ...
    def __getitem__(self, number: Any) -> Any:
        if number not in self._begun:  # else a process was lost with it
            self._begun[number] = self.futures[number].set_running_or_notify_cancel()
        return self._scenes[number] if self._begun[number] else None


def _drive(machine: Processes, task: Any, given: _UnlessCancelled) -> None:
    """Bring scenes to the ends of their futures."""
    try:
        for number, end in run(machine, task, given):
            future = given.futures[number]
            if future.cancelled():
                continue
            if isinstance(end, BaseException):
                future.set_exception(end)
            else:
                future.set_result(end)
    except (RuntimeError, OSError) as error:
        # No process can be started: whoever asks for a result is told.
        for future in given.futures:
            if not future.done():
                future.set_exception(error)


def _integrate_one(
    scene: Scene | None, share: Share, options: dict[str, Any]
) -> Integration | None:
    return None if scene is None else integrate_scene(scene, share, options)


def _checked(scenes: Iterable[Scene]) -> list[Scene]:
    tasks = [*scenes] if isinstance(scenes, Iterable) else [scenes]
    for each in tasks:
        SCENES.check("a scene", each)
    return tasks


def integrate_scene(scene: Scene, share: Share, options: dict[str, Any]) -> Integration:
    """Integrate a scene on its share of a machine."""
    backend = CPU(share.threads)
    if options.get("memory_check", True):
        inside = int(np.count_nonzero(scene.mask))
        check_memory(scene.mask.size, inside, options["method"], backend, limit=share.memory)
    given = {"confidence": scene.confidence, "backend": backend, "on_failure": "return"}
    return integrate(scene.normals, scene.camera, mask=scene.mask, **(given | options))
