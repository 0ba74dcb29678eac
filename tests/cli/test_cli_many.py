"""rayrelief integrate with several maps: rows, files, and that nothing is done twice."""

from __future__ import annotations

import csv
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from rayrelief.batch.base import Share
from rayrelief.cli.runs.one_of_many import OneOfMany
from rayrelief.io.images import read_image
from rayrelief.synthetic import gallery
from rayrelief.synthetic.surroundings import wavy_relief
from reference.layout import write_layout

FAST = ("--max-iterations", 2, "--depth-format", "npy", "--mesh-format", "none")
LEFT = "left from an earlier run"
TIMEOUT = 600  # seconds: only a run that hangs gets there


class Here(Executor):
    """Runs a task when it is handed over."""

    def submit(self, task: Any, /, *arguments: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(task(*arguments))
        return future


class Engine:
    """This process, as an engine: the seam has no other members."""

    at_a_time = 3
    memory: int | None = None

    def executor(self):
        return nullcontext(Here())

    def share(self):
        return Share(1, self.memory)


@pytest.fixture
def here(monkeypatch):
    engine = Engine()
    monkeypatch.setattr("rayrelief.cli.runs.many.engine_for", lambda *_: engine)
    return engine


@pytest.fixture
def maps(tmp_path):
    """Folder of folders: two good maps, and one that is not."""
    root = tmp_path / "maps"
    write_layout(root / "a", gallery.plane(12, 16))
    write_layout(root / "deep" / "b", gallery.sphere(12, 16))
    write_layout(root / "bad", gallery.plane(12, 16))
    (root / "bad" / "normal_map.png").write_bytes(b"no picture")
    return root


def rows_of(out):
    with open(out / "summary.csv", newline="", encoding="utf-8") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def when_written(out):
    return {
        path.parent.relative_to(out).as_posix(): path.stat().st_mtime_ns
        for path in out.rglob("report.json")
    }


def test_one_bad_map_is_a_row_and_not_the_end(here, run, maps, out, read_report):
    ended = run("integrate", maps, "-o", out, *FAST)
    assert ended.code == 1
    (error,) = ended.lines("error: ")
    rows = rows_of(out)
    assert rows["bad"]["outcome"] == "failed"
    assert rows["bad"]["message"] in error
    for name in ("a", "deep/b"):
        report = read_report(out / name)
        assert rows[name]["outcome"] == report["status"]["outcome"]
        assert float(rows[name]["angle_degrees"]) == report["mean_angle_degrees"]
        assert float(rows[name]["made"]) == report["errors"]["made"]
    assert read_image(out / "contact_sheet.png").ndim == 3


def test_a_map_of_many_has_the_files_of_one_alone(here, run, maps, out):
    run("integrate", maps, "-o", out / "many", *FAST)
    run("integrate", maps / "deep" / "b", "-o", out / "one", *FAST, "--threads", 1)
    many, one = ({p.name: p for p in (out / place).iterdir()} for place in ("many/deep/b", "one"))
    assert set(many) == set(one)
    for name in set(one) - {"report.json"}:
        assert many[name].read_bytes() == one[name].read_bytes(), name


def test_what_is_done_is_not_done_again(here, run, maps, out):
    run("integrate", maps, "-o", out, *FAST)
    summary, before = (out / "summary.csv").read_bytes(), when_written(out)
    run("integrate", maps, "-o", out, *FAST)
    assert when_written(out) == before
    assert (out / "summary.csv").read_bytes() == summary


def test_what_is_done_at_an_interruption_is_what_the_next_run_finds(
    here, run, maps, out, monkeypatch
):
    call = OneOfMany.__call__

    def interrupted(task, place):
        if place.name == "deep/b":
            raise KeyboardInterrupt
        return call(task, place)

    here.at_a_time = 1
    with monkeypatch.context() as patch:
        patch.setattr(OneOfMany, "__call__", interrupted)
        ended = run("integrate", maps, "-o", out, *FAST)
    assert ended.code == 130
    assert "note: 1 of 3 maps are done, 1 failed; the same command goes on" in ended.lines("note: ")
    assert "3 maps, 1 of them done before" in run("integrate", maps, "-o", out, *FAST).out


def test_results_beside_their_maps_are_not_read_as_input(here, run, maps):
    names = [maps / name for name in ("a", "deep/b")]
    for _ in range(2):
        assert run("integrate", *names, "-o", maps, *FAST).code == 0
    before = when_written(maps)
    run("integrate", *names, "-o", maps, *FAST)
    assert when_written(maps) == before


def test_what_has_changed_is_done_again(here, run, maps, out):
    more: tuple = ()
    run("integrate", maps, "-o", out, *FAST)
    for change in ("lost file", "normal map", "new file", "setting", "option of the mesh"):
        before = when_written(out)
        if change == "lost file":
            (out / "a" / "depth.npy").unlink()
        elif change == "normal map":
            for file in (maps / "deep" / "b").iterdir():
                (maps / "a" / file.name).write_bytes(file.read_bytes())
        elif change == "new file":
            (maps / "a" / "mask.png").unlink()
        else:
            more += ("--rounds", 2) if change == "setting" else ("--cut", 3)
        run("integrate", maps, "-o", out, *FAST, *more)
        after = when_written(out)
        assert after["a"] != before["a"], change
        assert (after["deep/b"] != before["deep/b"]) == bool(more), change
        assert (out / "a" / "depth.npy").exists(), change


def test_a_map_beyond_its_share_of_memory_is_refused(here, run, maps, out):
    here.memory = 1_000_000
    ended = run("integrate", maps, "-o", out, *FAST)
    assert ended.code == 1
    assert all(row["outcome"] == "failed" for row in rows_of(out).values())
    assert "--workers" in rows_of(out)["a"]["message"]


def test_a_map_whose_files_did_not_fit_is_a_row_and_done_again(
    here, run, maps, out, monkeypatch, read_report
):
    def exhausted(*_, **__):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("rayrelief.viewer.preview.write_preview", exhausted)
        assert run("integrate", maps, "-o", out, *FAST).code == 1
    assert rows_of(out)["a"]["outcome"] == "failed"
    assert "preview.png is not written" in rows_of(out)["a"]["message"]
    assert LEFT not in rows_of(out)["a"]["message"]
    run("integrate", maps, "-o", out, *FAST)
    assert rows_of(out)["a"]["outcome"] != "failed"
    assert "preview.png" in read_report(out / "a")["files"]


@pytest.mark.parametrize("kind", ["broken", "exhausted"])
def test_the_row_of_a_map_that_fails_names_the_files_of_its_earlier_result(
    here, run, maps, out, kind, monkeypatch
):
    def exhausted(*_, **__):
        raise MemoryError

    run("integrate", maps, "-o", out, *FAST)
    assert LEFT not in rows_of(out)["bad"]["message"]
    if kind == "broken":
        (maps / "a" / "normal_map.png").write_bytes(b"no picture")
    else:
        shutil.rmtree(maps / "a")
        write_layout(maps / "a", gallery.plane(16, 12))
        monkeypatch.setattr("rayrelief.cli.runs.run.integrate", exhausted)
    for _ in range(2):  # as long as they are there
        errors = run("integrate", maps / "a", maps / "bad", "-o", out, *FAST).lines("error: ")
        told = f"{LEFT}, not of this one: depth.npy, preview.png, layers.npz, camera.json"
        assert rows_of(out)["a"]["message"].endswith(told)
        assert sorted(line.endswith(told) for line in errors) == [False, True]


def test_heights_lie_beside_their_maps(here, run, maps, out):
    run("integrate", maps, "-o", out, *FAST, "--height", "height.png")
    assert (out / "a" / "height.png").exists()
    ended = run("integrate", maps, "-o", out, *FAST, "--height", out / "height.png")
    assert ended.code == 2


@pytest.mark.parametrize("wrong", [("--workers", "0"), ("--workers", "many"), ("--dry-run",)])
def test_wrong_usage(here, run, maps, out, wrong):
    assert run("integrate", maps, "-o", out, *wrong).code == 2
    assert not out.exists()


def test_quiet_leaves_warnings_and_errors(here, run, maps, plane, out):
    many = run("integrate", maps, "-o", out / "many", *FAST, "--quiet")
    assert many.out == ""
    assert len(many.lines("error: ")) == 1
    one = run("integrate", plane, "-o", out / "one", "--quiet", "--threads", 1)
    assert (one.code, one.out, one.err) == (0, "", "")


def test_json_is_the_rows(here, run, maps, out):
    printed = run("integrate", maps, "-o", out, *FAST, "--json").json()
    assert [row["name"] for row in printed] == [*rows_of(out)]


def test_without_dask_the_message_says_what_to_install(run, maps, out, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    ended = run("integrate", maps, "-o", out, "--scheduler", "tcp://127.0.0.1:1")
    assert "extra dask" in ended.error()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_killed_and_started_again(start, tmp_path, out):
    for number in range(12):
        write_layout(tmp_path / "maps" / f"{number:02d}", gallery.plane(12, 16))
    command = ("integrate", tmp_path / "maps", "-o", out, *FAST, "--workers", 2)
    process = start(*command)
    give_up = time.monotonic() + TIMEOUT
    while len(when_written(out)) < 3 and time.monotonic() < give_up:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=TIMEOUT)
    before = when_written(out)
    assert 3 <= len(before) < 12
    again = start(*command)
    again.communicate(timeout=TIMEOUT)
    assert again.returncode == 0
    after = when_written(out)
    assert len(after) == 12
    assert before.items() <= after.items()
    assert not [*out.rglob(".rayrelief-*")]


def test_a_scheduler_without_workers_is_refused_at_once(run, maps, out):
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 0, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster:
        ended = run("integrate", maps, "-o", out, *FAST, "--scheduler", cluster.scheduler_address)
    assert "has no workers; expected at least one when a run begins" in ended.error()


@pytest.mark.slow
def test_a_cluster_gives_the_same_summary(run, maps, out, monkeypatch):
    distributed = pytest.importorskip("distributed")
    with monkeypatch.context() as patch:
        patch.setattr("rayrelief.cli.runs.many.engine_for", lambda *_: Engine())
        run("integrate", maps, "-o", out / "here", *FAST)
    options = {"n_workers": 1, "threads_per_worker": 2, "processes": False}
    with distributed.LocalCluster(**options, dashboard_address=":0") as cluster:
        scheduler = ("--scheduler", cluster.scheduler_address)
        run("integrate", maps, "-o", out / "cluster", *FAST, *scheduler)
    here, there = ((out / name / "summary.csv").read_bytes() for name in ("here", "cluster"))
    assert here == there


def test_a_sequence_starts_each_frame_from_the_last_also_after_a_stop(
    run, tmp_path, out, read_report
):
    frames = tmp_path / "frames"
    for number in range(3):
        write_layout(frames / f"{number}", gallery.vase(24, 32))
    words = (*FAST, "--method", "ray-plane", "--sequence", "--threads", 1)
    run("integrate", frames, "-o", out, *words)
    changes = [read_report(out / name)["history"][0]["change"] for name in "01"]
    assert changes[1] < 0.5 * changes[0], "nothing has moved"
    depth = (out / "2" / "depth.npy").read_bytes()
    (out / "2" / "report.json").unlink()
    run("integrate", frames, "-o", out, *words)
    assert (out / "2" / "depth.npy").read_bytes() == depth


@pytest.mark.parametrize("sequence", [(), ("--sequence",)])
def test_maps_of_dust_have_a_row_and_a_short_report(
    here, run, tmp_path, out, read_report, sequence, monkeypatch
):
    monkeypatch.setattr("rayrelief.cli.runs.report.LISTED", 10)
    for reader in ("batch.fingerprint", "cli.runs.report"):  # of a report that is too long
        monkeypatch.setattr(f"rayrelief.{reader}.read_report", lambda _: None)
    maps = tmp_path / "dusty"
    maps.mkdir()
    normals = np.full((24, 32, 3), np.nan)
    normals[::4, ::4] = normals[::4, 1::4] = normals[0, 2] = 0.0, 0.0, -1.0
    for name in "ab":
        np.save(maps / f"{name}.npy", normals)
    words = ("--convention", "opencv", "--fov", 50, *FAST, *sequence)
    assert run("integrate", *sorted(maps.iterdir()), "-o", out, *words).code == 0
    for row in rows_of(out).values():
        assert (row["pixels"], row["components"]) == ("97", "48")
        report = read_report(out / row["name"])
        assert (report["pixels"], report["component_count"]) == (97, 48)
        assert report["components"] == [3] + [2] * 9


@pytest.fixture
def frames(tmp_path):
    """Folder of four maps, whose normals are longer than 1, with a cut in the middle."""
    folder = tmp_path / "video"
    folder.mkdir()
    relief, plane = wavy_relief(24, 32).normals, np.broadcast_to((0.6, 0.0, -0.8), (24, 32, 3))
    for number, normals in enumerate((relief, relief, plane, plane)):
        np.save(folder / f"f{number}.npy", 3.0 * normals)
    return folder


SEQUENCE = ("--sequence", "--convention", "opencv", "--fov", 50, "--mask", "none", "--threads", 1)


def test_a_sequence_says_where_it_is_cut_and_goes_on_the_same_after_a_stop(
    run, frames, out, read_report
):
    words = (*FAST, *SEQUENCE, "--method", "ray-plane")
    told = run("integrate", frames, "-o", out, *words)
    assert told.code == 0
    cuts = {name: row["cut"] for name, row in rows_of(out).items()}
    assert cuts == {"f0": "", "f1": "", "f2": "other normals", "f3": ""}
    assert "other normals" in told.out
    assert read_report(out / "f2")["surface"] == ["cut: other normals"]
    names = [f"f{number}/depth.npy" for number in range(4)] + ["summary.csv"]
    before = [(out / name).read_bytes() for name in names]
    for stop in (2, 3):
        for number in range(stop, 4):
            (out / f"f{number}" / "report.json").unlink()
        run("integrate", frames, "-o", out, *words)
        assert [(out / name).read_bytes() for name in names] == before


def test_frames_after_one_that_has_changed_are_done_again(run, frames, out):
    run("integrate", frames, "-o", out, *FAST, *SEQUENCE)
    before = when_written(out)
    np.save(frames / "f1.npy", np.load(frames / "f0.npy")[:, ::-1] * (-1, 1, 1))
    run("integrate", frames, "-o", out, *FAST, *SEQUENCE)
    after = when_written(out)
    assert [name for name in sorted(after) if after[name] == before[name]] == ["f0"]


def test_a_frame_that_failed_is_a_cut_and_no_start_after_a_stop_either(run, frames, out):
    words = (*SEQUENCE, *FAST[2:], "--method", "ray-plane", "--max-iterations", 1)
    (frames / "f1.npy").write_bytes(b"no map")
    for tolerance in (0, 1e-12):  # all iterations, and fewer than it takes
        place = out / str(tolerance)
        for _ in range(2):
            run("integrate", frames, "-o", place, *words, "--tolerance", tolerance)
            cuts = {name: row["cut"] for name, row in rows_of(place).items()}
            assert cuts["f2"].startswith("the frame before has failed")
            assert cuts["f3"].startswith("the frame before") == bool(tolerance)
            (place / "f3" / "report.json").unlink()


def test_a_sequence_needs_depths_to_go_on_from(run, frames, out):
    ended = run("integrate", frames, "-o", out, *SEQUENCE, "--depth-format", "none")
    assert ended.code == 2
    assert "--depth-format none leaves none" in " ".join(ended.err.replace("│", " ").split())


def test_a_sequence_is_computed_by_one_process(run, maps, out):
    ended = run("integrate", maps, "-o", out, "--sequence", "--workers", 2)
    assert ended.code == 2
    assert "--sequence goes with neither" in ended.err


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--scheduler", "tcp://127.0.0.1:1", "goes with several maps"),
        ("--workers", "2", "goes with several maps"),
        ("--sequence", None, "goes with several maps"),
        ("--workers", "0", "expected a number from 1 on"),
        ("--workers", "banana", "expected a number from 1 on"),
    ],
)
def test_one_map_is_computed_here(run, maps, out, option, value, words):
    ended = run("integrate", maps / "a", "-o", out, option, *filter(None, [value]))
    assert ended.code == 2
    assert option in ended.err
    assert words in ended.err
    assert not out.exists()


