"""Whole runs on tiny maps: predictions are made once, survive, and give the same tables."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.accuracy import __main__ as accuracy
from benchmarks.accuracy import figures, tables, workers
from benchmarks.accuracy.experiments import MADE, PREPROCESSED
from benchmarks.accuracy.inputs import Settings, Source
from benchmarks.accuracy.predictions import Cache, Task, library_state
from benchmarks.diligent import OBJECTS
from benchmarks.published import PUBLISHED
from rayrelief import RayPlane

INPUTS = 2  # all objects but harvest are one and the same map
METHODS = len(MADE["gamma"]) + len(MADE["midpoint"]) - 1  # one row is in both tables


def test_every_table_is_in_the_report(data, run, results, records, predicted, monkeypatch):
    monkeypatch.setattr(figures, "FIGURES", {})  # they have tests of their own
    assert run() == 0
    text = (results / "paper-16_iterations.md").read_text(encoding="utf-8")
    for table, title in accuracy.TITLES.items():
        assert text.count(f"## {title}\n") == (table != "formulation")
    found = [each for each in records("paper") if each.get("table") == "made"]
    assert len(found) == (len(PUBLISHED["table2"]["rows"]) + 2) * len(OBJECTS)
    assert {each["row"] for each in found if not each["made"]} == {"bini_from_paper"}
    assert {each["row"] for each in found if each["printed"] == "-"} == {"ray_plane", "ordered"}
    noise = [each for each in records("paper") if each.get("table") == "outliers"]
    assert len(noise) == len(PUBLISHED["outliers"]["percent"]) * len(PREPROCESSED)
    assert all(len(set(each["made"])) == 5 for each in noise)


def test_second_run_predicts_nothing_and_gives_the_same_files(data, run, written, predicted):
    run("gamma", "rotations")
    first, count = written(), len(predicted)
    run("gamma", "rotations")
    assert len(predicted) == count > 0
    assert written() == first


def test_interrupted_run_goes_on_and_predicts_nothing_twice(data, run, predicted, monkeypatch):
    def interrupt(futures):
        next(futures_as_completed(futures)).result()
        raise KeyboardInterrupt

    futures_as_completed = workers.as_completed
    with monkeypatch.context() as patch:
        patch.setattr(workers, "as_completed", interrupt)
        assert run("gamma", "midpoint") == 130
    assert 0 < len(predicted) < METHODS * INPUTS
    assert run("gamma", "midpoint") == 0
    assert len(predicted) == len(set(predicted)) == METHODS * INPUTS


def test_end_of_a_batch_job_is_an_interruption(data, results):
    lines = (
        "import os, runpy, signal, sys",
        "from benchmarks.accuracy import workers",
        "workers.predict_missing = lambda *_: os.kill(os.getpid(), signal.SIGTERM)",
        f"sys.argv = ['', 'made', '--objects', 'cow', '--output', {str(results)!r}]",
        "runpy.run_module('benchmarks.accuracy', run_name='__main__')",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)
    assert done.returncode == 130
    assert "the same command goes on" in done.stderr


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "no archive", "a field is missing"])
def test_broken_prediction_is_made_anew(data, run, results, written, predicted, damage):
    run("gamma", "--objects", "cow")
    first = written()
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
    assert written() == first


def test_other_settings_have_predictions_and_files_of_their_own(data, run, written, predicted):
    run("gamma", "--objects", "cow")
    first = written()
    run("gamma", "--objects", "cow", "--principal-point", "paper")
    run("gamma", "--objects", "cow,harvest")
    assert first.items() < written().items()
    assert len(written()) == 3 * len(first)
    assert len(predicted) == len(set(predicted)) == 3 * len(MADE["gamma"])


def test_missed_limits_end_with_1(data, run, predicted, monkeypatch, capsys):
    monkeypatch.setattr(Settings, "held_to_limits", property(lambda _: True))
    monkeypatch.setitem(PUBLISHED["table2"], "limits", {"ray_plane": {"cow": (1e9, 2e9)}})
    monkeypatch.setattr(tables, "LEAST_SHARE", 0.0)
    assert run(*MADE) == 1
    assert "\n- ray_plane on cow, MADE in mm: " in capsys.readouterr().out
    monkeypatch.setitem(PUBLISHED["table2"], "limits", {"ray_plane": {"cow": (0.0, 1e9)}})
    assert run(*MADE) == 0
    monkeypatch.setattr(tables, "LEAST_SHARE", 1.01)
    assert run(*MADE) == 1
    assert "\n- share of the cells within: " in capsys.readouterr().out


@pytest.mark.usefixtures("kernels_of_the_tests")
def test_processes_give_the_tables_of_a_thread(data, run, results, written, request):
    arguments = ("made", "--objects", "cow")
    run(*arguments, "--workers", "2")
    first = written()
    shutil.rmtree(results)
    predicted = request.getfixturevalue("predicted")  # from here on in a thread
    run(*arguments, "--workers", "2")
    assert len(predicted) == len(MADE["made"])
    assert written() == first


@pytest.mark.usefixtures("kernels_of_the_tests")
def test_worker_drops_what_it_is_doing_when_asked(data, tmp_path):
    cache = Cache(tmp_path / "predictions")
    short = Task(Source("cow"), RayPlane())
    endless = replace(short, method=RayPlane.published(100_000))  # beyond the moment of asking
    with workers.worker_pool(1, cache) as pool:
        first = pool.submit(workers.work, short, cache)
        pool.submit(workers.work, endless, cache)
        first.result()
    assert cache.load(short.key) is not None
    assert cache.load(endless.key) is None


def test_workers_end_with_the_process_that_started_them():
    lines = (
        "import os, pathlib",
        "from benchmarks.accuracy import predictions, workers",
        "if __name__ == '__main__':",
        "    cache = predictions.Cache(pathlib.Path('never'))",
        "    with workers.worker_pool(1, cache) as pool:",
        "        print(pool.submit(os.getpid).result(), flush=True)",
        "        os._exit(9)",
    )
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, timeout=600
    )  # would wait for the output of a worker that lives on
    assert done.returncode == 9


@pytest.mark.parametrize("name", [None, "elsewhere"])
def test_workers_have_one_thread_and_kernels_of_this_state_alone(tmp_path, monkeypatch, name):
    before = None if name is None else str(tmp_path / name)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    if before is not None:
        monkeypatch.setenv("NUMBA_CACHE_DIR", before)
    with workers.worker_pool(1, Cache(tmp_path / "predictions")) as pool:
        names = ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_CACHE_DIR")
        *threads, kernels = pool.map(os.getenv, names)
        assert pool.submit(signal.getsignal, signal.SIGINT).result() == signal.SIG_IGN
    assert threads == ["1", "1"]
    assert kernels == str(
        (tmp_path / "kernels" if before is None else Path(before)) / library_state()
    )
    assert os.environ.get("NUMBA_CACHE_DIR") == before


@pytest.mark.parametrize(
    "words",
    [
        ("table7",),
        ("--spread", "outliers"),
        ("made", "--objects", "sheep"),
        ("--workers", "0"),
    ],
)
def test_what_is_not_known_is_refused(data, run, results, words):
    with pytest.raises(SystemExit) as end:
        run(*words)
    assert end.value.code == 2
    assert not results.exists()


def test_run_that_can_make_nothing_ends_with_2(run, results, predicted, monkeypatch, capsys):
    monkeypatch.delenv("RAYRELIEF_DATA", raising=False)
    assert run("made") == 2
    assert "RAYRELIEF_DATA does not name" in capsys.readouterr().err
    assert not list(results.glob("*.md"))
    assert run() == 0  # of all tables the lens alone needs no data
    assert [path.name for path in results.glob("*.md")] == ["paper-lens-16_iterations.md"]


def test_folder_that_cannot_be_written_to_is_told_first(data, run, tmp_path, predicted, capsys):
    (tmp_path / "file").write_text("")
    assert run("gamma", "--objects", "cow", folder=tmp_path / "file") == 2
    assert "cannot be written to" in capsys.readouterr().err
    assert not predicted
