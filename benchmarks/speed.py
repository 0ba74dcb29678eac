"""Speed of the parts: conjugate gradients per pixel and step, import, first and cached start.

python -m benchmarks.speed
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

import numba
import numpy as np

from rayrelief.graph import pixel_graph
from rayrelief.solvers.base import Laplacian
from rayrelief.solvers.conjugate_gradient import ConjugateGradient

STEPS = 300
FIRST_SURFACE = """
import numpy as np, rayrelief
normals = np.zeros((64, 64, 3)); normals[..., 2] = -1.0
rayrelief.integrate(normals, rayrelief.Pinhole(100, 100, 31.5, 31.5))
"""


def conjugate_gradients() -> None:
    """Time per pixel and step on systems like those of an integration, best of five."""
    rng = np.random.default_rng(0)
    print("conjugate gradients, ns per pixel and step\n")
    print("| pixels | " + " | ".join(f"{n} thread{'s' * (n > 1)}" for n in threads()) + " |")
    print("|---" * (1 + len(threads())) + "|")
    for side in (220, 1000):
        graph = pixel_graph(np.ones((side, side), dtype=bool))
        one_sided = rng.random((4, graph.size))
        conductance = np.zeros_like(one_sided)
        for d, a, b in graph.edges():
            conductance[d, a] = one_sided[d, a] + one_sided[d ^ 1, b]
        rhs = rng.standard_normal(graph.size)
        rhs -= rhs.mean()
        solver = ConjugateGradient(rtol=1e-300, max_steps=STEPS).prepare(
            Laplacian(graph, conductance)
        )
        cells = []
        for count in threads():
            numba.set_num_threads(count)
            times = []
            for _ in range(5):
                began = time.perf_counter()
                solver.solve(rhs, np.zeros(graph.size))
                times.append(time.perf_counter() - began)
            cells.append(f"{min(times) / STEPS / graph.size * 1e9:.1f}")
        print(f"| {graph.size:,} | " + " | ".join(cells) + " |")


def threads() -> list[int]:
    """One thread, and all of them."""
    return sorted({1, numba.config.NUMBA_NUM_THREADS})


def cold_start() -> None:
    """Seconds of a fresh process: import, first surface with an empty cache and with a full one."""
    print("\nfresh process, seconds\n\n| what | seconds |\n|---|---|")
    with tempfile.TemporaryDirectory() as cache:
        for what, code in (
            ("python alone", "pass"),
            ("import rayrelief", "import rayrelief"),
            ("first surface, 64x64, compiles", FIRST_SURFACE),
            ("the same again, from the cache", FIRST_SURFACE),
        ):
            began = time.perf_counter()
            subprocess.run(
                [sys.executable, "-c", code],
                check=True,
                env={**os.environ, "NUMBA_CACHE_DIR": cache},
            )
            print(f"| {what} | {time.perf_counter() - began:.2f} |")


if __name__ == "__main__":
    conjugate_gradients()
    cold_start()
