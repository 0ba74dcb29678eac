"""Pieces of arrays: each once, in order, on as many threads as were asked for."""

from __future__ import annotations

import threading

import numba
import numpy as np
import pytest

from rayrelief.pieces import NODES_PER_THREAD, side_by_side, slices, threads_for

MANY = 64 * NODES_PER_THREAD
CORES = int(numba.config.NUMBA_NUM_THREADS)


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
        workers = side_by_side(lambda _: threading.get_ident(), range(100))
    assert len(set(workers)) <= expected


def test_few_nodes_and_what_no_threads_were_given_to_stay_on_this_thread():
    here = {threading.get_ident()}
    with threads_for(MANY, 2), threads_for(2 * NODES_PER_THREAD - 1, 2):
        assert set(side_by_side(lambda _: threading.get_ident(), range(9))) == here
    assert set(side_by_side(lambda _: threading.get_ident(), range(9))) == here


def test_an_error_of_a_piece_is_an_error_of_all():
    with threads_for(MANY, 2), pytest.raises(ZeroDivisionError):
        side_by_side(lambda n: 1 / np.float64(n).item(), range(10))
