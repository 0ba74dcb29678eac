"""Runs in threads, and in processes started in every way, also after the parent has integrated."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

TIMEOUT = 600  # seconds: only a run that hangs gets there

# Integrates, starts processes that do the same, and prints what is not the same to the last bit.
SCRIPT = """
import concurrent.futures, multiprocessing, sys
import rayrelief
from rayrelief.backends import threads
from rayrelief.synthetic.gallery import sphere

threads.NODES_PER_THREAD = 100  # so that threads really run

def job(number):
    scene = sphere(40, 48)
    try:
        method = rayrelief.RayPlane(max_iterations=3)
        return rayrelief.integrate(
            scene.normals, scene.camera, mask=scene.mask, method=method, on_failure="return"
        ).depth.tobytes()
    except rayrelief.RayreliefError as error:
        return error.remedy

if __name__ == "__main__":
    expected = job(0)
    if sys.argv[1] == "threads":
        pool = concurrent.futures.ThreadPoolExecutor(4)
    else:
        context = multiprocessing.get_context(sys.argv[1])
        pool = concurrent.futures.ProcessPoolExecutor(2, mp_context=context)
    with pool:
        print({"same" if found == expected else found for found in pool.map(job, range(4))})
"""


def run(how: str, tmp_path, **environment: str) -> str:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script), how],
        env=os.environ | {"NUMBA_NUM_THREADS": "2"} | environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.stderr == ""
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["threads", "fork", "forkserver", "spawn"])
def test_every_way_to_start_workers_after_a_run_gives_the_same_bits(how, tmp_path):
    if how != "threads" and sys.platform == "win32" and how != "spawn":
        pytest.skip("no such way on Windows")
    assert run(how, tmp_path) == "{'same'}"


@pytest.mark.skipif(sys.platform != "linux", reason="GNU OpenMP")
def test_a_fork_that_lost_its_threads_is_told_what_to_do(tmp_path):
    said = run("fork", tmp_path, NUMBA_THREADING_LAYER="omp")
    assert "get_context('spawn')" in said


def test_a_fork_does_not_inherit_a_lock_that_another_thread_holds():
    from rayrelief.backends import threads

    if not hasattr(os, "register_at_fork"):
        pytest.skip("no fork here")
    held = threads._THREADS.one_at_a_time
    try:
        threads._THREADS.after_fork()
        assert threads._THREADS.one_at_a_time is not held
    finally:
        threads._THREADS.one_at_a_time, threads._THREADS.lost = held, False


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_that_was_killed_does_not_hold_up_the_others():
    # As if it had been killed while numba started its threads, under a lock that forks share.
    code = """
import multiprocessing, rayrelief
from numba.np.ufunc import parallel
from rayrelief.synthetic.gallery import sphere

def job(_=0):
    scene = sphere(12, 16)
    return rayrelief.integrate(scene.normals, scene.camera, mask=scene.mask).depth.tobytes()

expected = job()
getattr(parallel, "_backend_init_process_lock").acquire()
with multiprocessing.get_context("fork").Pool(1) as pool:
    print(pool.apply(job) == expected)
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.stdout == "True\n", done.stderr


def test_a_run_within_a_callback_does_not_wait_for_itself():
    import rayrelief
    from rayrelief.synthetic.gallery import sphere

    scene, inner = sphere(12, 16), []

    def look(_: object) -> bool:
        result = rayrelief.integrate(scene.normals, scene.camera, mask=scene.mask)
        inner.append(result.depth)
        return True

    rayrelief.integrate(scene.normals, scene.camera, mask=scene.mask, callback=look)
    assert np.isfinite(inner[0][scene.mask]).all()
