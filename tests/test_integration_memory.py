"""What an integration holds in memory when its iterations start, and what its end takes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from rayrelief.backends.cpu import CPU, CPUComputation
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.integration import integrate
from rayrelief.methods.base import Solution
from rayrelief.methods.ordered.recipe import Ordered
from rayrelief.methods.recipes import RayPlane


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("connectivity", [4, 8])
def test_what_the_iterations_start_with_is_lean(monkeypatch, dtype, connectivity):
    height, width = 512, 600
    normals = np.tile(np.array([0.2, -0.3, -0.93], dtype=dtype), (height, width, 1))
    method = RayPlane(connectivity=connectivity, max_iterations=1, tolerance=None)
    camera = Pinhole.from_fov(50, height, width)
    used = []

    def solve(self, problem, backend, callback=None):
        used.append([number / normals[..., 0].size for number in tracemalloc.get_traced_memory()])
        return Solution(np.zeros(problem.graph.size))

    monkeypatch.setattr(RayPlane, "solve", solve)
    integrate(normals[:8], Pinhole.from_fov(50, 8, width), method=method)  # kernels are loaded
    tracemalloc.start()
    # On one thread: each has some vectors of its own, which are nothing on larger maps.
    result = integrate(normals, camera, method=method, backend=CPU(1))
    used.append([number / result.depth.size for number in tracemalloc.get_traced_memory()])
    tracemalloc.stop()
    # Unit normals and pixels; per direction a neighbour, an offset and gamma.
    kept = 24 + 4 + connectivity * (4 + 8 + 8)
    _, (at_start, peak), (_, overall) = used
    assert at_start < kept + 4, "bytes per pixel when the iterations start"
    assert peak < kept + 24 + 44, "bytes per pixel before they start: also the rays, and some"
    assert overall < kept + 90


def test_the_end_of_ordered_takes_less_than_its_solves(monkeypatch):
    normals = np.tile(np.array([0.2, -0.3, -0.93], dtype=np.float32), (512, 600, 1))
    camera, peaks = Pinhole.from_fov(50, 512, 600), {}

    def watched(name):
        step = getattr(CPUComputation, name)

        def run(*arguments):
            tracemalloc.reset_peak()
            found = step(*arguments)
            peaks[name] = tracemalloc.get_traced_memory()[1] / normals[..., 0].size
            return found

        return run

    for name in ("solve", "finish"):
        monkeypatch.setattr(CPUComputation, name, watched(name))
    method = Ordered(max_iterations=1)
    small = Pinhole.from_fov(50, 8, 600)
    integrate(normals[:8], small, method=method, on_failure="return")  # kernels are loaded
    tracemalloc.start()
    integrate(normals, camera, method=method, on_failure="return")
    tracemalloc.stop()
    assert peaks["finish"] < 265 < peaks["solve"], "bytes per pixel"
