"""Nine tiny maps in the layout of DiLiGenT, and predictions that are counted."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.accuracy import inputs, lens, predictions, workers
from benchmarks.accuracy.__main__ import main
from benchmarks.diligent import OBJECTS
from benchmarks.report import exit_code
from rayrelief.synthetic import gallery
from reference.layout import write_layout

HEIGHT, WIDTH = 14, 18


@pytest.fixture(autouse=True)
def forgotten() -> None:
    """Every test has maps of its own."""
    for remembered in (inputs.scene_of, predictions.source_digest, predictions.library_state):
        remembered.cache_clear()


@pytest.fixture
def data(tmp_path, monkeypatch) -> Path:
    """Folder with all objects: harvest is a map of its own, the others are one and the same."""
    root = tmp_path / "data" / "diligent"
    write_layout(root / "harvest", gallery.sphere(HEIGHT, WIDTH))
    write_layout(root / "bear", gallery.plane(HEIGHT, WIDTH))
    for name in OBJECTS:
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
    def one_thread(count: int, cache: Any) -> Iterator[Executor]:
        pool = ThreadPoolExecutor(1)
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)

    monkeypatch.setattr(workers, "predict", counted)
    monkeypatch.setattr(workers, "worker_pool", one_thread)
    return keys


@pytest.fixture
def kernels_of_the_tests(monkeypatch) -> None:
    """Processes compile nothing anew: the folder of kernels is that of this state already."""
    monkeypatch.setattr(workers, "library_state", str)


@pytest.fixture
def results(tmp_path) -> Path:
    """Folder for reports and predictions."""
    return tmp_path / "results"


@pytest.fixture
def small_lens(monkeypatch) -> None:
    """The pictures of the lens table, an eighth as large."""
    small = {"fx": 26.25, "fy": 26.25, "cx": 19.5, "cy": 14.5}
    for name, value in {"HEIGHT": 30, "WIDTH": 40}.items():
        monkeypatch.setattr(lens, name, value)
    for name in ("IDEAL", "LENS"):
        monkeypatch.setattr(lens, name, replace(getattr(lens, name), **small))


@pytest.fixture
def run(results, small_lens) -> Callable[..., int]:
    """Run tables with 16 of 1200 iterations, 2 of 150; the exit code."""

    def run_here(*words: str, folder: Path = results) -> int:
        return exit_code(main, [*words, "--iterations", "16", "--output", str(folder)])

    return run_here


@pytest.fixture
def records(results) -> Callable[[str], list[dict[str, Any]]]:
    """Reader of all records of a report."""

    def read(stem: str) -> list[dict[str, Any]]:
        content = json.loads((results / f"{stem}-16_iterations.json").read_text(encoding="utf-8"))
        return [record for table in content["tables"] for record in table["records"]]

    return read


@pytest.fixture
def written(results) -> Callable[..., dict[str, bytes]]:
    """Reader of all reports and figures of a folder."""
    return lambda folder=results: {
        path.name: path.read_bytes()
        for path in sorted([*folder.glob("*.*"), *folder.glob("figures/*")])
    }
