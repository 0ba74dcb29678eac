"""rayrelief integrate on a dask cluster whose workers are processes, one of which is lost."""

from __future__ import annotations

import csv
import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayrelief.cameras.calibration import write_camera
from rayrelief.large.planning import side_for
from rayrelief.synthetic import gallery
from rayrelief.synthetic.surroundings import wavy_relief
from reference.layout import write_layout

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL"),
]
FAST = ("--max-iterations", 2, "--depth-format", "npy", "--mesh-format", "none")
LIMIT = 10**9


@pytest.fixture
def cluster():
    """Two processes, each with two threads and a limit of memory."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 2, "memory_limit": LIMIT}
    with distributed.LocalCluster(**options, dashboard_address=":0") as cluster:
        yield cluster


def kill_one(cluster):
    os.kill(cluster.workers[0].pid, signal.SIGKILL)


def when_written(out):
    return {path.parent.name: path.stat().st_mtime_ns for path in out.rglob("report.json")}


@pytest.fixture
def maps(tmp_path):
    for number in range(12):
        write_layout(tmp_path / "maps" / f"{number:02d}", gallery.plane(12, 16))
    return tmp_path / "maps"


def at_third(monkeypatch, what):
    """Call something when the third map is done."""
    done: list[None] = []

    @contextmanager
    def counting(_: str, __: int):
        def advance():
            done.append(None)
            if len(done) == 3:
                what()

        yield advance

    monkeypatch.setattr("rayrelief.cli.runs.many.counting", counting)


def test_maps_of_a_lost_worker_are_done_by_others_and_none_twice(
    run, maps, out, cluster, monkeypatch
):
    there = out / "cluster"
    before: dict[str, int] = {}

    def lose():
        before.update(when_written(there))
        kill_one(cluster)

    with monkeypatch.context() as patch:
        at_third(patch, lose)
        words = ("--scheduler", cluster.scheduler_address)
        assert run("integrate", maps, "-o", there, *FAST, *words).code == 0
    assert 3 <= len(before) < 12, "in the middle"
    after = when_written(there)
    assert len(after) == 12
    assert before.items() <= after.items()
    assert run("integrate", maps, "-o", out / "here", *FAST, "--workers", 2).code == 0
    summaries = [(out / name / "summary.csv").read_bytes() for name in ("here", "cluster")]
    assert summaries[0] == summaries[1]


def test_what_is_done_when_the_scheduler_is_lost_is_in_the_summary(
    run, maps, out, cluster, monkeypatch
):
    with monkeypatch.context() as patch:
        at_third(patch, cluster.close)
        ended = run("integrate", maps, "-o", out, *FAST, "--scheduler", cluster.scheduler_address)
    assert "has been lost" in ended.error()
    with open(out / "summary.csv", newline="", encoding="utf-8") as file:
        rows = [row["name"] for row in csv.DictReader(file)]
    assert 3 <= len(rows) < 12
    assert rows == sorted(rows)
    before = when_written(out)
    assert run("integrate", maps, "-o", out, *FAST, "--workers", 1).code == 0
    assert before.items() <= when_written(out).items()


@pytest.fixture
def blocks(run, tmp_path, monkeypatch):
    """A command over a small map in six blocks; what these were planned by."""
    zarr = pytest.importorskip("zarr")
    relief, planned = wavy_relief(150, 110), []
    array = zarr.open_array(tmp_path / "map.zarr", mode="w", shape=(150, 110, 3), dtype="f4")
    array[:] = relief.normals
    write_camera(tmp_path / "camera.json", relief.camera)

    def small(memory, workers, method, threads):
        planned.append((memory, workers, threads))
        side_for(memory, workers, method, threads)
        return 80

    monkeypatch.setattr("rayrelief.cli.runs.large.side_for", small)
    given: Any = ("--convention=opencv", "--camera", tmp_path / "camera.json", "--method=smooth")

    def call(name, *words):
        ended = run("integrate", tmp_path / "map.zarr", "-o", tmp_path / name, *given, *words)
        return ended, planned

    return call


def depth(path: Path):
    import zarr

    return zarr.open_group(path, mode="r")["0"][:]


def test_blocks_are_planned_by_the_workers_and_done_by_others(
    blocks, tmp_path, cluster, monkeypatch
):
    asked = "--scheduler", cluster.scheduler_address

    @contextmanager
    def progress():
        lost: list[None] = []

        def update(stage, done, _):
            if stage == "integrating blocks" and done == 2 and not lost:
                lost.append(None)
                kill_one(cluster)

        yield update

    with monkeypatch.context() as patch:
        patch.setattr("rayrelief.cli.runs.large._progress", progress)
        ended, planned = blocks("there.zarr", *asked)
    assert ended.code == 0, ended.err
    assert planned == [(2 * LIMIT * 3 // 4, 2, 2)]
    assert blocks("here.zarr", "--threads", 1)[0].code == 0
    np.testing.assert_array_equal(depth(tmp_path / "there.zarr"), depth(tmp_path / "here.zarr"))


def test_memory_is_for_all_workers_together_and_never_more_than_they_have(blocks, cluster):
    asked = "--scheduler", cluster.scheduler_address, "--threads", 1
    for memory in ("1.2GB", "20GB"):
        assert blocks(f"{memory}.zarr", *asked, "--memory", memory)[0].code == 0
    assert blocks("o.zarr", *asked)[1] == [
        (12 * 10**8, 2, 1),
        (15 * 10**8, 2, 1),
        (15 * 10**8, 2, 1),
    ]


def test_nothing_is_left_where_no_scheduler_answers(blocks, tmp_path):
    ended, _ = blocks("o.zarr", "--scheduler", "foo")
    assert "no scheduler answers at foo" in ended.error()
    assert not [*tmp_path.glob("o.*")]


def test_a_block_that_loses_its_workers_asks_for_smaller_blocks(blocks, tmp_path, monkeypatch):
    from rayrelief.batch.base import WorkersLostError

    def lost(*_, **__):
        raise WorkersLostError("4 workers were lost", expected="others", remedy="Crop the map")

    monkeypatch.setattr("rayrelief.cli.runs.large.integrate_blocks", lost)
    ended, _ = blocks("o.zarr", "--threads", 1)
    assert "Give blocks less memory (--memory), or workers more" in ended.error()
    assert "Give blocks less memory" in (tmp_path / "o.json").read_text(encoding="utf-8")
