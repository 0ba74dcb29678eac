"""The live page in a real browser."""

from __future__ import annotations

import base64
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.ndimage import binary_erosion

from rayrelief import RayPlane, integrate
from rayrelief.cameras.calibration import write_camera
from rayrelief.io.depth import write_depth
from rayrelief.synthetic import gallery
from rayrelief.viewer.finished import read_finished
from rayrelief.viewer.layers import Layers
from reference.layout import write_layout

pytest.importorskip("viser", reason="viser is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--headless=new --no-sandbox --use-angle=swiftshader --enable-unsafe-swiftshader "
    "--disable-background-networking --disable-sync --no-first-run"
)
TIMEOUT = 600  # seconds: only a page that hangs gets there
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="the browser chromium is not installed"),
    pytest.mark.slow,
    # Of the libraries of the server and the browser; sockets end when the collector comes.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> Iterator[str]:
    """Address of a page with one result."""
    from rayrelief.cli.view import examine, write
    from rayrelief.viewer.page.server import serve

    scene, folder = gallery.still_life(60, 80), tmp_path_factory.mktemp("still_life")
    result = integrate(scene.normals, scene.camera, mask=scene.mask, method=RayPlane())
    write_depth(folder / "depth.npz", result.depth, result.depth_kind)
    write_camera(folder / "camera.json", result.camera)
    Layers.of(result, scene.depth).write(folder / "layers.npz")
    shown = read_finished(folder)
    page = serve(
        [shown],
        host="127.0.0.1",
        port=8450,
        largest_upload=100_000,
        examine=examine,
        write=write,
    )
    with page as address:
        yield address


@pytest.fixture(scope="module")
def page(address) -> Iterator[Any]:
    """The page, loaded and drawn."""
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        page = browser.new_page(viewport={"width": 900, "height": 1100})
        page.set_default_timeout(1000 * TIMEOUT)
        page.goto(address)
        page.get_by_text("faces drawn").wait_for()
        until(lambda: surface(page).mean() > 0.02)
        yield page
        browser.close()


def until(condition: Callable[[], Any]) -> None:
    """Wait for a condition, at most for the time that only a hanging page takes."""
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.2)


def picture(page) -> np.ndarray:
    """RGB (H, W, 3) of the scene, without its panel."""
    import cv2

    box = page.locator("canvas").first.bounding_box()
    data = page.screenshot(clip={**box, "width": min(box["width"], 500)})
    return np.asarray(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR))[..., ::-1]


def surface(page) -> np.ndarray:
    """Pixels of the scene (H, W) that are not the white background."""
    return np.all(picture(page)[200:] < 225, axis=-1)


def choose(page, name: str, value: str) -> None:
    page.get_by_role("combobox", name=name, exact=True).click()
    page.get_by_role("option", name=value, exact=True).click()


def upload(page, role: str, path: Path) -> None:
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=f"Upload {role}").click()
    chooser.value.set_files(path)


def drop(page, *paths: Path) -> None:
    """Drop files in the middle of the scene, as the system does it for the mouse."""
    contents = [[path.name, base64.b64encode(path.read_bytes()).decode()] for path in paths]
    script = """(contents) => {
        const dropped = new DataTransfer();
        for (const [name, text] of contents) {
            const bytes = Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
            dropped.items.add(new File([bytes], name));
        }
        const how = {dataTransfer: dropped, bubbles: true, cancelable: true};
        const canvas = document.querySelector("canvas");
        return ["dragover", "drop"].map((kind) => canvas.dispatchEvent(new DragEvent(kind, how)));
    }"""
    assert page.evaluate(script, contents) == [False, False]  # the browser opens nothing itself


def test_the_first_picture_shows_all_of_a_result(page):
    until(lambda: not surface(page)[:, :3].any())  # in a window that is higher than wide


def test_a_control_changes_the_picture(page):
    before = picture(page)
    choose(page, "Colour", "normals")
    page.get_by_text("normals of the input").wait_for()
    until(lambda: (picture(page)[200:] != before[200:]).any(axis=-1).mean() > 0.02)


