"""Errors, summaries, limits and residuals, each on its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import rayrelief
from benchmarks.accuracy.experiments import (
    MADE,
    Cell,
    limits_of,
)
from benchmarks.accuracy.formulation import (
    METHODS,
    BareBiNI,
    formulation_sheets,
    scientific,
)
from benchmarks.accuracy.inputs import Source
from benchmarks.accuracy.predictions import (
    Cache,
    Prediction,
    Task,
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


def test_quartiles_are_quartiles():
    scored = Scored("row", "cow", "1.00", (5.0, 1.0, 4.0, 2.0, 3.0), {})
    np.testing.assert_allclose(scored.quartiles, [2, 3, 4])


def table_of(sheet: Sheet | None) -> Table:
    assert sheet is not None
    return sheet.table


def test_summary_counts_stable_objects_that_have_both_numbers():
    def scored(column, printed, *made):
        return Scored("row", column, printed, made, {})

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
    table = table_of(summary([Sheet("gamma", Table("", "", (), ()), (), cells)], "again", True))
    counts = (5, 2, 3, 0.6)
    assert table.rows == (("gamma", *counts), (ALL, *counts), (ONCE, *counts))
    assert table.title.startswith("Cells of 5 stable objects")
    assert not table.checks
    assert set(STEADY) == set(OBJECTS) - {"harvest", "goblet"}


def test_setting_of_several_tables_counts_once_by_its_first_cell():
    def sheet(name, printed, *settings):
        cells = [
            Scored("row", column, printed, (0.5,), {}, setting)
            for column in ("cow", "bear")
            for setting in settings
        ]
        return Sheet(name, Table("", "", (), ()), (), tuple(cells))

    sheets = [sheet("made", "0.50", "a"), sheet("gamma", "0.90", "a", "b")]
    table = table_of(summary(sheets, "again", True))
    assert table.rows[-2:] == ((ALL, 6, 2, 2, 2 / 6), (ONCE, 4, 2, 2, 2 / 4))


@pytest.mark.parametrize(("off", "holds"), [(0, True), (5, True), (6, False)])
def test_share_of_all_tables_is_held_to_its_limit(off, holds):
    made = [0.9] * off + [0.1] * (len(MADE) * len(STEADY) - off)

    def sheet(name):
        cells = tuple(Scored("row", each, "0.10", (made.pop(),), {}) for each in STEADY)
        return Sheet(name, Table("", "", (), ()), (), cells)

    sheets = [sheet(name) for name in MADE]
    (check,) = table_of(summary(sheets, "again", True)).checks
    assert check.found == (35 - off) / 35
    assert check.holds is holds
    one_less = [*sheets[1:], replace(sheets[0], scored=sheets[0].scored[1:])]
    for fewer, held in ((sheets, False), (sheets[1:], True), (one_less, True)):
        assert not table_of(summary(fewer, "again", held)).checks


def test_table_2_is_held_to_its_limits():
    cells = [Scored("known_jumps", "cow", "<10^-2", (made,), {}) for made in (0.005, 0.011)]
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
    tasks = tuple(
        Task(Source("cow"), digest, rayrelief.RayPlane(), "") for digest in ("limit", "lost")
    )
    cache.store(tasks[0].key, Prediction(2 * depth, 1.0, Outcome.SOLVER_LIMIT, 3))
    cache.store(tasks[1].key, Prediction(depth * np.inf, 1.0, Outcome.NOT_FINITE, 3))
    found = score(Cell("row", "cow", "0.10", tasks), cache, lambda _: depth)
    assert found.made[0] == 0.0
    assert np.isnan(found.made[1])
    assert found.failures == {0: Outcome.SOLVER_LIMIT.cause, 1: Outcome.NOT_FINITE.cause}
    assert found.only(1).failures == {0: Outcome.NOT_FINITE.cause}
    assert found.text == "- (- to -) / 0.10"
    assert not found.agrees


def test_bini_without_its_right_side_measures_the_depth_alone():
    scene = gallery.plane(9, 11)
    assert scene.depth is not None
    ratios = [depth[1:] / depth[:-1] for depth in (scene.depth, scene.depth.T)]
    both_ways = np.concatenate([np.abs(1 - r).ravel() for r in (*ratios, *(1 / r for r in ratios))])
    found = formulation_residuals(scene, BareBiNI.published()).relative_depth
    assert (found.mean, found.std) == pytest.approx((both_ways.mean(), both_ways.std()))
    assert found.mean > 10 * formulation_residuals(scene, METHODS["bini"]).relative_depth.mean


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
