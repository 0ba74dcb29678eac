"""Runs in threads, and in processes started in every way, also after the parent has integrated."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

TIMEOUT = 600  # seconds: only a run that hangs gets there

# Integrates, has workers do the same, and prints what is not the same to the last bit.
SCRIPT = """
import sys
import rayrelief
from rayrelief import pieces
from rayrelief.synthetic.gallery import sphere

def job(number):
    pieces.NODES_PER_THREAD = 100  # so that threads really run
    scene = sphere(40, 48)
    try:
        method = rayrelief.RayPlane(max_iterations=3)
        return rayrelief.integrate(
            scene.normals, scene.camera, mask=scene.mask, method=method, on_failure="return"
        ).depth.tobytes()
    except rayrelief.RayreliefError as error:
        return error.remedy

class Scenes:
    def __len__(self):
        return 4

    def __getitem__(self, number):
        return job(number)

def by_workers(library, how):
    if library == "joblib":
        import joblib
        return joblib.Parallel(n_jobs=2, backend=how)(joblib.delayed(job)(i) for i in range(4))
    if library == "torch":
        from torch.utils.data import DataLoader
        loader = DataLoader(Scenes(), batch_size=None, num_workers=2, multiprocessing_context=how)
        return list(loader)
    if library == "distributed":
        from distributed import Client, LocalCluster
        with LocalCluster(2, processes=True, threads_per_worker=1, dashboard_address=None) as here:
            with Client(here) as client:
                return client.gather(client.map(job, range(4)))
    import concurrent.futures, multiprocessing
    if how == "threads":
        pool = concurrent.futures.ThreadPoolExecutor(4)
    else:
        context = multiprocessing.get_context(how)
        pool = concurrent.futures.ProcessPoolExecutor(2, mp_context=context)
    with pool:
        return list(pool.map(job, range(4)))

if __name__ == "__main__":
    expected = job(0)
    library, *ways = sys.argv[1:]
    for how in ways:
        found = by_workers(library, how)
        print(how, *{"same" if each == expected else each for each in found}, flush=True)
"""


def run(tmp_path, *ways: str, library: str = "", **environment: str) -> list[str]:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script), library, *ways],
        env=os.environ | {"NUMBA_NUM_THREADS": "2"} | environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    assert library or done.stderr == ""  # others may tell that the machine is busy
    return done.stdout.splitlines()


@pytest.mark.slow
def test_every_way_to_start_workers_after_a_run_gives_the_same_bits(tmp_path):
    ways = ("threads", *multiprocessing.get_all_start_methods())
    assert run(tmp_path, *ways) == [f"{how} same" for how in ways]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize(
    ("library", "ways"),
    [
        ("joblib", ["loky"]),
        ("distributed", ["processes"]),
        ("torch", ["fork", "forkserver", "spawn"]),
    ],
)
def test_workers_of_other_libraries_give_the_same_bits_after_a_run(library, ways, tmp_path):
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed: pip install {library}")
    assert run(tmp_path, *ways, library=library) == [f"{how} same" for how in ways]


@pytest.mark.skipif(sys.platform != "linux", reason="GNU OpenMP")
def test_a_fork_that_lost_its_threads_is_told_what_to_do(tmp_path):
    (said,) = run(tmp_path, "fork", NUMBA_THREADING_LAYER="omp")
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
