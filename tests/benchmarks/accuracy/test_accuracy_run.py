"""Whole runs on tiny maps: predictions are made once, survive, and give the same tables."""

from __future__ import annotations

import csv
import io
import subprocess
import sys

import numpy as np
import pytest

from benchmarks.accuracy import __main__ as accuracy
from benchmarks.accuracy import lens, tables, workers
from benchmarks.accuracy.__main__ import TITLES, main
from benchmarks.accuracy.experiments import MADE, PREPROCESSED
from benchmarks.accuracy.formulation import PARTS
from benchmarks.accuracy.inputs import Source
from benchmarks.accuracy.predictions import Cache, Task
from benchmarks.accuracy.settings import Settings
from benchmarks.published import known_remarks, published_tables
from rayrelief import RayPlane

INPUTS = 2  # all objects but harvest are one and the same map
METHODS = len(MADE["gamma"]) + len(MADE["midpoint"]) - 1  # one row is in both tables


def records(files, name):
    return list(csv.DictReader(io.StringIO(files[name].decode())))


def test_every_table_is_printed_and_written(run, results, written, predicted, two_draws, capsys):
    assert run() == 0
    out, err = capsys.readouterr()
    assert f"diligent_mv: skipped, there is no folder {results.parent / 'data'}" in err
    shown = {name: title for name, title in TITLES.items() if name != "diligent_mv"}
    files = written(results)
    text = files["paper-quick.md"].decode()
    assert out.rstrip("\n") in text
    for title in filter(None, shown.values()):
        assert text.count(f"## {title}\n") == 1
    remarks = known_remarks()
    assert text.count(f"\n- {remarks['formulation']}\n") == len(PARTS)
    assert all(text.count(f"\n- {remarks[f'formulation/{part}']}\n") == 1 for part in PARTS)
    found = {name.split("-")[1] for name in files if name.endswith(".csv")}
    assert found == set(shown)
    made = records(files, "paper-made-quick.csv")
    known = published_tables()["table2"]
    assert len(made) == (len(known["rows"]) + 1) * len(known["objects"])
    assert {line["row"] for line in made if not line["ours"]} == {"bini_from_paper", "kim"}
    assert {line["row"] for line in made if line["printed"] == "-"} == {"default"}


def test_second_run_predicts_nothing_and_gives_the_same_files(run, results, written, predicted):
    run("gamma", "rotations")
    first, count = written(results), len(predicted)
    run("gamma", "rotations")
    assert len(predicted) == count > 0
    assert written(results) == first


def test_fresh_run_gives_the_same_files(run, tmp_path, written, predicted):
    run("made", "rotations", folder=tmp_path / "one")
    run("made", "rotations", folder=tmp_path / "other")
    assert written(tmp_path / "one") == written(tmp_path / "other")
    assert len(predicted) == 2 * len(set(predicted))


def test_rows_that_tables_share_are_predicted_once(run, predicted):
    run("gamma", "midpoint")
    assert len(predicted) == len(set(predicted)) == METHODS * INPUTS


def test_noise_has_five_seeds_for_each_cell(run, results, written, predicted):
    run("outliers", "--objects", "harvest")
    levels = published_tables()["outliers"]["percent"]
    assert len(predicted) == len(set(predicted)) == 5 * len(levels) * len(PREPROCESSED)
    for line in records(written(results), "paper-outliers-quick.csv"):
        quartiles = [float(line[name]) for name in ("lower_quartile", "ours", "upper_quartile")]
        assert quartiles == sorted(quartiles)


def test_interrupted_run_goes_on(run, predicted, monkeypatch, capsys):
    def interrupt(progress):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(workers.Progress, "advance", interrupt)
        assert run("gamma", "midpoint") == 130
    assert "interrupted: what is finished is kept" in capsys.readouterr().err
    assert 0 < len(predicted) < METHODS * INPUTS
    assert run("gamma", "midpoint") == 0
    assert len(predicted) == len(set(predicted)) == METHODS * INPUTS


def test_run_of_a_batch_job_that_ends_says_how_to_go_on(data, results):
    lines = (
        "import os, runpy, signal, sys",
        "from benchmarks.accuracy import workers",
        "workers.predict_missing = lambda *_: os.kill(os.getpid(), signal.SIGTERM)",
        f"sys.argv = ['', 'made', '--output', {str(results)!r}]",
        "runpy.run_module('benchmarks.accuracy', run_name='__main__')",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)
    assert done.returncode == 130
    assert done.stderr == (
        "... interrupted: what is finished is kept, the same command goes on from there\n"
    )


def test_missed_limits_are_told(run, results, predicted, monkeypatch, capsys):
    limits = {"gamma": {"full_full": {"cow": (1e9, 2e9), "bear": (0, 1e9)}}}
    monkeypatch.setattr(accuracy, "limits_of", lambda table, _: limits.get(table, {}))
    assert run("gamma", "midpoint") == 1
    *_, head, line = capsys.readouterr().out.splitlines()
    assert head == "limits that are missed:"
    assert line.startswith("- full_full on cow, MADE in mm: ")
    assert (results / "paper-gamma-midpoint-quick.md").exists()


