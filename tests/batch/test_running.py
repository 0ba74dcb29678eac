"""Tasks through the processes of this machine: each ends once, also when a process is lost."""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import pytest

import rayrelief
from rayrelief.batch.base import PROCESS
from rayrelief.batch.kept import Kept
from rayrelief.batch.processes import Processes, cores
from rayrelief.batch.running import run
from rayrelief.errors import InputError, IntegrationError
from rayrelief.estimate import LOADED_CODE
from rayrelief.methods import Smooth
from rayrelief.synthetic import gallery

TIMEOUT = 600  # seconds: only a run that hangs gets there
TWO = Processes(workers=2, threads=1, memory=10**9)


def square(number):
    if number == 3:
        raise InputError("three", remedy="Take another number")
    if number == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def process_with_threads(_):
    return os.getpid(), os.environ["OPENBLAS_NUM_THREADS"]


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_an_error_and_a_lost_process_are_ends_of_their_own_tasks_alone():
    ends = [*run(TWO, square, range(9))]
    assert sorted(number for number, _ in ends) == [*range(9)]
    by_number = dict(ends)
    assert [by_number[k] for k in (0, 1, 2, 4, 6, 7, 8)] == [0, 1, 4, 16, 36, 49, 64]
    assert isinstance(by_number[3], InputError)
    assert isinstance(by_number[5], IntegrationError)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_kept_processes_are_the_same_ones_until_one_is_lost():
    one = Processes(workers=1, threads=1, memory=10**9)
    processes: list[int] = []
    with Kept(one) as kept:
        for number in (None, None, 5, None):
            task = process_with_threads if number is None else square
            ((_, end),) = run(kept, task, [number])
            if number is None:
                assert isinstance(end, tuple)
                processes.append(end[0])
            else:
                assert isinstance(end, IntegrationError)
    assert processes[0] == processes[1] != processes[2]
    assert not any(map(psutil.pid_exists, processes))


def test_processes_end_with_the_context_also_when_it_is_left_early(monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    with closing(run(TWO, process_with_threads, range(100))) as ends:
        _, end = next(ends)
    assert not isinstance(end, BaseException)
    process, threads = end
    assert threads == "1"
    assert not psutil.pid_exists(process)


def begin_and_sleep(begun, left):
    begun.touch()
    try:
        time.sleep(TIMEOUT)
    finally:  # a process that is killed does not get here
        left.touch()


@pytest.mark.skipif(sys.platform == "win32", reason="SIGTERM")
def test_a_process_at_work_is_asked_to_leave_and_not_killed(tmp_path):
    begun, left = tmp_path / "begun", tmp_path / "left"
    with suppress(KeyboardInterrupt), TWO.executor() as executor:
        executor.submit(begin_and_sleep, begun, left)
        while not begun.exists():
            time.sleep(0.01)
        raise KeyboardInterrupt
    assert left.exists()


@pytest.mark.parametrize(("tasks", "workers", "threads"), [(1, None, None), (9, 3, 2), (2, 7, 1)])
def test_shares_do_not_exceed_the_machine(tasks, workers, threads):
    engine = Processes.sharing_this_machine(tasks, workers, threads)
    assert engine.workers <= tasks
    assert engine.workers == min(workers or cores(), tasks)
    assert engine.threads == (threads or max(1, cores() // engine.workers))
    assert engine.memory * engine.workers <= psutil.virtual_memory().total


GB = 10**9


@pytest.mark.parametrize(
    ("free", "asked", "expected"),
    [
        (80 * GB, None, (8, 1, 10 * GB - PROCESS)),
        (4 * GB, None, (4, 2, GB - PROCESS)),
        (GB // 2, None, (1, 8, LOADED_CODE)),  # the smallest maps are tried
        (4 * GB, 8, (8, 1, LOADED_CODE)),
    ],
)
def test_libraries_of_every_process_take_memory(free, asked, expected, monkeypatch):
    monkeypatch.setattr("rayrelief.batch.processes.cores", lambda: 8)
    monkeypatch.setattr("rayrelief.batch.processes.memory_available", lambda: free)
    engine = Processes.sharing_this_machine(20, asked)
    assert (engine.workers, engine.threads, engine.share().memory) == expected


@pytest.mark.slow
def test_map_is_integrate_bit_for_bit():
    scenes = [gallery.sphere(16, 20), gallery.plane(12, 16)]
    whole = [rayrelief.integrate(s.normals, s.camera, mask=s.mask) for s in scenes]
    for future, expected in zip(rayrelief.map(scenes, workers=1), whole, strict=True):
        np.testing.assert_array_equal(future.result().depth, expected.depth)


@dataclass(frozen=True)
class KillsOnce:
    """Ends its process at the first map of some size."""

    flag: Path
    size: int

    def solve(self, problem, backend, callback=None):
        if problem.graph.size == self.size and not self.flag.exists():
            self.flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return Smooth().solve(problem, backend, callback)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_map_does_scenes_of_a_lost_process_again(tmp_path):
    scenes = [gallery.plane(12, 16 + number) for number in range(6)]
    futures = rayrelief.map(scenes, method=KillsOnce(tmp_path / "killed", 12 * 17), workers=2)
    assert [future.result().depth.shape[1] for future in futures] == [*range(16, 22)]
    assert (tmp_path / "killed").exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_map_leaves_out_what_is_cancelled(tmp_path):
    scenes = [gallery.plane(12, 16 + number) for number in range(4)]
    method = KillsOnce(tmp_path / "killed", 12 * 18)
    futures = rayrelief.map(scenes, method=method, workers=1)
    assert futures[2].cancel()
    assert wait(futures).not_done == set()
    assert [future.cancelled() for future in futures] == [False, False, True, False]
    assert not (tmp_path / "killed").exists()


@pytest.mark.parametrize("error", [RuntimeError("not now"), OSError(errno.EMFILE, "not now")])
def test_map_tells_why_no_process_can_be_started(error, monkeypatch):
    def refuse(*_, **__):
        raise error

    monkeypatch.setattr("rayrelief.batch.processes.process_pool", refuse)
    (future,) = rayrelief.map([gallery.plane(12, 16)])
    with pytest.raises(type(error), match="not now"):
        future.result(timeout=60)


def test_map_through_any_executor_raises_with_the_result():
    scene = gallery.plane(12, 16)
    with ThreadPoolExecutor(1) as executor:
        (future,) = rayrelief.map([scene], executor=executor, periodic=(True, True))
        with pytest.raises(InputError, match="rthographic"):
            future.result()
