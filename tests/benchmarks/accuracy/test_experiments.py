"""Rows are the methods that their names say, on the inputs of the paper, beside its numbers."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rayrelief
from benchmarks.accuracy import diligent_mv, lens
from benchmarks.accuracy.experiments import (
    MADE,
    NOISE,
    PREPROCESSED,
    noise_cells,
)
from benchmarks.accuracy.formulation import (
    COMPARED_WITH,
    METHODS,
    PARTS,
    BareBiNI,
)
from benchmarks.accuracy.inputs import Noise, Source
from benchmarks.accuracy.settings import Settings
from benchmarks.diligent import pinhole_of
from benchmarks.published import published_tables
from rayrelief.synthetic import gallery

OBJECTS = published_tables()["table2"]["objects"]
QUICK = Settings(iterations=1)


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


def test_rotations_are_as_wide_as_their_level():
    scene = gallery.plane(60, 70)
    turned = Noise("rotations", 5.0, 0).added_to(scene).normals
    angles = np.degrees(np.arccos(np.clip(np.sum(scene.normals * turned, axis=-1), -1, 1)))
    # About an axis at the angle a, a turn by s moves a normal by about s sin a: 2/3 of the square.
    assert np.sqrt(np.mean(angles**2)) == pytest.approx(5 * np.sqrt(2 / 3), rel=0.05)


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


def test_principal_point_of_the_paper(data):
    file, paper = (pinhole_of(Source("cow", point).scene()) for point in ("file", "paper"))
    assert paper == replace(file, cy=file.cy + 0.75)


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
