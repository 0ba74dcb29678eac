"""Tables and limits: what holds, what is shown, what is written, and the exit code."""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import __main__ as bench
from benchmarks import environment, timing
from benchmarks.report import Check, Column, Report, Table, UnavailableError, write_text
from benchmarks.settings import Settings

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


def table(*checks, rows=((1.0,),)):
    return Table("a title", "a command", (Column("seconds", ".2f"),), rows, checks=checks)


@given(NUMBERS, NUMBERS)
def test_limits_are_what_they_say(found, limit):
    assert Check("", found, at_most=limit).holds == (found <= limit)
    assert Check("", found, at_least=limit).holds == (found >= limit)
    assert Check("", found, below=limit).holds == (found < limit)


@pytest.mark.parametrize("limit", ["at_least", "at_most", "below"])
@pytest.mark.parametrize("found", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_meets_no_limit(found, limit):
    assert not Check("", found, **{limit: 1.0}).holds


def test_aim_is_shown_but_not_held_to():
    check = Check("cycles", 40, at_most=60, aim=30)
    assert check.holds
    assert "| cycles | 40 | at most 60 | 30 | yes |" in table(check).to_markdown()


def test_markdown_has_one_cell_for_each_column():
    heads = Column("a|b"), Column("n", ",d"), Column("x", ".1f")
    rows = (("c|d", 1234, None), ("e", 5, math.nan))
    lines = Table("t", "c", heads, rows).to_markdown().splitlines()[2:6]
    assert lines == [
        r"| a\|b | n | x |",
        "| --- | --- | --- |",
        r"| c\|d | 1,234 | - |",
        "| e | 5 | - |",
    ]


def test_report_reads_back_as_json(tmp_path):
    missed, held = Check("one", math.nan, below=1.0), Check("other", 1 / 3, at_most=1.0)
    report = Report({"python": "3"}, [table(missed, held, rows=((1 / 3,), (None,)))], ["maps: no"])
    report.write(tmp_path / "new", "bench")
    content = json.loads((tmp_path / "new" / "bench.json").read_text(encoding="utf-8"))
    assert content["tables"][0]["rows"] == [[1 / 3], [None]]
    assert [check["holds"] for check in content["tables"][0]["checks"]] == [False, True]
    assert content["missed"] == ["one: nan, limit below 1"]
    assert content["skipped"] == ["maps: no"]
    assert "**no**" in (tmp_path / "new" / "bench.md").read_text(encoding="utf-8")


def test_text_is_written_whole_or_not_at_all(monkeypatch, tmp_path):
    path, write = tmp_path / "page.md", Path.write_text
    write_text(path, "old")

    def half(self, text, *args, **kwargs):
        write(self, text[: len(text) // 2])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", half)
    with pytest.raises(KeyboardInterrupt):
        write_text(path, "new text")
    assert [each.name for each in tmp_path.iterdir()] == ["page.md"]
    assert path.read_bytes() == b"old"


def test_environment_names_versions_and_hardware():
    found = environment.environment()
    assert all(found.values())
    assert {"date", "commit", "python", "numba", "processor", "cores", "memory"} <= set(found)


def test_folder_without_git_has_no_commit(tmp_path):
    assert environment.commit(tmp_path) is None


def test_best_time_is_the_least_within_the_budget(monkeypatch):
    clock = iter([0.0, 2.0, 2.0, 3.0, 3.0, 6.0])  # 2, 1 and 3 seconds: then the budget is used up
    monkeypatch.setattr(timing.time, "perf_counter", lambda: next(clock))
    assert timing.best_seconds(lambda: None) == 1.0
    assert next(clock, None) is None


@given(
    st.builds(
        Settings,
        st.lists(st.sampled_from(["bear", "cow"]), max_size=2, unique=True).map(tuple),
        st.integers(1, 2000),
        st.integers(1, 2000),
        st.lists(st.integers(8, 9000), min_size=1, max_size=3).map(tuple),
    )
)
def test_command_reproduces_the_settings(settings):
    words = shlex.split(settings.command("maps"))
    assert words[:3] == ["python", "-m", "benchmarks"]
    options = vars(bench.parser().parse_args(words[3:]))
    assert options.pop("parts") == ["maps"]
    options.pop("output")
    assert Settings(**options) == settings


@pytest.mark.parametrize(("found", "code"), [(1.0, 0), (3.0, 1)])
def test_exit_code_says_whether_a_limit_is_missed(monkeypatch, tmp_path, capsys, found, code):
    check = Check("width", found, at_most=2.0)
    monkeypatch.setattr(bench, "PARTS", {"good": lambda settings: iter([table(check)])})
    assert bench.main(["--output", str(tmp_path)]) == code
    assert ("- width: 3, limit at most 2" in capsys.readouterr().out) == bool(code)
    assert (tmp_path / "bench.md").exists()


def test_part_that_lacks_something_is_skipped_and_the_others_run(monkeypatch, tmp_path, capsys):
    def lacking(settings):
        yield table()
        raise UnavailableError("no maps")

    parts = {"lacking": lacking, "good": lambda settings: iter([table()])}
    monkeypatch.setattr(bench, "PARTS", parts)
    assert bench.main(["lacking", "good", "--output", str(tmp_path)]) == 0
    assert "skipped: lacking: no maps" in capsys.readouterr().out
    content = json.loads((tmp_path / "bench-lacking-good.json").read_text(encoding="utf-8"))
    assert len(content["tables"]) == 2
    assert content["skipped"] == ["lacking: no maps"]


def test_report_that_cannot_be_written_is_told_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(bench, "PARTS", {"good": lambda settings: iter([table()])})
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit, match=r"^error: .*file"):
        bench.main(["--output", str(tmp_path / "file")])


def test_unknown_part_is_refused(tmp_path):
    with pytest.raises(SystemExit, match=r"'speed'.*there are maps, systems, scaling"):
        bench.main(["speed", "--output", str(tmp_path)])
