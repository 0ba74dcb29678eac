"""Scores, summaries, limits and residuals, each on its own."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import rayrelief
from benchmarks.accuracy import formulation, tables
from benchmarks.accuracy.experiments import MADE, Cell
from benchmarks.accuracy.formulation import formulation_tables, scientific
from benchmarks.accuracy.inputs import Settings, Source
from benchmarks.accuracy.predictions import Cache, Prediction, Task
from benchmarks.accuracy.residuals import Spread, formulation_residuals
from benchmarks.accuracy.tables import LEAST_SHARE, WITHIN, Score, made_table, score, summary
from benchmarks.diligent import OBJECTS, STEADY
from benchmarks.published import PUBLISHED
from rayrelief.errors import Outcome
from rayrelief.synthetic import gallery

SPREAD = Settings(spread=True)


def scored(printed: str, *made: float, column: str = "bear", table: str = "gamma", key: str = ""):
    return Score(table, "row", column, printed, made, setting=key)


def test_scores_are_errors_after_the_median_scale_and_bad_ends_are_told(tmp_path, monkeypatch):
    cache, depth = Cache(tmp_path), np.array([[1.0, 2.0, 4.0]])
    monkeypatch.setattr(tables, "scene_of", lambda _: replace(gallery.plane(1, 3), depth=depth))
    tasks = [Task(Source("cow"), rayrelief.RayPlane(max_iterations=n)) for n in (1, 2)]
    monkeypatch.setattr(Task, "key", property(lambda task: f"key{task.method.max_iterations}"))
    cache.store("key1", Prediction(np.array([[3.0, 4.0, 8.0]]), Outcome.SOLVER_LIMIT))
    cache.store("key2", Prediction(depth * np.inf, Outcome.NOT_FINITE))
    found = score("made", Cell("row", "cow", "0.10", tuple(tasks)), cache)
    assert found.made[0] == pytest.approx(0.5 / 3)  # half the depth, but for the first
    assert np.isnan(found.made[1])
    assert found.failures == (Outcome.SOLVER_LIMIT.cause, Outcome.NOT_FINITE.cause)
    assert found.text == "- (- to -) / 0.10"
    assert not found.within
    assert not found.as_printed


@pytest.mark.parametrize(
    ("printed", "made", "same"),
    [
        ("0.40", (0.3, 0.5, 0.4), True),
        ("0.40", (0.45, 0.46), False),
        ("0.40", (0.404,), True),
        ("0.40", (0.406,), False),
        ("0.40", (0.3, math.nan, 0.5), False),
        ("<10^-2", (0.009,), True),
        ("<10^-2", (0.011,), False),
    ],
)
def test_print_is_a_range_of_numbers(printed, made, same):
    assert scored(printed, *made).as_printed is same


def test_texts_tell_median_and_extremes():
    assert scored("0.90", 0.41).text == "0.410 / 0.90"
    assert scored("0.90", 0.5, 0.3, 0.41).text == "0.410 (0.300 to 0.500) / 0.90"
    assert scored("0.90").text == "- / 0.90"


def test_summary_counts_stable_objects_that_have_both_numbers():
    cells = [
        scored("0.10", 0.1049, column="buddha", key="a"),
        scored("0.10", 0.10 + WITHIN, column="bear", key="a"),
        scored("0.10", 0.11 + WITHIN, column="cat", key="a"),
        scored("<10^-2", 0.005, column="cow", key="a"),
        scored("0.10", math.nan, column="pot1", key="a"),
        scored("-", 0.1, column="pot2"),
        scored("0.10", column="reading"),
        scored("0.10", 0.10, column="harvest"),
        scored("0.20", 0.005, column="cow", table="midpoint", key="a"),  # a setting that was there
        scored("0.10", 0.10, column="cow", table="outliers"),
        replace(scored("0.10", 0.10, column="cow"), row="kim"),  # no reproduction
    ]
    table = summary(cells, Settings())
    assert table is not None
    assert table.rows == (
        ("gamma", 5, 2, 3, 3 / 5),
        ("midpoint", 1, 0, 0, 0.0),
        ("all", 6, 2, 3, 3 / 6),
        ("each setting once", 5, 2, 3, 3 / 5),
    )
    assert not table.checks
    spread = summary(cells, SPREAD)
    assert spread is not None
    assert spread.rows[0] == ("gamma", 6, 3, 4, 4 / 6)  # with harvest
    assert set(STEADY) == set(OBJECTS) - {"harvest", "goblet"}
    assert summary(cells[-2:], Settings()) is None


@pytest.mark.parametrize(("off", "holds"), [(5, True), (6, False)])
def test_share_of_all_tables_is_held_to_its_limit(off, holds):
    places = [(table, name) for table in MADE for name in STEADY]
    cells = [
        scored("0.10", 0.9 if index < off else 0.1, column=name, table=table, key=str(index))
        for index, (table, name) in enumerate(places)
    ]
    table = summary(cells, Settings())
    assert table is not None
    (check,) = table.checks
    assert check.found == (35 - off) / 35
    assert check.holds is holds
    for fewer, settings in (
        (cells[1:], Settings()),
        (cells, SPREAD),
        (cells, Settings(iterations=3)),
    ):
        without = summary(fewer, settings)
        assert without is not None
        assert not without.checks


def test_table_2_is_held_to_its_limits():
    assert (WITHIN, LEAST_SHARE) == (0.08, 0.85)
    for made, holds in ((0.005, True), (0.011, False), (math.nan, False)):
        cell = Score("made", "known_jumps", "cow", "<10^-2", (made,))
        (check,) = made_table("", [cell], Settings()).checks
        assert check.holds is holds
        for other in (Settings(principal_point="paper"), Settings(iterations=3), SPREAD):
            assert not made_table("", [cell], other).checks
        assert not made_table("", [replace(cell, table="gamma")], Settings()).checks
    for row, columns in PUBLISHED["table2"]["limits"].items():
        assert row in MADE["made"]
        assert set(columns) <= set(OBJECTS)


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


def test_residual_tables_hold_the_residuals_that_they_name(monkeypatch):
    scene = gallery.sphere(9, 11)
    monkeypatch.setattr(formulation, "scene_of", lambda _: scene)
    absolute, log_depth, depth = formulation_tables(Settings(("cow",)))
    residuals = formulation_residuals(scene, formulation.METHODS["ours"])
    expected = residuals.absolute, residuals.relative_log_depth, residuals.relative_depth
    assert len({spread.mean for spread in expected}) == 3
    for part, table, spread in zip(
        formulation.PARTS, (absolute, log_depth, depth), expected, strict=True
    ):
        record = table.records[-1]
        assert (record["row"], record["mean"], record["std"]) == ("ours", spread.mean, spread.std)
        printed = PUBLISHED["formulation"][part]["ours"][OBJECTS.index("cow")]
        assert table.rows[-1] == ("ours", f"{scientific(spread)} / {printed}")
