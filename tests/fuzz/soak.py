"""Many integrations: in one process, whose memory stays flat, in threads, and in a pool."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor

import psutil

import rayrelief
from rayrelief.synthetic.gallery import sphere

WARM = 50
GROWTH = 1.02  # of the memory of a process


def integrate(_: int = 0) -> bytes:
    """Depth and mesh of a small scene."""
    scene = sphere(80, 100)
    result = rayrelief.integrate(scene.normals, scene.camera, mask=scene.mask)
    return result.depth.tobytes() + result.mesh().faces.tobytes()


def soak(alone: int = 500, threads: int = 100, processes: int = 50) -> Iterator[str]:
    """Tell the memory, and what is not the same to the last bit."""
    expected = integrate()
    for number in range(alone):
        if integrate() != expected:
            yield f"integration {number} differs: broken"
        if number == WARM:
            before = psutil.Process().memory_info().rss
    after = psutil.Process().memory_info().rss
    verdict = "" if after <= GROWTH * before else ": broken"
    yield f"{alone} in one process: {before / 1e6:.1f} to {after / 1e6:.1f} MB{verdict}"
    yield _together(ThreadPoolExecutor(4), threads, expected)
    for method in multiprocessing.get_all_start_methods():
        context = multiprocessing.get_context(method)
        yield _together(ProcessPoolExecutor(2, mp_context=context), processes, expected, method)


def _together(pool: Executor, count: int, expected: bytes, how: str = "threads") -> str:
    with pool:
        differing = sum(found != expected for found in pool.map(integrate, range(count)))
    return f"{count} by {how}: {differing} differ" + (": broken" if differing else "")