def test_share_of_cells_that_come_out_is_held_to_its_limit(run, predicted, monkeypatch, capsys):
    monkeypatch.setattr(Settings, "held_to_limits", property(lambda _: True))
    monkeypatch.setattr(accuracy, "limits_of", lambda *_: {})
    monkeypatch.setattr(tables, "LEAST_SHARE", 1.01)
    assert run(*MADE) == 1
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith("- share of the cells within: 0.")
    monkeypatch.setattr(tables, "LEAST_SHARE", 0.0)
    assert run(*MADE) == 0


def test_time_of_all_predictions_is_told(run, results, predicted, capsys):
    run("gamma", "--objects", "cow")
    count = len(predicted)
    run("gamma", "midpoint", "--objects", "cow")
    spent = sum(float(np.load(path)["seconds"]) for path in (results / "predictions").iterdir())
    line = f"... {METHODS} predictions, {METHODS - count} of them made now; all took"
    shown = capsys.readouterr().err
    assert f"{line} {workers._duration(spent)} of one core\n" in shown


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "no archive", "a field is missing"])
def test_broken_prediction_is_made_anew(run, results, written, predicted, damage):
    run("gamma", "--objects", "cow")
    first = written(results)
    path = min((results / "predictions").iterdir())
    content = bytearray(path.read_bytes())
    if damage == "empty":
        content.clear()
    elif damage == "cut":
        del content[len(content) // 2 :]
    elif damage == "flipped":
        content[len(content) // 3] ^= 0xFF
    elif damage == "no archive":
        content[:] = b"depth"
    path.write_bytes(content)
    if damage == "a field is missing":
        np.savez(path, depth=np.ones((2, 2)))
    count = len(predicted)
    run("gamma", "--objects", "cow")
    assert predicted[count:] == [path.stem]
    assert written(results) == first


def test_principal_point_has_predictions_and_files_of_its_own(run, results, written, predicted):
    run("gamma", "--objects", "cow")
    run("gamma", "--objects", "cow", "--principal-point", "paper")
    assert len(set(predicted)) == 2 * len(MADE["gamma"])
    assert {"paper-gamma-quick.md", "paper-gamma-moved-quick.md"} < set(written(results))


def test_processes_give_the_tables_of_a_thread(run, tmp_path, written, predicted, monkeypatch):
    run("made", "--objects", "cow", folder=tmp_path / "thread")
    count = len(predicted)
    monkeypatch.undo()  # predictions leave this process; the data must still be found
    monkeypatch.setenv("RAYRELIEF_DATA", str(tmp_path / "data"))
    run("made", "--objects", "cow", "--workers", "2", folder=tmp_path / "processes")
    assert len(predicted) == count
    assert written(tmp_path / "processes") == written(tmp_path / "thread")


def test_worker_drops_what_it_is_doing_when_asked(data, tmp_path):
    cache = Cache(tmp_path / "predictions")
    endless = RayPlane.published(100_000)  # far beyond the moment of asking
    with workers.worker_pool(1) as pool:
        first = pool.submit(workers.work, Task(Source("cow"), RayPlane(), "first"), cache)
        pool.submit(workers.work, Task(Source("cow"), endless, "endless"), cache)
        first.result()
    assert cache.load("first") is not None
    assert cache.load("endless") is None


def test_workers_end_with_the_process_that_started_them():
    lines = (
        "import os",
        "from benchmarks.accuracy import workers",
        "if __name__ == '__main__':",
        "    with workers.worker_pool(1) as pool:",
        "        print(pool.submit(os.getpid).result(), flush=True)",
        "        os._exit(9)",
    )
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, timeout=60
    )  # would wait for the output of a worker that lives on
    assert done.returncode == 9


def test_what_is_not_known_is_refused_in_one_line(data, results):
    with pytest.raises(SystemExit) as refusal:
        main(["made", "table7", "--output", str(results)])
    assert str(refusal.value) == f"unknown tables table7; there are {', '.join(TITLES)}"
    assert not results.exists()


def test_noise_without_its_object_is_refused_by_name(run, predicted, capsys):
    with pytest.raises(SystemExit, match="rotations are added to harvest, which is left out"):
        run("rotations", "--objects", "cow")
    assert not predicted


def test_data_that_is_not_there_is_asked_for(results, monkeypatch):
    monkeypatch.delenv("RAYRELIEF_DATA", raising=False)
    for table in ("made", "formulation"):
        with pytest.raises(SystemExit, match="RAYRELIEF_DATA does not name"):
            main([table, "--output", str(results)])


def test_run_of_all_tables_passes_over_those_without_data(run, predicted, monkeypatch, capsys):
    monkeypatch.delenv("RAYRELIEF_DATA")
    monkeypatch.setattr(lens, "OBJECTS", ("tori",))
    assert run() == 0
    assert len(predicted) == len(lens.WAYS)
    err = capsys.readouterr().err
    for table in set(TITLES) - {"lens"}:
        assert err.count(f"... {table}: skipped, ") == 1
