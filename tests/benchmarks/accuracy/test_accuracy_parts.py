"""Keys, inputs, printed numbers and scores, each on its own."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from dataclasses import fields, make_dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rayrelief
from benchmarks.accuracy import diligent_mv, lens, predictions
from benchmarks.accuracy.__main__ import main
from benchmarks.accuracy.experiments import (
    MADE,
    NOISE,
    PREPROCESSED,
    Cell,
    limits_of,
    noise_cells,
)
from benchmarks.accuracy.formulation import (
    COMPARED_WITH,
    METHODS,
    PARTS,
    BareBiNI,
    formulation_sheets,
    scientific,
)
from benchmarks.accuracy.inputs import Noise, Source
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
from benchmarks.accuracy.settings import Settings
from benchmarks.accuracy.tables import (
    ALL,
    LEAST_SHARE,
    ONCE,
    WITHIN,
    Scored,
    Sheet,
    held_to,
    score,
    summary,
)
from benchmarks.diligent import STEADY
from benchmarks.published import published_tables
from benchmarks.report import Table
from rayrelief.errors import Outcome
from rayrelief.evaluation.residuals import Spread, formulation_residuals
from rayrelief.synthetic import gallery

OBJECTS = published_tables()["table2"]["objects"]
RAY_PLANE = rayrelief.RayPlane.published()
QUICK = Settings(iterations=1)
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


def test_no_key_is_made_of_what_is_cut_short():
    method = make_dataclass("Some", [("values", tuple)])
    assert key_of("input", method((1, 2.0, "a", None)), "library")
    with pytest.raises(TypeError, match="a tuple of arrays"):
        key_of("input", method((np.arange(2000),)), "library")


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


def test_methods_of_residuals_and_lens_are_the_published_ones():
    bini, ours = rayrelief.BiNI.published(), rayrelief.RayPlane.published()
    assert {
        "bini": bini,
        "bini_without_right_side": BareBiNI.published(),
        "ours": ours,
    } == METHODS
    assert {
        "ours_distorted": ("distorted", ours),
        "bini_distorted": ("ignored", bini),
        "ours_undistorted": ("undistorted", ours),
        "bini_undistorted": ("undistorted", bini),
    } == lens.WAYS


def test_key_follows_names_of_classes_and_fields():
    made = [make_dataclass(name, [(field, int)])(1) for name, field in ("Ax", "Ay", "Bx")]
    assert len({key_of("input", method, "library") for method in made}) == 3


LENS = rayrelief.BrownConrady(9.0, 9.0, 5.0, 4.0, k1=-0.01)
PASSING = {
    **{row: (MADE["made"][row], None) for row in ("bini", "jumps_150", "known_jumps", "default")},
    **{row: (recipe, None) for row, recipe in PREPROCESSED.items()},
    **{row: (recipe, None) for row, recipe in MADE["connectivity"].items()},
    "midpoint": (MADE["midpoint"]["both_2"], None),
    "lens": (MADE["made"]["jumps_150"], LENS),
    "orthographic": (MADE["made"]["jumps_150"], rayrelief.Orthographic()),
}


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


def test_stopped_run_is_no_prediction(data):
    digest = input_digest(Source("cow").scene())
    assert predict(Task(Source("cow"), digest, RAY_PLANE, ""), lambda: True) is None


def test_map_that_has_changed_is_not_predicted(data):
    task = Task(Source("cow"), input_digest(Source("harvest").scene()), RAY_PLANE, "")
    with pytest.raises(rayrelief.RayreliefError, match="cow is no longer what it was"):
        predict(task, bool)


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


def test_printed_numbers_are_those_that_were_compared_with_the_paper():
    known = published_tables()
    del known["table2"]["limits"]
    text = json.dumps(known, sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "f8205a913ab3f5b4"


def differing(method: Any, default: Any) -> dict[str, Any]:
    """What a method has different from another one of its class."""
    return {
        each.name: getattr(method, each.name)
        for each in fields(method)
        if getattr(method, each.name) != getattr(default, each.name)
    }


def test_rows_of_the_ablations_are_what_their_names_say():
    scene, published = gallery.sphere(9, 11), rayrelief.RayPlane.published()
    flat = replace(published, jumps=False)
    found = {
        (table, row): differing(recipe(scene), published if table == "activation" else flat)
        for table in ("gamma", "midpoint", "activation")
        for row, recipe in MADE[table].items()
    }
    assert found == {
        ("gamma", "full_full"): {},
        ("gamma", "cosine_full"): {"cost_factor": "cosine"},
        **{
            ("gamma", f"cosine_{n}"): {"cost_factor": "cosine", "weight_constant": float(n)}
            for n in (3000, 2000, 1000)
        },
        ("gamma", "focal_full"): {"cost_factor": "focal"},
        ("midpoint", "half"): {},
        **{
            ("midpoint", f"{measure}_{k}"): {"midpoint": rayrelief.AdaptiveMidpoint(measure, k)}
            for measure in ("incidence", "normal_z", "both")
            for k in (1, 2, 3)
        },
        **{
            ("activation", f"rho={rho:.2f} q={q}"): {
                **({"activation_slope": q} if q != 50 else {}),
                **({"activation_threshold": rho} if rho != 0.25 else {}),
            }
            for rho in (0.25, 0.5)
            for q in (2.5, 5, 10, 15, 25, 40, 50, 100, 1000)
        },
    }
    for row, recipe in MADE["connectivity"].items():
        jumps, _, connectivity = row.rpartition("_")
        method: Any = recipe(scene)
        assert (method.jumps, str(method.connectivity)) == (jumps == "jumps", connectivity)


def test_rows_of_table_2_are_what_their_names_say():
    scene = gallery.sphere(9, 11)
    published, flat = rayrelief.RayPlane.published, {"jumps": False}
    rows = {row: recipe(scene) for row, recipe in MADE["made"].items()}
    known = rows.pop("known_jumps")
    assert isinstance(known, rayrelief.RayPlane)
    np.testing.assert_array_equal(known.known_depth, scene.depth)
    assert replace(known, known_depth=None) == published(150)
    assert rows == {
        "bini": rayrelief.BiNI.published(1200),
        "no_jumps_150": published(150, **flat),
        "no_jumps_1200": published(1200, **flat),
        "jumps_150": published(150),
        "jumps_1200": published(1200),
        "default": rayrelief.RayPlane(),
    }


def test_ways_to_prepare_noise_are_those_of_the_paper():
    published = rayrelief.RayPlane.published()
    prepared = {row: recipe(gallery.sphere(9, 11)) for row, recipe in PREPROCESSED.items()}
    changes = {row: differing(method, published) for row, method in prepared.items()}
    average = rayrelief.Preprocessing("average")
    assert {row: method.preprocessing for row, method in prepared.items()} == {
        "raw": rayrelief.Preprocessing("keep"),
        "averaged": average,
        "averaged_odd": rayrelief.Preprocessing("average", 0.75),
        "averaged_midpoint": average,
    }
    assert all(set(change) <= {"preprocessing"} for change in list(changes.values())[:3])
    assert changes["averaged_midpoint"]["outlier_threshold"] == 0.01
    for row in ("no_jumps", "jumps"):
        assert differing(diligent_mv.METHODS[row], published)["outlier_threshold"] == 0.1


def test_rotations_are_as_wide_as_their_level():
    scene = gallery.plane(60, 70)
    turned = Noise("rotations", 5.0, 0).added_to(scene).normals
    angles = np.degrees(np.arccos(np.clip(np.sum(scene.normals * turned, axis=-1), -1, 1)))
    # About an axis at the angle a, a turn by s moves a normal by about s sin a: 2/3 of the square.
    assert np.sqrt(np.mean(angles**2)) == pytest.approx(5 * np.sqrt(2 / 3), rel=0.05)


def test_quartiles_are_quartiles():
    scored = Scored("row", "cow", "1.00", (5.0, 1.0, 4.0, 2.0, 3.0), ())
    np.testing.assert_allclose(scored.quartiles, [2, 3, 4])


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


@settings(deadline=None)
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
        scored("buddha", "0.10", 0.1049),
        scored("bear", "0.10", 0.10 + WITHIN),
        scored("cat", "0.10", 0.11 + WITHIN),
        scored("cow", "<10^-2", 0.005),
        scored("pot1", "0.10", float("nan")),
        scored("pot2", "-", 0.1),
        scored("reading", "0.10"),
        scored("harvest", "0.10", 0.10),
        scored("goblet", "0.10", 0.10),
    )
    table = summary([Sheet("gamma", Table("", "", (), ()), (), cells)], "again", True)
    assert table is not None
    counts = (5, 2, 3, 0.6)
    assert table.rows == (("gamma", *counts), (ALL, *counts), (ONCE, *counts))
    assert table.title.startswith("Cells of 5 stable objects")
    assert not table.checks
    assert set(STEADY) == set(OBJECTS) - {"harvest", "goblet"}


def test_setting_of_several_tables_counts_once_by_its_first_cell():
    def sheet(name, printed, *settings):
        cells = [
            Scored("row", column, printed, (0.5,), (), setting)
            for column in ("cow", "bear")
            for setting in settings
        ]
        return Sheet(name, Table("", "", (), ()), (), tuple(cells))

    table = summary([sheet("made", "0.50", "a"), sheet("gamma", "0.90", "a", "b")], "again", True)
    assert table is not None
    assert table.rows[-2:] == ((ALL, 6, 2, 2, 2 / 6), (ONCE, 4, 2, 2, 2 / 4))


@pytest.mark.parametrize(("off", "holds"), [(0, True), (5, True), (6, False)])
def test_share_of_all_tables_is_held_to_its_limit(off, holds):
    made = [0.9] * off + [0.1] * (len(MADE) * len(STEADY) - off)

    def sheet(name):
        cells = tuple(Scored("row", each, "0.10", (made.pop(),), ()) for each in STEADY)
        return Sheet(name, Table("", "", (), ()), (), cells)

    sheets = [sheet(name) for name in MADE]
    table = summary(sheets, "again", True)
    assert table is not None
    (check,) = table.checks
    assert check.found == (35 - off) / 35
    assert check.holds is holds
    one_less = [*sheets[1:], replace(sheets[0], scored=sheets[0].scored[1:])]
    for fewer, held in ((sheets, False), (sheets[1:], True), (one_less, True)):
        table = summary(fewer, "again", held)
        assert table is not None
        assert not table.checks


def test_table_2_is_held_to_its_limits():
    cells = [Scored("known_jumps", "cow", "<10^-2", (made,), ()) for made in (0.005, 0.011)]
    checks = list(held_to(limits_of("made", Settings()), cells))
    assert [check.holds for check in checks] == [True, False]
    assert (WITHIN, LEAST_SHARE) == (0.08, 0.85)
    moved, quick = Settings(principal_point="paper"), Settings(iterations=3)
    for limits in (limits_of("gamma", Settings()), limits_of("made", moved)):
        assert not list(held_to(limits, cells))
    assert not list(held_to(limits_of("made", quick), cells))
    for row, columns in limits_of("made", Settings()).items():
        assert row in MADE["made"]
        assert set(columns) <= set(OBJECTS)


def test_run_that_ended_badly_is_told(tmp_path):
    cache, depth = Cache(tmp_path), np.array([[1.0, 2.0, 3.0]])
    tasks = tuple(Task(Source("cow"), digest, RAY_PLANE, "") for digest in ("limit", "lost"))
    cache.store(tasks[0].key, Prediction(2 * depth, 1.0, Outcome.SOLVER_LIMIT, 3))
    cache.store(tasks[1].key, Prediction(depth * np.inf, 1.0, Outcome.NOT_FINITE, 3))
    found = score(Cell("row", "cow", "0.10", tasks), cache, lambda _: depth)
    assert found.made[0] == 0.0
    assert np.isnan(found.made[1])
    assert found.failures == (Outcome.SOLVER_LIMIT.cause, Outcome.NOT_FINITE.cause)
    assert found.text == "- (- to -) / 0.10"
    assert not found.agrees


def test_names_of_files_tell_what_was_run():
    stems = {
        "made": Settings(),
        "made-moved": Settings(principal_point="paper"),
        "made-cow-bear": Settings(objects=("cow", "bear")),
        "made-3_iterations": Settings(iterations=3),
        "made-moved-cow-3_iterations": Settings(("cow",), 3, "paper"),
    }
    for stem, each in stems.items():
        assert each.file_stem("paper", "made") == f"paper-{stem}"
    assert Settings(("cow", "bear"), 3, "paper").command("made") == (
        "python -m benchmarks.accuracy made --objects cow,bear --iterations 3 "
        "--principal-point paper"
    )


@pytest.mark.parametrize(("kind", "unit"), [("outliers", "%"), ("rotations", "deg")])
def test_every_level_of_noise_has_its_own_print(data, kind, unit):
    scenes = {"harvest": Source("harvest").scene()}
    table = published_tables()[kind]
    levels = table["percent" if kind == "outliers" else "degrees"]
    found = {(cell.row, cell.column): cell.printed for cell in noise_cells(kind, scenes, QUICK, "")}
    assert found == {
        (row, f"{level} {unit}"): number
        for row, numbers in table["rows"].items()
        for level, number in zip(levels, numbers, strict=True)
    }


def test_residual_sheets_hold_the_residuals_that_they_name():
    scene = replace(gallery.sphere(9, 11), name="cow")
    sheets = {sheet.name: sheet for sheet in formulation_sheets({"cow": scene}, "again")}
    residuals = formulation_residuals(scene, METHODS["ours"])
    expected = {
        "formulation-absolute": residuals.absolute,
        "formulation-log_depth": residuals.relative_log_depth,
        "formulation-depth": residuals.relative_depth,
    }
    assert len({spread.mean for spread in expected.values()}) == len(expected)
    for name, spread in expected.items():
        (line,) = (record for record in sheets[name].records if record[0] == "ours")
        assert line[3:] == (f"{spread.mean:.6g}", f"{spread.std:.6g}")
