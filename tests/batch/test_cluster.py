"""Tasks through a dask cluster: one at a time in each worker, and what is told of lost ones."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from contextlib import closing

import pytest

from rayrelief.batch.base import PROCESS, SHARE, EngineLostError, Share, WorkersLostError
from rayrelief.batch.cluster import Cluster
from rayrelief.batch.kept import Kept
from rayrelief.batch.running import run
from rayrelief.errors import InputError

UNDER_WAY: list[int] = []


@pytest.fixture
def cluster():
    """Two workers with two threads each, in this process."""
    distributed, dask = pytest.importorskip("distributed"), pytest.importorskip("dask")
    options = {"n_workers": 2, "threads_per_worker": 2, "memory_limit": "1GB", "processes": False}
    # This process alone may have more than that, and a worker with too much waits for ever.
    watched = ("target", "spill", "pause")
    with (
        dask.config.set({f"distributed.worker.memory.{each}": False for each in watched}),
        distributed.LocalCluster(**options, dashboard_address=":0") as cluster,
    ):
        yield cluster


def under_way(number):
    UNDER_WAY.append(number)
    time.sleep(0.02)
    found = len(UNDER_WAY)
    UNDER_WAY.remove(number)
    return found


def square(number):
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def test_tasks_of_a_worker_take_turns(cluster):
    ends = dict(run(Cluster(cluster.scheduler_address), under_way, range(12)))
    assert ends == dict.fromkeys(range(12), 1)


@pytest.mark.parametrize(("asked", "threads"), [(None, 2), (5, 5)])
def test_what_each_worker_has_at_least(cluster, asked, threads):
    found = Cluster(cluster.scheduler_address, asked).workers()
    assert found == (2, Share(threads, 10**9))


def test_a_map_has_less_than_its_worker(cluster):
    engine = Cluster(cluster.scheduler_address)
    ((_, share),) = run(engine, lambda _: engine.share(), [0])
    assert share == Share(2, int(SHARE * 10**9) - PROCESS)


def test_a_scheduler_without_workers(cluster):
    cluster.scale(0)
    cluster.sync(cluster._correct_state)
    with pytest.raises(InputError, match="has no workers"):
        Cluster(cluster.scheduler_address).workers()


@pytest.mark.parametrize("kept", [False, True])
def test_a_lost_scheduler_ends_the_run_in_words(cluster, kept):
    engine = Cluster(cluster.scheduler_address)
    with (
        Kept(engine) as workers,
        closing(run(workers if kept else engine, under_way, range(100))) as ends,
    ):
        next(ends)
        cluster.close()
        with pytest.raises(EngineLostError, match=r"lost.*the same command goes on"):
            list(ends)


@pytest.mark.parametrize("address", ["foo", "tcp://127.0.0.1:1"])
def test_nobody_is_left_behind_where_no_scheduler_answers(address, monkeypatch, recwarn):
    monkeypatch.setattr("rayrelief.batch.cluster.TIMEOUT", 0.5)
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(distributed, "Client", None)  # it would not end in peace
    with pytest.raises(InputError, match=f"no scheduler answers at {address}: .+; expected"):
        [*run(Cluster(address), under_way, [0])]


def test_a_worker_is_no_scheduler(cluster):
    address = cluster.workers[0].address
    with pytest.raises(InputError, match="a Worker does"):
        Cluster(address).workers()


def test_errors_travel():
    error = EngineLostError("lost", expected="another", remedy="Go on")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_task_that_kills_its_workers_takes_no_other_with_it():
    distributed = pytest.importorskip("distributed")
    import dask

    options = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "1GB"}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(**options, dashboard_address=":0") as cluster,
    ):
        ends = dict(run(Cluster(cluster.scheduler_address), square, range(12)))
    error = ends.pop(2)
    assert isinstance(error, WorkersLostError)
    assert str(error).startswith("each worker that computed this map was lost, 1 in all")
    assert ends == {number: number**2 for number in range(12) if number != 2}
