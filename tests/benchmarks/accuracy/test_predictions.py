"""Keys follow all that a prediction depends on, and files keep what was predicted."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import make_dataclass, replace
from typing import Any

import numpy as np
import pytest

import rayrelief
from benchmarks.accuracy import predictions
from benchmarks.accuracy.known_jumps import knowing_jumps
from benchmarks.accuracy.predictions import (
    LIBRARY,
    NEVER_PREDICTING,
    Cache,
    Prediction,
    input_digest,
    key_of,
    library_state,
)
from benchmarks.diligent import pinhole_of
from rayrelief.errors import Outcome
from rayrelief.synthetic import gallery

RAY_PLANE = rayrelief.RayPlane.published()
CHANGES: tuple[dict[str, Any], ...] = (
    {"max_iterations": 7},
    {"jumps": False},
    {"activation_slope": 49.0},
    {"midpoint": rayrelief.methods.AdaptiveMidpoint("both", 2.0)},
    {"midpoint": rayrelief.methods.AdaptiveMidpoint("both", 3.0)},
    {"connectivity": 8},
    {"solver": rayrelief.solvers.ConjugateGradient(rtol=2e-3)},
    {"preprocessing": rayrelief.Preprocessing(facing_away="keep")},
    {"preprocessing": rayrelief.Preprocessing("keep", 0.75)},
)


def test_key_follows_method_input_and_library():
    methods = [
        *(RAY_PLANE, rayrelief.BiNI.published(), rayrelief.Smooth()),
        *(replace(RAY_PLANE, **change) for change in CHANGES),
        *(knowing_jumps(np.full((2, 2), depth)) for depth in (1.0, 1 + 1e-15)),
    ]
    keys = {key_of(seen, each, state) for each in methods for seen in "ab" for state in "cd"}
    assert len(keys) == 4 * len(methods)
    again = key_of("a", rayrelief.RayPlane.published(), "c")
    assert again == key_of("a", RAY_PLANE, "c")


def test_no_key_is_made_of_what_is_cut_short():
    method = make_dataclass("Some", [("values", tuple)])
    assert key_of("input", method((1, 2.0, "a", None)), "library")
    with pytest.raises(TypeError, match="a tuple of arrays"):
        key_of("input", method((np.arange(2000),)), "library")


def test_digest_follows_what_a_method_sees_of_a_scene():
    scene = gallery.sphere(9, 11)
    digest = input_digest(scene)
    assert input_digest(replace(scene, name="other", depth=None)) == digest
    normals, mask = scene.normals.copy(), scene.mask.copy()
    v, u = np.argwhere(mask)[0]
    normals[v, u, 0] = np.nextafter(normals[v, u, 0], 1.0)
    mask[v, u] = False
    camera = pinhole_of(scene)
    others = [
        replace(scene, normals=normals),
        replace(scene, mask=mask),
        replace(scene, camera=replace(camera, cy=camera.cy + 1e-12)),
    ]
    assert len({digest, *map(input_digest, others)}) == 4


def test_state_of_the_library_follows_every_source_file_that_predicts(tmp_path):
    def state():
        library_state.cache_clear()
        return library_state(tmp_path)

    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "a.py").write_text("x = 1\n")
    states = [state()]
    (tmp_path / "part" / "a.py").write_text("x = 2\n")
    states.append(state())
    (tmp_path / "part" / "a.py").rename(tmp_path / "part" / "b.py")
    states.append(state())
    (tmp_path / "part" / "b.pyc").write_text("compiled")
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli" / "app.py").write_text("words = 1\n")
    assert state() == states[-1]
    assert len(set(states)) == 3


@pytest.mark.parametrize("package", ["numpy", "scipy", "numba"])
def test_state_of_the_library_follows_what_it_is_built_on(tmp_path, monkeypatch, package):
    before, known = library_state(tmp_path), predictions.version
    library_state.cache_clear()
    monkeypatch.setattr(
        predictions, "version", lambda name: "0" if name == package else known(name)
    )
    assert library_state(tmp_path) != before


def test_integrating_loads_nothing_of_the_folders_that_never_predict():
    lines = (
        "import sys, numpy, rayrelief",
        "normals = numpy.zeros((3, 4, 3)); normals[..., 2] = -1.0",
        "camera = rayrelief.cameras.Pinhole(9, 9, 1, 1)",
        "method = rayrelief.RayPlane.published(1)",
        "rayrelief.integrate(normals, camera, method=method, on_failure='return')",
        "print(*(name for name in sys.modules if name.startswith('rayrelief.')))",
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "\n".join(lines)], capture_output=True, text=True
    )
    loaded = {name.split(".")[1] for name in done.stdout.split()}
    assert "methods" in loaded
    assert not loaded & set(NEVER_PREDICTING)
    assert all((LIBRARY / folder).is_dir() for folder in NEVER_PREDICTING)


def test_prediction_reads_back(tmp_path):
    cache = Cache(tmp_path)
    depth = np.array([[1 / 3, np.nan]])
    cache.store("key", Prediction(depth, Outcome.COMPLETED))
    found = cache.need("key")
    np.testing.assert_array_equal(found.depth, depth)
    assert found.outcome is Outcome.COMPLETED
    assert cache.load("other") is None
    assert [path.name for path in tmp_path.iterdir()] == ["key.npz"]
