"""Keys follow all that a prediction depends on, and files keep what was predicted."""

from __future__ import annotations

import sys
from dataclasses import make_dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import rayrelief
from benchmarks.accuracy import predictions
from benchmarks.accuracy.__main__ import main
from benchmarks.accuracy.experiments import (
    MADE,
    PREPROCESSED,
)
from benchmarks.accuracy.inputs import Source
from benchmarks.accuracy.predictions import (
    LIBRARY,
    NEVER_PREDICTING,
    Cache,
    Prediction,
    Task,
    input_digest,
    key_of,
    library_state,
    predict,
    predicting_files,
)
from benchmarks.diligent import pinhole_of
from rayrelief.errors import Outcome
from rayrelief.synthetic import gallery

RAY_PLANE = rayrelief.RayPlane.published()
CHANGES: dict[str, dict[str, Any]] = {
    "iterations": {"max_iterations": 7},
    "jumps": {"jumps": False},
    "slope": {"activation_slope": 49.0},
    "midpoint": {"midpoint": rayrelief.AdaptiveMidpoint("both", 2.0)},
    "slope of the midpoint": {"midpoint": rayrelief.AdaptiveMidpoint("both", 3.0)},
    "connectivity": {"connectivity": 8},
    "solver": {"solver": replace(rayrelief.ConjugateGradient(), rtol=2e-3)},
    "preprocessing": {"preprocessing": rayrelief.Preprocessing(facing_away="keep")},
    "ratio": {"preprocessing": rayrelief.Preprocessing("keep", 0.75)},
    "known depth": {"known_depth": np.ones((2, 2))},
    "other known depth": {"known_depth": np.full((2, 2), 1 + 1e-15)},
    "start": {"initial_depth": np.ones((2, 2))},
}
LENS = rayrelief.cameras.BrownConrady(9.0, 9.0, 5.0, 4.0, k1=-0.01)
PASSING = {
    **{row: (MADE["made"][row], None) for row in ("bini", "jumps_150", "known_jumps", "default")},
    **{row: (recipe, None) for row, recipe in PREPROCESSED.items()},
    **{row: (recipe, None) for row, recipe in MADE["connectivity"].items()},
    "midpoint": (MADE["midpoint"]["both_2"], None),
    "lens": (MADE["made"]["jumps_150"], LENS),
    "orthographic": (MADE["made"]["jumps_150"], rayrelief.cameras.Orthographic()),
}


def test_key_follows_every_setting_of_a_method():
    methods = [
        *(RAY_PLANE, rayrelief.BiNI.published(), rayrelief.Smooth()),
        *(replace(RAY_PLANE, **change) for change in CHANGES.values()),
    ]
    assert len({key_of("input", method, "library") for method in methods}) == len(methods)
    assert key_of("input", rayrelief.RayPlane.published(), "library") == key_of(
        "input", RAY_PLANE, "library"
    )


def test_key_follows_input_and_library():
    keys = {key_of(seen, RAY_PLANE, library) for seen in "ab" for library in "cd"}
    assert len(keys) == 4


def test_key_follows_names_of_classes_and_fields():
    made = [make_dataclass(name, [(field, int)])(1) for name, field in ("Ax", "Ay", "Bx")]
    assert len({key_of("input", method, "library") for method in made}) == 3


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


def test_state_of_the_library_follows_every_source_file(tmp_path):
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "a.py").write_text("x = 1\n")
    states = [library_state(tmp_path)]
    (tmp_path / "part" / "a.py").write_text("x = 2\n")
    states.append(library_state(tmp_path))
    (tmp_path / "part" / "a.py").rename(tmp_path / "part" / "b.py")
    states.append(library_state(tmp_path))
    (tmp_path / "part" / "b.pyc").write_text("compiled")
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli" / "app.py").write_text("words = 1\n")
    assert library_state(tmp_path) == states[-1]
    assert len(set(states)) == 3
    assert all(state.startswith(rayrelief.__version__) for state in states)


