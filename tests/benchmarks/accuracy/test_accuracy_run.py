"""Whole runs on tiny maps: predictions are made once, survive, and give the same tables."""

from __future__ import annotations

import csv
import io
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.accuracy import lens, suites, tables, workers
from benchmarks.accuracy.__main__ import main
from benchmarks.accuracy.experiments import MADE, PREPROCESSED
from benchmarks.accuracy.formulation import PARTS
from benchmarks.accuracy.inputs import Source
from benchmarks.accuracy.predictions import Cache, Task, input_digest, library_state
from benchmarks.accuracy.settings import Settings
from benchmarks.accuracy.suites import TITLES
from benchmarks.published import known_remarks, published_tables
from rayrelief import RayPlane

INPUTS = 2  # all objects but harvest are one and the same map
METHODS = len(MADE["gamma"]) + len(MADE["midpoint"]) - 1  # one row is in both tables


def records(files, name):
    return list(csv.DictReader(io.StringIO(files[name].decode())))


def test_every_table_is_printed_and_written(run, results, written, predicted, two_draws, capsys):
    assert run() == 0
    out, err = capsys.readouterr()
    missing = f"skipped: diligent_mv, there is no folder {results.parent / 'data'}"
    assert f"... {missing}" in err
    shown = {name: title for name, title in TITLES.items() if name != "diligent_mv"}
    files = written(results)
    text = files["paper-16_iterations.md"].decode()
    assert out.rstrip("\n") in text
    assert f"\n- {missing}" in text
    assert text.count("16 iterations instead of 1200") == text.count("\n## ") - len(PARTS)
    for title in filter(None, shown.values()):
        assert text.count(f"## {title}\n") == 1
    remarks = known_remarks()
    assert text.count(f"\n- {remarks['formulation']}\n") == len(PARTS)
    assert all(text.count(f"\n- {remarks[f'formulation/{part}']}\n") == 1 for part in PARTS)
    found = {name.split("-")[1] for name in files if name.endswith(".csv")}
    assert found == {*shown, "summary"}
    made = records(files, "paper-made-16_iterations.csv")
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
    for line in records(written(results), "paper-outliers-harvest-16_iterations.csv"):
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


def test_interrupted_run_leaves_the_finished_page_alone(
    run, results, written, predicted, monkeypatch
):
    page, unfinished = (
        f"paper-gamma-midpoint-16_iterations{end}.md" for end in ("", "-unfinished")
    )

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(suites, "summary", interrupt)
        assert run("gamma", "midpoint") == 130
    begun = written(results)
    assert page not in begun
    assert begun[unfinished].count(b"\n## ") == 2
    assert run("midpoint", "gamma", "midpoint") == 0  # in whatever order, and once
    finished = written(results)
    assert unfinished not in finished
    assert finished[page].startswith(begun[unfinished].rstrip())
    with monkeypatch.context() as patch:
        patch.setattr(suites, "summary", interrupt)
        assert run("gamma", "midpoint") == 130
    assert written(results)[page] == finished[page]


def test_other_settings_have_files_of_their_own(run, results, written, predicted):
    run("gamma", "--objects", "cow")
    first = written(results)
    run("gamma", "--objects", "cow, pot2,cow")
    found = written(results)
    assert first.items() < found.items()
    stem = "gamma-cow-pot2-16_iterations"
    new = {f"paper-{stem}.md", f"paper-{stem}.csv", f"paper-summary-{stem}.csv"}
    assert set(found) - set(first) == new


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
    monkeypatch.setattr(suites, "limits_of", lambda table, _: limits.get(table, {}))
    assert run("gamma", "midpoint") == 1
    *_, head, line = capsys.readouterr().out.splitlines()
    assert head == "limits that are missed:"
    assert line.startswith("- full_full on cow, MADE in mm: ")
    assert (results / "paper-gamma-midpoint-16_iterations.md").exists()