def test_two_clicks_measure_a_distance(page):
    page.get_by_role("checkbox", name="Click two points").check()
    page.get_by_text("Click a point of a surface").wait_for()
    rows, columns = np.nonzero(binary_erosion(surface(page), iterations=8))  # no gap, no border
    box = page.locator("canvas").first.bounding_box()
    for part, answer in ((0.4, "Click a second point"), (0.6, "Distance: ")):
        place = int(part * len(rows))
        x, y = float(columns[place]), 200.0 + float(rows[place])
        page.mouse.click(box["x"] + x, box["y"] + y)
        page.get_by_text(answer).wait_for()
    distance = float(page.get_by_text("Distance: ").inner_text().split()[1])
    assert 0 < distance < 1.5  # of a table whose depth is about 1
    page.get_by_role("checkbox", name="Click two points").uncheck()


def test_dropped_files_integrate_and_show_a_surface(page, tmp_path):
    folder = write_layout(tmp_path / "ball", gallery.sphere(40, 50))
    drop(page, folder / "mask.png", folder / "K.txt", folder / "normal_map.png")
    for name, role in (("mask.png", "mask"), ("K.txt", "camera file")):
        page.get_by_text(f"{name} as the {role}").wait_for()
    page.get_by_text("normal_map.png as the normal map").wait_for()
    page.get_by_text("--convention").wait_for()  # what the doctor advises
    page.get_by_role("button", name="Integrate", exact=True).click()
    page.get_by_text(re.compile("normal_map-1: 50x40 pixels")).wait_for()
    page.get_by_text(re.compile("Ordered, ")).wait_for()  # as the report of integrate says it
    page.get_by_text("normal_map.png: axes of 'opengl'").wait_for()
    assert "rayrelief-view-" not in page.inner_text("body"), "the folder is nobody's business"
    until(lambda: surface(page).mean() > 0.02)


def test_a_bad_drop_shows_a_clear_error(page, tmp_path):
    text = tmp_path / "notes.png"
    text.write_text("no picture")
    drop(page, text)
    page.get_by_text("notes.png does not start like PNG data").wait_for()
    (tmp_path / "notes.txt").write_text("no camera")
    drop(page, tmp_path / "notes.txt")
    page.get_by_text("notes.txt is not in a known calibration format").wait_for()
    assert "notes.txt as the camera file" not in page.inner_text("body")


def test_an_upload_integrates_and_shows_a_surface_beside_another(page, tmp_path):
    folder = write_layout(tmp_path / "ball", gallery.sphere(40, 50))
    upload(page, "normal map", folder / "normal_map.png")
    upload(page, "mask", folder / "mask.png")  # while the map is being examined
    upload(page, "camera file", folder / "K.txt")
    names = "normal_map.png", "mask.png", "K.txt"
    until(lambda: all(name in page.get_by_text("Taken: ").inner_text() for name in names))
    page.get_by_text("--convention").wait_for()  # what the doctor advises
    choose(page, "Axes", "opengl")
    page.get_by_role("checkbox", name="Beside the others").check()
    page.get_by_role("button", name="Integrate", exact=True).click()
    page.get_by_text(re.compile("normal_map-2: 50x40 pixels")).wait_for()
    page.get_by_text(re.compile("normal_map-1: 50x40 pixels")).wait_for()
    until(lambda: all(half.mean() > 0.02 for half in np.array_split(surface(page), 2, axis=1)))


def test_bad_uploads_show_clear_errors(page, tmp_path):
    text = tmp_path / "map.png"
    text.write_text("no picture")
    upload(page, "normal map", text)
    page.get_by_text("does not start like PNG data").wait_for()
    large = tmp_path / "large.npy"
    np.save(large, np.zeros(20_000))
    upload(page, "normal map", large)
    page.get_by_text("--max-upload").wait_for()
