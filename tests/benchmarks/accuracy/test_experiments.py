"""Rows are the methods that their names say, beside the numbers that the paper prints for them."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace

import numpy as np
import pytest

import rayrelief
from benchmarks.accuracy.experiments import MADE, NOISE, PREPROCESSED, made_cells, noise_cells
from benchmarks.accuracy.inputs import Settings, Source
from benchmarks.accuracy.known_jumps import knowing_jumps
from benchmarks.diligent import OBJECTS
from benchmarks.published import PUBLISHED
from rayrelief.methods import AuxiliaryEdges
from rayrelief.synthetic import gallery

PRINTED = {**PUBLISHED, "made": PUBLISHED["table2"]["rows"]}


def test_printed_numbers_are_those_that_were_compared_with_the_paper():
    known = {**PUBLISHED, "table2": {**PUBLISHED["table2"]}}
    del known["table2"]["limits"]
    text = json.dumps(known, sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "b75807085c0abb13"


@pytest.mark.parametrize("table", MADE)
def test_every_cell_has_the_print_of_its_row_and_object(data, table):
    some = Settings(("reading", "cow"), iterations=1)
    cells = {(cell.row, cell.column): cell for cell in made_cells(table, some)}
    printed = {key: cell.printed for key, cell in cells.items() if cell.printed != "-"}
    assert printed == {
        (row, name): number
        for row, numbers in PRINTED[table].items()
        for name, number in zip(OBJECTS, numbers, strict=True)
        if name in some.objects
    }
    assert all(re.fullmatch(r"\d+\.\d\d|<10\^-2", number) for number in printed.values())
    ours = {row for row, _ in cells if cells[row, "cow"].tasks}
    assert ours == set(MADE[table])
    assert all(task.source.name == cell.column for cell in cells.values() for task in cell.tasks)


@pytest.mark.parametrize(("kind", "unit"), [("outliers", "%"), ("rotations", "deg")])
def test_every_level_of_noise_has_its_own_print(kind, unit):
    table = PUBLISHED[kind]
    levels = table["percent" if kind == "outliers" else "degrees"]
    found = {(cell.row, cell.column): cell.printed for cell in noise_cells(kind, Settings())}
    assert found == {
        (row, f"{level} {unit}"): number
        for row, numbers in table["rows"].items()
        for level, number in zip(levels, numbers, strict=True)
    }
    assert kind in NOISE


def test_rows_of_the_ablations_differ_from_the_published_method_as_their_names_say():
    published, flat = rayrelief.RayPlane.published(), rayrelief.RayPlane.published(jumps=False)
    adaptive = rayrelief.methods.AdaptiveMidpoint
    for table, row, expected in (
        ("gamma", "full_full", flat),
        ("gamma", "cosine_2000", replace(flat, cost_factor="cosine", weight_constant=2000.0)),
        ("gamma", "focal_full", replace(flat, cost_factor="focal")),
        ("midpoint", "half", flat),
        ("midpoint", "normal_z_3", replace(flat, midpoint=adaptive("normal_z", 3.0))),
        ("activation", "rho=0.25 q=50", published),
        (
            "activation",
            "rho=0.50 q=2.5",
            replace(published, activation_threshold=0.5, activation_slope=2.5),
        ),
        ("connectivity", "jumps_8", replace(published, connectivity=8)),
        ("connectivity", "no_jumps_diagonal", replace(flat, connectivity="diagonal")),
        ("made", "jumps_1200", published),
        ("made", "no_jumps_150", replace(flat, max_iterations=150)),
        ("made", "bini", rayrelief.BiNI.published(1200)),
    ):
        assert MADE[table][row] == expected
    for rows in (*MADE.values(), PREPROCESSED):
        assert len({repr(method) for method in rows.values()}) == len(rows)


def test_known_jumps_are_those_of_the_true_depth():
    scene = gallery.overlapping_spheres(24, 30)
    assert scene.depth is not None
    errors = []
    for method in (knowing_jumps(scene.depth), rayrelief.RayPlane.published(150)):
        depth = rayrelief.integrate(
            scene.normals, scene.camera, mask=scene.mask, method=method, on_failure="return"
        ).depth
        ratio = depth / scene.depth
        errors.append(np.nanmean(np.abs(ratio / np.nanmedian(ratio) - 1)))
    assert errors[0] < 0.1 * errors[1]


def test_quick_looks_shrink_published_schedules_alone(data):
    counts = {
        cell.row: cell.tasks[0].method.max_iterations
        for cell in made_cells("made", Settings(("cow",), iterations=16))
        if cell.tasks
    }
    assert counts == {
        **dict.fromkeys(("bini", "no_jumps_1200", "jumps_1200"), 16),
        **dict.fromkeys(("no_jumps_150", "jumps_150", "known_jumps"), 2),
        "ray_plane": rayrelief.RayPlane().max_iterations,
        "kim": AuxiliaryEdges().max_iterations,
        "ordered": rayrelief.Ordered().max_iterations,
    }
    assert {cell.tasks[0].source for cell in made_cells("gamma", Settings(("cow",)))} == {
        Source("cow")
    }