@pytest.mark.parametrize("place", ["results", "out.zarr"])
def test_workers_are_of_this_machine_or_of_a_cluster(run, maps, place, tmp_path):
    words = "--scheduler", "tcp://127.0.0.1:1", "--workers", 2
    ended = run("integrate", maps, "-o", tmp_path / place, *words)
    assert ended.code == 2
    assert "leave out --workers" in ended.err


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_inherits_neither_the_turn_nor_the_silence_of_another_thread():
    code = """
import os, sys, threading, warnings
from types import SimpleNamespace
from rayrelief.cli.runs.one_of_many import Done, OneOfMany

begun, end = threading.Event(), threading.Event()

class Task(OneOfMany):
    def __init__(self): pass
    def _done(self, planned):
        if planned == "waits":
            begun.set()
            end.wait()
        print("warning: said", file=sys.stderr)
        return Done({})

usual = warnings.showwarning
thread = threading.Thread(target=Task(), args=["waits"])
thread.start()
begun.wait()
child = os.fork()
if child == 0:
    loud = sys.stderr is sys.__stderr__ and warnings.showwarning is usual
    print(loud, Task()("runs").said, flush=True)
    os._exit(0)
os.waitpid(child, 0)
end.set()
thread.join()
"""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("True ('warning: said',)\n", "")
