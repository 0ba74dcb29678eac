"""Tables with both principal points."""

from __future__ import annotations

import csv
import math

import pytest

from benchmarks.accuracy.experiments import MADE
from benchmarks.accuracy.points import points_summary, points_text, sheet_of_points
from benchmarks.accuracy.tables import ALL, ONCE, Scored


def scored(printed: str, file: float, paper: float, column: str = "bear", key: str = "") -> Scored:
    return Scored("row", column, printed, (file, paper), {}, key)


def test_text_marks_what_comes_out_as_printed() -> None:
    assert points_text(scored("0.40", 0.404, 0.5)) == "**0.404** / 0.500 / 0.40"
    assert points_text(scored("0.40", 0.406, 0.396)) == "0.406 / **0.396** / 0.40"
    assert points_text(scored("-", 0.4, 0.4)) == "0.400 / 0.400 / -"
    assert points_text(scored("0.40", math.nan, 0.5)) == "- / 0.500 / 0.40"


def test_summary_counts_the_cells_of_either_point() -> None:
    cells = [
        scored("0.40", 0.40, 0.45, key="a"),  # as printed, then within
        scored("0.40", 0.45, 0.40, key="b"),  # the other way round
        scored("0.40", 0.45, 0.46, key="c"),  # within, then farther
        scored("0.40", 0.45, 0.90, key="d"),  # and beyond
        scored("0.40", 0.90, 0.42, key="e"),
        scored("0.40", 0.45, math.nan, key="f"),
        scored("0.40", 0.42, 0.42, key="g"),  # none is closer
        scored("0.40", 0.35, 0.42, key="b"),  # closer; a setting that was there
        scored("0.40", 0.40, 0.40, column="goblet"),
        scored("-", 0.40, 0.40),
    ]
    sheet = points_summary([sheet_of_points("gamma", "", cells)], "again")
    assert sheet is not None
    counts = (8, 1, 7, 7 / 8, 4, 1, 6, 6 / 8, 3)
    once = (7, 1, 6, 6 / 7, 4, 1, 5, 5 / 7, 2)
    assert sheet.table.rows == (("gamma", *counts), (ALL, *counts), (ONCE, *once))


def test_run_that_ended_badly_is_told_with_its_point() -> None:
    cell = Scored("row", "cow", "0.40", (0.4, 0.5), {1: "it ended badly"})
    notes = sheet_of_points("gamma", "", [cell]).table.notes
    assert notes[-1] == "row, cow, paper: it ended badly"
    assert sum("badly" in note for note in notes) == 1


def test_without_a_stable_object_there_is_no_summary() -> None:
    cells = [scored("0.40", 0.40, 0.40, column="harvest")]
    assert points_summary([sheet_of_points("gamma", "", cells)], "again") is None


def test_both_points_beside_each_other(run, results, written, predicted, capsys) -> None:
    chosen = ("made", "--objects", "harvest,cow")
    run(*chosen)
    run(*chosen, "--principal-point", "paper")
    alone = list(predicted)
    assert run(*chosen, "--principal-point", "both") == 0
    assert predicted == alone  # nothing anew

    again = "Again: `python -m benchmarks.accuracy --principal-point both made --objects harvest"
    assert again in capsys.readouterr().out
    files = {
        name: list(csv.DictReader(content.decode().splitlines()))
        for name, content in written(results).items()
    }
    stem = "harvest-cow-16_iterations"
    page = written(results)[f"paper-points-made-{stem}.md"].decode()
    command = "python -m benchmarks.accuracy --principal-point both made --objects harvest,cow"
    assert page.startswith(f"# The tables of MADE with either principal point\n\n`{command} ")
    heads = ("as printed", "within", "share", "closer")
    of_points = " | ".join(f"{point}: {head}" for point in ("K.txt", "paper") for head in heads)
    assert f"| table | cells | {of_points} |" in page
    (cell,) = (line for line in files[f"paper-points-summary-made-{stem}.csv"][:1])
    assert (cell["table"], cell["cells"]) == ("made", "6")
    assert "## made: MADE in mm with the principal point of K.txt / of the paper / printed" in page

    lines = files[f"paper-points-made-{stem}.csv"]
    assert {line["row"] for line in lines} == set(MADE["made"])
    for name, other in (
        ("K.txt", files[f"paper-made-{stem}.csv"]),
        ("paper", files[f"paper-made-moved-{stem}.csv"]),
    ):
        ours = [(line["row"], line["column"], line["ours"]) for line in other if line["ours"]]
        assert [(line["row"], line["column"], line[name]) for line in lines] == ours
    assert any(line["K.txt"] != line["paper"] for line in lines)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--spread",), "--spread perturbs one principal point: file or paper"),
        (
            ("lens",),
            "unknown tables with --principal-point both: lens; there are " + ", ".join(MADE),
        ),
    ],
)
def test_what_has_no_two_points_is_refused(run, words: tuple[str, ...], message: str) -> None:
    with pytest.raises(SystemExit) as refusal:
        run("--principal-point", "both", *words)
    assert str(refusal.value) == message
