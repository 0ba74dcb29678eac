"""Pieces of arrays: each once, in order, on as many threads as were asked for."""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
import time
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest

from rayrelief import pieces
from rayrelief.pieces import (
    NODES_PER_THREAD,
    ROWS,
    put,
    shares,
    side_by_side,
    slices,
    taken,
    threads_for,
)

MANY = 64 * NODES_PER_THREAD
CORES = int(numba.config.NUMBA_NUM_THREADS)


def _slow(_: int) -> int:
    """The thread that does it, which has no time for all pieces."""
    time.sleep(0.01)
    return threading.get_ident()


def test_slices_hold_every_element_once():
    for size in (0, 1, 6, 7, 8):
        found = [i for some in slices(size, 3) for i in range(size)[some]]
        assert found == list(range(size))


@pytest.mark.parametrize("threads", [1, 2, None])
def test_what_is_made_of_the_pieces_comes_in_their_order(threads):
    with threads_for(MANY, threads):
        assert side_by_side(lambda n: n * n, range(50)) == [n * n for n in range(50)]


@pytest.mark.parametrize(("threads", "expected"), [(1, 1), (2, min(2, CORES)), (None, CORES)])
def test_no_more_threads_work_than_were_asked_for(threads, expected):
    together = threading.Barrier(expected)
    with threads_for(MANY, threads) as count:
        assert count == expected
        # Passes only if so many are at work at the same time.
        side_by_side(lambda _: together.wait(60), range(4 * expected))
        workers = side_by_side(_slow, range(20))
    assert len(set(workers)) <= expected


def test_few_nodes_and_what_no_threads_were_given_to_stay_on_this_thread():
    here = {threading.get_ident()}
    with threads_for(MANY, 2), threads_for(2 * NODES_PER_THREAD - 1, 2):
        assert set(side_by_side(lambda _: threading.get_ident(), range(9))) == here
    assert set(side_by_side(lambda _: threading.get_ident(), range(9))) == here


def test_an_error_of_a_piece_is_an_error_of_all():
    with threads_for(MANY, 2), pytest.raises(ZeroDivisionError):
        side_by_side(lambda n: 1 / np.float64(n).item(), range(10))


def test_an_error_of_another_thread_is_an_error_of_all():
    here, together = threading.current_thread(), threading.Barrier(2)

    def fail_elsewhere(_: int) -> None:
        together.wait(60)
        if threading.current_thread() is not here:
            raise ZeroDivisionError

    if CORES < 2:
        pytest.skip("one core")
    with threads_for(MANY, 2), pytest.raises(ZeroDivisionError):
        side_by_side(fail_elsewhere, range(2))


def test_threads_of_a_piece_do_not_start_others_and_users_do_not_wait_for_each_other():
    found = []

    def of_a_user() -> None:
        with threads_for(MANY, None):
            found.append(side_by_side(lambda n: side_by_side(lambda k: k * n, range(5)), range(9)))

    users = [threading.Thread(target=of_a_user) for _ in range(6)]
    for user in users:
        user.start()
    for user in users:
        user.join(60)
    assert found == 6 * [[[k * n for k in range(5)] for n in range(9)]]


@pytest.fixture
def no_more_threads(monkeypatch):
    """Threads as where no more can be started than there are."""

    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    def refuse() -> None:
        monkeypatch.setattr(threading.Thread, "start", refused)

    monkeypatch.setattr(pieces._HELPERS, "pool", ThreadPoolExecutor(2))
    return refuse


def test_where_no_thread_can_be_started_this_one_does_it_all_and_keeps_nothing(no_more_threads):
    def arrays_of_a_call() -> weakref.ref[np.ndarray]:
        big = np.ones(10)
        with threads_for(MANY, 2):
            assert side_by_side(lambda n: n * big[0], range(50)) == list(range(50))
        return weakref.ref(big)

    no_more_threads()
    kept = arrays_of_a_call()
    gc.collect()
    assert kept() is None


@pytest.mark.skipif(CORES < 2, reason="one core")
def test_a_thread_that_comes_late_takes_no_piece_that_nobody_waits_for(no_more_threads):
    busy, release = threading.Event(), threading.Event()

    def stay_busy() -> None:
        busy.set()
        release.wait(60)

    pieces._HELPERS.pool.submit(stay_busy)
    assert busy.wait(60)
    no_more_threads()

    def work(n: int) -> int:
        release.set()  # the other thread is free now, and finds what it was asked
        time.sleep(0.2)
        return n

    with threads_for(MANY, 2):
        assert side_by_side(work, range(4)) == list(range(4))


def test_where_no_thread_may_be_asked_this_one_does_it_all(monkeypatch):
    ended = ThreadPoolExecutor(1)
    ended.shutdown()  # as when the interpreter ends
    monkeypatch.setattr(pieces._HELPERS, "pool", ended)
    with threads_for(MANY, 2):
        assert side_by_side(lambda n: n * n, range(50)) == [n * n for n in range(50)]


@pytest.mark.skipif(not hasattr(os, "fork") or CORES < 2, reason="needs fork, and two cores")
def test_a_forked_process_has_threads_of_its_own():
    def work_together() -> None:
        together = threading.Barrier(2)
        with threads_for(MANY, 2):
            side_by_side(lambda _: together.wait(30), range(2))

    work_together()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python's of forks beside threads
        child = multiprocessing.get_context("fork").Process(target=work_together)
        child.start()
    child.join(60)
    assert child.exitcode == 0


def test_pieces_keep_the_settings_of_numpy():
    def told(_: int) -> str:
        time.sleep(0.001)
        return np.geterr()["divide"]

    with threads_for(MANY, 2), np.errstate(divide="raise"):
        assert set(side_by_side(told, range(20))) == {"raise"}


def test_an_image_of_strided_rows_is_copied_once(monkeypatch):
    copied, take = [], np.take

    def watched(rows, *rest, **more):
        copied.append(rows.flags.c_contiguous)
        return take(rows, *rest, **more)

    monkeypatch.setattr(np, "take", watched)
    rows = np.zeros((3 * ROWS, 2))[:, 1]
    taken(rows, np.arange(3 * ROWS))
    assert len(copied) > 1
    assert all(copied)


def test_rows_are_taken_and_put_where_the_indices_say():
    rng = np.random.default_rng(3)
    rows, indices = rng.normal(size=(3 * ROWS, 2)), rng.permutation(3 * ROWS)[: 2 * ROWS + 5]
    expected = np.zeros_like(rows)
    expected[indices] = rows[indices]
    with threads_for(MANY, 2):
        found, image = taken(rows, indices), np.zeros_like(rows)
        put(image, indices, found)
    np.testing.assert_array_equal(found, rows[indices])
    np.testing.assert_array_equal(image, expected)


@pytest.mark.parametrize("threads", [1, 2])
def test_shares_are_some_for_each_thread_and_hold_every_element_once(threads):
    with threads_for(MANY, threads) as count:
        long, short, none = [*shares(1000, 3, start=3)], [*shares(10, 4)], [*shares(0, 3)]
    assert len(long) == pieces.SHARES * count
    assert [i for some in long for i in range(1000)[some]] == list(range(3, 1000))
    assert {some.stop - some.start for some in short[:-1]} <= {4, 5}
    assert not none
