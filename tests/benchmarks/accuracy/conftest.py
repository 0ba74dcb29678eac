"""Nine tiny maps in the layout of DiLiGenT, and predictions that are counted."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.accuracy import experiments, lens, workers
from benchmarks.accuracy.__main__ import main
from benchmarks.published import published_tables
from rayrelief.synthetic import gallery
from reference.layout import write_layout

HEIGHT, WIDTH = 14, 18
ITERATIONS = 16  # of 1200; schedules of 150 become 2


@pytest.fixture
def data(tmp_path, monkeypatch) -> Path:
    """Folder with all objects: harvest is a map of its own, the others are one and the same."""
    root = tmp_path / "data" / "diligent"
    write_layout(root / "harvest", gallery.sphere(HEIGHT, WIDTH))
    write_layout(root / "bear", gallery.plane(HEIGHT, WIDTH))
    for name in published_tables()["table2"]["objects"]:
        if not (root / name).exists():
            shutil.copytree(root / "bear", root / name)
    monkeypatch.setenv("RAYRELIEF_DATA", str(root.parent))
    return root


@pytest.fixture
def predicted(monkeypatch) -> list[str]:
    """Keys of all predictions that are made, in one thread of this process."""
    keys: list[str] = []
    predict = workers.predict

    def counted(task, stopped):
        keys.append(task.key)
        return predict(task, stopped)

    @contextmanager
    def one_thread(count: int) -> Iterator[Executor]:
        pool = ThreadPoolExecutor(1)
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)

    monkeypatch.setattr(workers, "predict", counted)
    monkeypatch.setattr(workers, "worker_pool", one_thread)
    return keys


@pytest.fixture
def results(tmp_path) -> Path:
    """Folder for tables and predictions."""
    return tmp_path / "results"


@pytest.fixture
def two_draws(monkeypatch) -> None:
    """Noise that is drawn twice only."""
    monkeypatch.setattr(experiments, "SEEDS", range(2))


@pytest.fixture
def small_lens(monkeypatch) -> None:
    """The pictures of the lens table, an eighth as large."""
    small = {"fx": 26.25, "fy": 26.25, "cx": 19.5, "cy": 14.5}
    for name, value in {"HEIGHT": 30, "WIDTH": 40}.items():
        monkeypatch.setattr(lens, name, value)
    for name in ("IDEAL", "LENS"):
        monkeypatch.setattr(lens, name, replace(getattr(lens, name), **small))


@pytest.fixture
def run(data, results, small_lens) -> Callable[..., int]:
    """Run tables with few iterations."""

    def run_here(*words: str, folder: Path = results) -> int:
        return main([*words, "--iterations", str(ITERATIONS), "--output", str(folder)])

    return run_here


@pytest.fixture
def written() -> Callable[[Path], dict[str, bytes]]:
    """Reader of all tables of a folder."""
    return lambda folder: {
        path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()
    }