@pytest.mark.parametrize("package", ["numpy", "scipy", "numba"])
def test_state_of_the_library_follows_what_it_is_built_on(tmp_path, monkeypatch, package):
    before = library_state(tmp_path)
    known = predictions.version
    monkeypatch.setattr(
        predictions, "version", lambda name: "0" if name == package else known(name)
    )
    assert library_state(tmp_path) != before


@pytest.mark.parametrize("way", PASSING)
def test_key_follows_every_file_that_a_prediction_passes_through(way):
    recipe, camera = PASSING[way]
    scene = gallery.sphere(9, 11, camera)
    source: Any = SimpleNamespace(name="cow", scene=lambda: scene)
    task = Task(source, input_digest(scene), replace(recipe(scene), max_iterations=3), "")
    predict(task, bool)  # loads modules, whose bodies would be noted
    passed: set[str] = set()

    def note(frame, event, argument):
        passed.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        predict(task, bool)
    finally:
        sys.setprofile(None)
    ours = {Path(file) for file in passed if Path(file).is_relative_to(LIBRARY)}
    assert {"integration.py", "preprocess.py", "graph.py"} < {path.name for path in ours}
    assert {path.relative_to(LIBRARY).as_posix() for path in ours} <= set(predicting_files())


def test_files_that_never_predict_are_there():
    compiled = {
        path.relative_to(LIBRARY).as_posix()
        for path in LIBRARY.rglob("*.py")
        if "njit" in path.read_text(encoding="utf-8")
    }  # which no profile sees
    drawing = {"surface.py", "viewer/rasterise.py", "synthetic/shapes/polynomial.py"}
    assert compiled - set(predicting_files()) == drawing
    for part in NEVER_PREDICTING:
        assert (LIBRARY / part).exists()
        assert not any(name.startswith(part) for name in predicting_files())


def test_prediction_reads_back(tmp_path):
    cache = Cache(tmp_path)
    depth = np.array([[1 / 3, np.nan]])
    cache.store("key", Prediction(depth, 0.1, Outcome.COMPLETED, 5))
    found = cache.load("key")
    assert found is not None
    np.testing.assert_array_equal(found.depth, depth)
    assert (found.seconds, found.outcome, found.iterations) == (0.1, Outcome.COMPLETED, 5)
    assert cache.load("other") is None
    assert [path.name for path in tmp_path.iterdir()] == ["key.npz"]


def test_prediction_of_another_map_is_named(tmp_path):
    cache = Cache(tmp_path)
    cache.store("key", Prediction(np.ones((2, 3)), 0.1, Outcome.COMPLETED, 5))
    assert cache.need("key", (2, 3)).iterations == 5
    with pytest.raises(SystemExit, match=r"key\.npz is of another map; remove it"):
        cache.need("key", (3, 2))
    with pytest.raises(SystemExit, match=r"other\.npz is gone"):
        cache.need("other", (2, 3))


def test_folder_that_cannot_be_written_to_is_told_first(data, tmp_path, predicted):
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit, match=r"no predictions can be kept in .*file/predictions: "):
        main(["gamma", "--objects", "cow", "--output", str(tmp_path / "file")])
    assert not predicted


def test_predictions_take_one_thread(monkeypatch):
    taken = []
    integrate = rayrelief.integrate

    def noted(*given, **options):
        taken.append(options["threads"])
        return integrate(*given, **options)

    monkeypatch.setattr(rayrelief, "integrate", noted)
    scene = gallery.plane(5, 6)
    source: Any = SimpleNamespace(name="plane", scene=lambda: scene)
    predict(Task(source, input_digest(scene), rayrelief.Smooth(), ""), bool)
    assert taken == [1]


def test_stopped_run_is_no_prediction(data):
    digest = input_digest(Source("cow").scene())
    assert predict(Task(Source("cow"), digest, RAY_PLANE, ""), lambda: True) is None


def test_map_that_has_changed_is_not_predicted(data):
    task = Task(Source("cow"), input_digest(Source("harvest").scene()), RAY_PLANE, "")
    with pytest.raises(rayrelief.RayreliefError, match="cow is no longer what it was"):
        predict(task, bool)
