"""The same bits for any number of threads, in any process, with any hash seed, every time."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

TIMEOUT = 600  # seconds: only a run that hangs gets there

SCRIPT = """
import hashlib
import numpy as np
import rayrelief
from rayrelief import components, pieces
from rayrelief.backends import CPU, base
from rayrelief.formulation import edge_equations
from rayrelief.methods.ordered import parts as ordered_parts
from rayrelief.solvers import segments
from rayrelief.solvers.multigrid import cycle, galerkin, hierarchy, packing, passes
from rayrelief.methods.catalogue import RECIPES
from rayrelief.synthetic.gallery import GALLERY

pieces.NODES_PER_THREAD = 100  # so that threads really run, and on small pieces
small = {
    edge_equations: {"NODES_AT_A_TIME": 500},
    pieces: {"ROWS": 500},
    cycle: {"ROWS_AT_A_TIME": 500},
    packing: {"LEAST_ROOM": 5000},
    galerkin: {"COLUMNS_AT_A_TIME": 500},
    hierarchy: {"NODES_AT_A_TIME": 500, "ENTRIES": 500},
    passes: {"NODES_AT_A_TIME": 500},
    base: {"NODES_AT_A_TIME": 500},
    components: {"NODES_AT_A_TIME": 500},
    ordered_parts: {"NODES_AT_A_TIME": 500},
    segments: {"SEGMENT": 500, "SEGMENTS_AT_A_TIME": 2},
}
for module, sizes in small.items():
    for name, size in sizes.items():
        assert getattr(module, name) > size, name
        setattr(module, name, size)
started = []

class Pool(pieces.ThreadPoolExecutor):
    def submit(self, *arguments):
        started.append(1)
        return super().submit(*arguments)

pieces.ThreadPoolExecutor = Pool
pieces._HELPERS.begin()
scene = GALLERY["overlapping_spheres"](72, 96)
point = rayrelief.DepthPrior.at([(48, 36, 2.0)], 72, 96)
runs = {name: (recipe, None) for name, recipe in RECIPES.items()}
runs["one known depth"] = rayrelief.RayPlane, point
for name, (recipe, prior) in runs.items():
    found = set()
    for count in (None, 1, 3):
        result = rayrelief.integrate(
            scene.normals, scene.camera, mask=scene.mask, method=recipe(), backend=CPU(count),
            on_failure="return", prior=prior,
        )
        changes = np.array([each.change for each in result.history])
        parts = result.depth, result.mesh().faces, changes
        assert started or count == 1 or pieces.numba.config.NUMBA_NUM_THREADS == 1
        started.clear()
        found.add(hashlib.sha256(b"".join(each.tobytes() for each in parts)).hexdigest()[:16])
    print(name.replace(" ", "-"), *found)
"""


def hashes(threads: int, hash_seed: int) -> str:
    environment = {"NUMBA_NUM_THREADS": str(threads), "PYTHONHASHSEED": str(hash_seed)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=True,
    )
    return done.stdout


@pytest.mark.slow
def test_every_method_gives_the_same_bits_every_time():
    first = hashes(4, 0)
    assert all(len(line.split()) == 2 for line in first.splitlines()), first
    assert hashes(1, 1) == first
