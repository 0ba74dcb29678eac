"""Tables and limits: what holds, what is written, and the exit code."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import __main__ as bench
from benchmarks.report import Check, Report, Table, UnavailableError, columns, exit_code
from benchmarks.speed import watched

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


def table(*checks, rows=((1.0,),)):
    return Table("a title", columns("seconds:.2f"), rows, checks=checks)


@given(NUMBERS, NUMBERS)
def test_limits_are_what_they_say(found, limit):
    assert Check("", found, at_most=limit).holds == (found <= limit)
    assert Check("", found, at_least=limit).holds == (found >= limit)
    assert Check("", found, below=limit).holds == (found < limit)


@pytest.mark.parametrize("limit", ["at_least", "at_most", "below"])
@pytest.mark.parametrize("found", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_meets_no_limit(found, limit):
    assert not Check("", found, **{limit: 1.0}).holds


def test_markdown_has_one_cell_for_each_column():
    rows = (("c|d", 1234, None), ("e", 5, math.nan))
    lines = Table("t", columns("a | n:,d | x:.1f"), rows).to_markdown().splitlines()[2:]
    assert lines == [
        "| a | n | x |",
        "| --- | --- | --- |",
        r"| c\|d | 1,234 | - |",
        "| e | 5 | - |",
    ]


def test_report_reads_back_as_json(tmp_path):
    missed, held = Check("one", math.nan, below=1.0), Check("other", 1 / 3, at_most=1.0)
    report = Report(
        {"python": "3"}, [table(missed, held, rows=((1 / 3,), (math.nan,)))], ["maps: no"]
    )
    report.write(tmp_path / "new", "bench")
    content = json.loads((tmp_path / "new" / "bench.json").read_text(encoding="utf-8"))
    assert content["tables"][0]["rows"] == [[1 / 3], [None]]
    assert content["missed"] == ["one: nan, limit below 1"]
    assert content["skipped"] == ["maps: no"]


def test_report_is_written_whole_or_not_at_all(monkeypatch, tmp_path):
    report, write = Report({}, [table()]), Path.write_bytes
    report.write(tmp_path, "bench")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def half(self, data, *args, **kwargs):
        write(self, data[: len(data) // 2])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(KeyboardInterrupt):
        report.write(tmp_path, "bench")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_best_time_is_the_least_within_the_budget(monkeypatch):
    clock = iter([0.0, 2.0, 2.0, 3.0, 3.0, 6.0])  # 2, 1 and 3 seconds: then the budget is used up
    monkeypatch.setattr(watched.time, "perf_counter", lambda: next(clock))
    assert watched.best_seconds(lambda: None) == 1.0
    assert next(clock, None) is None


@pytest.mark.parametrize(("found", "code"), [(1.0, 0), (3.0, 1)])
def test_exit_code_says_whether_a_limit_is_missed(monkeypatch, tmp_path, capsys, found, code):
    check = Check("width", found, at_most=2.0)
    monkeypatch.setattr(bench, "PARTS", {"good": lambda chosen: iter([table(check)])})
    assert exit_code(bench.main, ["--output", str(tmp_path)]) == code
    assert ("- width: 3, limit at most 2" in capsys.readouterr().out) == bool(code)
    assert (tmp_path / "bench.md").exists()


def test_part_that_lacks_something_is_skipped_and_the_others_run(monkeypatch, tmp_path):
    def lacking(chosen):
        yield table()
        raise UnavailableError("no maps")

    parts = {"lacking": lacking, "good": lambda chosen: iter([table()])}
    monkeypatch.setattr(bench, "PARTS", parts)
    assert exit_code(bench.main, ["lacking", "good", "--output", str(tmp_path)]) == 0
    content = json.loads((tmp_path / "bench-lacking-good.json").read_text(encoding="utf-8"))
    assert len(content["tables"]) == 2
    assert content["skipped"] == ["lacking: no maps"]


def test_run_that_cannot_go_on_ends_with_2(monkeypatch, tmp_path):
    monkeypatch.setattr(bench, "PARTS", {"good": lambda chosen: iter([table()])})
    (tmp_path / "file").touch()
    assert exit_code(bench.main, ["--output", str(tmp_path / "file")]) == 2
    with pytest.raises(SystemExit, match="2"):
        bench.main(["speed", "--output", str(tmp_path)])
