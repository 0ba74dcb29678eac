"""Keys, inputs, printed numbers and scores, each on its own."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rayrelief
from benchmarks.accuracy.experiments import MADE, NOISE, PREPROCESSED, Cell, published_tables
from benchmarks.accuracy.formulation import COMPARED_WITH, METHODS, PARTS, BareBiNI, scientific
from benchmarks.accuracy.inputs import Noise, Source
from benchmarks.accuracy.predictions import (
    Cache,
    Prediction,
    Task,
    input_digest,
    key_of,
    library_state,
    predict,
)
from benchmarks.accuracy.settings import Settings
from benchmarks.accuracy.tables import WITHIN, Scored, Sheet, score, summary
from benchmarks.maps import STEADY
from benchmarks.report import Table
from rayrelief.errors import Outcome
from rayrelief.evaluation.residuals import Spread, formulation_residuals
from rayrelief.synthetic import gallery

OBJECTS = published_tables()["table2"]["objects"]
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


def pinhole(scene):
    assert isinstance(scene.camera, rayrelief.Pinhole)
    return scene.camera


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


def test_digest_follows_what_a_method_sees_of_a_scene():
    scene = gallery.sphere(9, 11)
    digest = input_digest(scene)
    assert input_digest(replace(scene, name="other", depth=None)) == digest
    normals, mask = scene.normals.copy(), scene.mask.copy()
    v, u = np.argwhere(mask)[0]
    normals[v, u, 0] = np.nextafter(normals[v, u, 0], 1.0)
    mask[v, u] = False
    camera = pinhole(scene)
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
    assert library_state(tmp_path) == states[-1]
    assert len(set(states)) == 3
    assert all(state.startswith(rayrelief.__version__) for state in states)


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


def test_stopped_run_is_no_prediction(data):
    assert predict(Task(Source("cow"), RAY_PLANE, ""), lambda: True) is None


def test_every_row_has_a_printed_number_for_every_object():
    known = published_tables()
    for part in PARTS:
        assert set(known["formulation"][part]) == {COMPARED_WITH.get(row, row) for row in METHODS}
        for row in known["formulation"][part].values():
            assert len(row) == len(OBJECTS)
            assert all(re.fullmatch(r"\(\d\.\d\d ± \d\.\d\d\) × 10\^-?\d", cell) for cell in row)
    for table, rows in MADE.items():
        printed = known["table2"]["rows"] if table == "made" else known[table]
        assert set(rows) ^ set(printed) <= {"default", "bini_from_paper", "kim"}
        assert (set(rows) == set(printed)) == (table != "made")
        for row in printed.values():
            assert len(row) == len(OBJECTS)
            assert all(re.fullmatch(r"\d+\.\d\d|<10\^-2", cell) for cell in row)
    for kind, unit in zip(NOISE, ("percent", "degrees"), strict=True):
        assert set(known[kind]["rows"]) == set(PREPROCESSED)
        assert all(len(row) == len(known[kind][unit]) for row in known[kind]["rows"].values())


def test_bini_without_its_right_side_measures_the_depth_alone():
    scene = gallery.plane(9, 11)
    assert scene.depth is not None
    ratios = [depth[1:] / depth[:-1] for depth in (scene.depth, scene.depth.T)]
    both_ways = np.concatenate([np.abs(1 - r).ravel() for r in (*ratios, *(1 / r for r in ratios))])
    found = formulation_residuals(scene, BareBiNI.published()).relative_depth
    assert (found.mean, found.std) == pytest.approx((both_ways.mean(), both_ways.std()))
    assert found.mean > 10 * formulation_residuals(scene, METHODS["bini"]).relative_depth.mean


def test_principal_point_of_the_paper(data):
    file, paper = pinhole(Source("cow").scene()), pinhole(Source("cow", "paper").scene())
    assert paper == replace(file, cy=file.cy + 0.75)


@given(level=st.integers(0, 100), seed=st.integers(0, 99))
def test_outliers_are_a_share_of_the_mask(level, seed):
    scene = gallery.sphere(9, 11)
    scene = replace(scene, normals=np.where(scene.mask[..., None], scene.normals, [0, 0, -1.0]))
    noisy = Noise("outliers", level, seed).added_to(scene)
    changed = (noisy.normals != scene.normals).any(axis=-1) & scene.mask
    assert changed.sum() == round(level / 100 * scene.mask.sum())
    again = Noise("outliers", level, seed).added_to(scene)
    np.testing.assert_array_equal(noisy.normals, again.normals)


@pytest.mark.parametrize(
    ("mean", "std", "text"),
    [
        (0.00823, 0.0739, "(0.82 ± 7.39) × 10^-2"),
        (0.372, 0.271, "(3.72 ± 2.71) × 10^-1"),
        (0.5, 9.9964, "(0.05 ± 1.00) × 10^1"),
        (0.0, 0.0, "(0.00 ± 0.00) × 10^0"),
    ],
)
def test_residuals_look_like_the_print(mean, std, text):
    assert scientific(Spread(mean, std)) == text


def test_summary_counts_stable_objects_that_have_both_numbers():
    def scored(column, printed, *made):
        return Scored("row", column, printed, made, ())

    cells = (
        scored("bear", "0.10", 0.10 + WITHIN),
        scored("cat", "0.10", 0.11 + WITHIN),
        scored("cow", "<10^-2", 0.005),
        scored("pot1", "0.10", float("nan")),
        scored("pot2", "-", 0.1),
        scored("reading", "0.10"),
        scored("harvest", "0.10", 0.10),
        scored("goblet", "0.10", 0.10),
    )
    table = summary([Sheet("gamma", Table("", "", (), ()), (), cells)], "again")
    assert table is not None
    assert table.rows == (("gamma", 4, 2, 0.5), ("all tables of MADE", 4, 2, 0.5))
    assert set(STEADY) == set(OBJECTS) - {"harvest", "goblet"}


def test_run_that_ended_badly_is_told(tmp_path):
    cache, depth = Cache(tmp_path), np.array([[1.0, 2.0, 3.0]])
    cache.store("limit", Prediction(2 * depth, 1.0, Outcome.SOLVER_LIMIT, 3))
    cache.store("lost", Prediction(depth * np.inf, 1.0, Outcome.NOT_FINITE, 3))
    tasks = tuple(Task(Source("cow"), RAY_PLANE, key) for key in ("limit", "lost"))
    found = score(Cell("row", "cow", "0.10", tasks), cache, {"cow": depth})
    assert found.made[0] == 0.0
    assert np.isnan(found.made[1])
    assert found.failures == (Outcome.SOLVER_LIMIT.cause, Outcome.NOT_FINITE.cause)
    assert found.text == "- (- to -) / 0.10"
    assert not found.agrees


def test_names_of_files_tell_what_was_run():
    quick = Settings(objects=("cow",)), Settings(iterations=3)
    settings = Settings(), Settings(principal_point="paper"), *quick
    stems = [each.file_stem("paper", "made") for each in settings]
    assert stems == ["paper-made", "paper-made-moved", "paper-made-quick", "paper-made-quick"]
    assert Settings(("cow", "bear"), 3, "paper").command("made") == (
        "python -m benchmarks.accuracy made --objects cow,bear --iterations 3 "
        "--principal-point paper"
    )
