"""Maps that have as many parts as pixels: no more memory than others, and the same surface."""

import subprocess
import sys

import numpy as np
import pytest

import rayrelief
from rayrelief.cameras import Orthographic
from rayrelief.methods import Smooth

pytest.importorskip("zarr")
LIMIT = 540_000_000  # bytes
# The peak of ru_maxrss begins at that of the process which started this one.
COMMAND = """
import atexit, re
from pathlib import Path
from rayrelief.cli import main
told = Path("/proc/self/status").read_text
atexit.register(lambda: print("peak", re.search(r"VmHWM:\\s*(\\d+) kB", told())[1]))
main()
"""


def dust(side):
    return np.random.default_rng(1).random((side, side)) < 0.25


def checkerboard(side):
    return np.indices((side, side)).sum(axis=0) % 2 == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(("mask_of", "side"), [(dust, 640), (checkerboard, 400)])
def test_the_memory_limit_holds(mask_of, side, tmp_path):
    import zarr

    rng = np.random.default_rng(0)
    normals = np.dstack((rng.normal(0, 0.2, (side, side, 2)), -np.ones((side, side))))
    mask = mask_of(side)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    normals[~mask] = 0.0
    given, out = tmp_path / "map.zarr", tmp_path / "out.zarr"
    array = zarr.create_array(given, shape=normals.shape, chunks=(128, 128, 3), dtype="f4")
    array[:] = normals
    words = ["--convention", "opencv", "--camera", "orthographic", "--method", "smooth"]
    words += ["--memory", f"{LIMIT // 10**6}MB", "--threads", "1"]
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "integrate", given, "-o", out, *words],
        capture_output=True,
        text=True,
        check=True,
    )
    peak = 1024 * int(done.stdout.split("peak")[1])
    assert peak < LIMIT
    depth = zarr.open_group(out, mode="r")["0"][:].astype(float)
    method, camera = Smooth(), Orthographic(size=(side, side))
    whole = rayrelief.integrate(array[:], camera, mask=mask, method=method, on_failure="return")
    assert np.array_equal(np.isfinite(depth), np.isfinite(whole.depth))
    # Each piece has the median 0 in both.
    relief = np.std(whole.depth[mask])
    assert np.sqrt(np.mean((depth - whole.depth)[mask] ** 2)) <= 1e-4 * relief