def test_share_of_cells_that_come_out_is_held_to_its_limit(run, predicted, monkeypatch, capsys):
    monkeypatch.setattr(Settings, "held_to_limits", property(lambda _: True))
    monkeypatch.setattr(suites, "limits_of", lambda *_: {})
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
    assert f"{line} {workers._duration(spent)} of one worker\n" in shown


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
    names = {f"paper-gamma-{point}cow-16_iterations.md" for point in ("", "moved-")}
    assert names < set(written(results))


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
    digest = input_digest(Source("cow").scene())
    short = Task(Source("cow"), digest, RayPlane(), "")
    endless = replace(short, method=RayPlane.published(100_000))  # beyond the moment of asking
    with workers.worker_pool(1) as pool:
        first = pool.submit(workers.work, short, cache)
        pool.submit(workers.work, endless, cache)
        first.result()
    assert cache.load(short.key) is not None
    assert cache.load(endless.key) is None


def test_progress_counts_and_tells_the_time_left(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(workers.time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    bar = workers.Progress(total=10, done=4, what="predictions", stream=stream, began=100.0)
    for passed in (30.0, 60.0):
        now[0] = 100.0 + passed
        bar.advance()
    assert stream.getvalue().splitlines() == [
        "... 5 / 10 predictions, 0:02:30 left",
        "... 6 / 10 predictions, 0:02:00 left",
    ]


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


def test_source_that_changes_during_a_run_is_noticed(run, predicted, monkeypatch):
    monkeypatch.setattr(workers, "library_state", lambda: "another")
    with pytest.raises(SystemExit, match="the source has changed during the run"):
        run("gamma", "--objects", "cow")
    assert not predicted


@pytest.mark.parametrize("before", [None, "3"])
def test_workers_have_one_thread_and_leave_the_keys_to_their_parent(tmp_path, monkeypatch, before):
    names = ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_CACHE_DIR")
    for name in names:
        monkeypatch.delenv(name, raising=False)
        if before is not None:
            monkeypatch.setenv(name, before)
    before_all = signal.signal(signal.SIGINT, signal.default_int_handler)
    with workers._conditions_of_workers(Cache(tmp_path / "predictions")):
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        threads = [os.environ[name] for name in names[:2]]
        kernels = os.environ[names[2]]
    assert threads == ["1", "1"]
    own = tmp_path / "kernels" if before is None else Path(before)
    assert kernels == str(own / library_state())  # never those of another state
    assert signal.signal(signal.SIGINT, before_all) is signal.default_int_handler
    assert [os.environ.get(name) for name in names] == [before] * 3


def test_what_is_not_known_is_refused_in_one_line(data, results):
    with pytest.raises(SystemExit) as refusal:
        main(["made", "table7", "--output", str(results)])
    assert str(refusal.value) == f"unknown tables: table7; there are {', '.join(TITLES)}"
    assert not results.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("table7",), "unknown tables: table7; there are "),
        (("made", "--objects", "sheep"), "unknown objects ['sheep']; there are bear, "),
        (("--iterations", "few"), "error: argument --iterations: few is no number from 1 upwards"),
        (("--workers", "0"), "error: argument --workers: 0 is no number from 1 upwards"),
        (("--objects", ","), "error: argument --objects: ',' has an empty name"),
    ],
)
def test_refusals_end_with_2(data, results, words, message):
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.accuracy", *words, "--output", str(results)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert message in done.stderr.splitlines()[-1]
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


def test_run_of_all_tables_passes_over_those_without_data(
    run, results, written, predicted, monkeypatch, capsys
):
    monkeypatch.delenv("RAYRELIEF_DATA")
    monkeypatch.setattr(lens, "OBJECTS", ("tori",))
    assert run() == 0
    assert len(predicted) == len(lens.WAYS)
    err = capsys.readouterr().err
    for table in set(TITLES) - {"lens"}:
        assert err.count(f"... skipped: {table}, ") == 1
    assert set(written(results)) == {f"paper-lens-16_iterations.{end}" for end in ("csv", "md")}


def test_run_that_can_make_nothing_is_refused(run, results, monkeypatch):
    monkeypatch.delenv("RAYRELIEF_DATA")
    with pytest.raises(SystemExit, match="nothing can be made; made, RAYRELIEF_DATA does not name"):
        run("--spread")
    assert not results.exists()
