"""From ``rayrelief view`` to the first picture in a browser that is already open."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.diligent import data_folder
from benchmarks.report import Check, Table, UnavailableError, columns, progress

OBJECT = "bear"
RUNS = 5
FLAGS = (
    "--headless=new --no-sandbox --use-angle=swiftshader --enable-unsafe-swiftshader "
    "--disable-background-networking --disable-sync --no-first-run"
)
SCENE = {"x": 0, "y": 100, "width": 550, "height": 700}  # of the page, beside its panel
LIMIT = 5.0  # seconds


def tables() -> Iterator[Table]:
    """Integrate a map of DiLiGenT, and look at it several times."""
    source = data_folder() / "diligent" / OBJECT
    with tempfile.TemporaryDirectory() as folder, browser() as page:
        out = Path(folder) / OBJECT
        subprocess.run(_command("integrate", source, "-o", out, "--quiet"), check=True)
        _first_picture(page, out)  # its kernels come from the cache from now on
        times = [_first_picture(page, out) for _ in range(RUNS)]
    rows = tuple((number, *each) for number, each in enumerate(times, 1))
    median = statistics.median(picture for _, picture in times)
    yield Table(
        f"rayrelief view, {OBJECT}: seconds from the command",
        columns("run | address:.2f | first picture:.2f"),
        rows,
        ("The browser draws in software, on the same cores.",),
        (Check("first picture, median in seconds", median, at_most=LIMIT),),
    )


@contextmanager
def browser() -> Iterator[Any]:
    """Page in a browser without a window."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise UnavailableError("the browser chromium is not installed")
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError as error:
        raise UnavailableError("playwright is not installed") from error
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=chromium, args=FLAGS.split())
        yield opened.new_page(viewport={"width": 900, "height": 900})
        opened.close()


def _first_picture(page: Any, out: Path) -> tuple[float, float]:
    """Seconds until the address is told, and until something is seen in the scene."""
    progress(f"first picture: {out.name}")
    page.goto("about:blank")
    began = time.perf_counter()
    command = _command("view", out, "--no-open")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split()[0]
            told = time.perf_counter() - began
            page.goto(address)
            page.get_by_text("faces drawn").wait_for()
            while not _shows_something(page.screenshot(clip=SCENE)):
                time.sleep(0.1)
            return told, time.perf_counter() - began
        finally:
            server.terminate()


def _shows_something(png: bytes) -> bool:
    """Whether a picture has more than a white background."""
    import cv2
    import numpy as np

    picture = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_GRAYSCALE)
    return picture is not None and float(np.mean(picture < 225)) > 0.02


def _command(*words: object) -> list[str]:
    return [sys.executable, "-m", "rayrelief", *map(str, words)]
