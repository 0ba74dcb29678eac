"""The page of a report: whole in itself, and alive in a browser."""

from __future__ import annotations

import base64
import json
import math
import os
import re
import shutil
import sys
from dataclasses import replace

import cv2
import numpy as np
import pytest
import trimesh

import rayrelief
from rayrelief.batch.fingerprint import finished_report
from rayrelief.cameras.calibration import write_camera
from rayrelief.errors import FileError, InputError
from rayrelief.io.images import write_png
from rayrelief.io.mesh_reading import read_triangles
from rayrelief.io.reports import files_of_run, read_report
from rayrelief.viewer import report_page as page
from rayrelief.viewer.layers import Layers

FLAGS = (
    "--headless=new --no-sandbox --use-angle=swiftshader --enable-unsafe-swiftshader "
    "--disable-background-networking --disable-sync --no-first-run"
)


@pytest.fixture
def results(tmp_path):
    """Folder that looks like one of a run."""
    folder = tmp_path / "out"
    scene = rayrelief.synthetic.GALLERY["sphere"](48, 64)
    method = rayrelief.RayPlane(max_iterations=4)
    result = rayrelief.integrate(
        scene.normals, scene.camera, mask=scene.mask, method=method, on_failure="return"
    )
    rayrelief.write_mesh(folder / "mesh.ply", result.mesh())
    write_png(folder / "preview.png", np.full((4, 5, 3), 128, np.uint8))
    report = {
        "rayrelief": "0",
        "scene": "<!--<script></script><script>window.broken = true</script>",
        "method": {"type": "RayPlane", "sharpness": 2.0},
        "status": {"cause": "converged", "notes": ["1 part touches nothing"]},
        "history": [{"change": 10.0**-i} for i in range(5)],
        "errors": {"type": "DepthErrors", "made": 0.123456789},
        "mesh": {
            "faces": 1234,
            "vertices": 700,
            "size": [80, 40, 20.5],
            "unit": "mm",
            "solid": False,
            "options": {"cut": 2.0, "base": 3.0, "colour": None},
        },
    }
    (folder / "report.json").write_text(json.dumps(report))
    return folder


def entries(path):
    """The data of a page, as a browser finds them."""
    (data,) = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', path.read_text(), re.DOTALL
    )
    assert "<" not in data  # it would begin a comment that goes on behind the script
    return json.loads(data)


def test_a_page_holds_the_surface_upright_and_fetches_nothing(results, tmp_path):
    page.write_page(tmp_path / "page.html", [results])
    text = (tmp_path / "page.html").read_text()
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", text)
    (entry,) = entries(tmp_path / "page.html")
    mesh, original = entry["mesh"], trimesh.load(results / "mesh.ply", process=False)
    steps = np.frombuffer(base64.b64decode(mesh["positions"]), "<u2").reshape(-1, 3)
    faces = np.frombuffer(base64.b64decode(mesh["faces"]), "<u4").reshape(-1, 3)
    np.testing.assert_array_equal(faces, original.faces)
    upright = original.vertices * (1, -1, -1)
    middle = (upright.min(axis=0) + upright.max(axis=0)) / 2
    side = np.ptp(upright, axis=0).max()
    shown = np.array(mesh["low"]) + steps / 65535 * mesh["side"]
    np.testing.assert_allclose(shown, (upright - middle) / (side / 2), atol=4e-5)
    rows = dict(entry["summary"])
    assert rows["method"] == "RayPlane"
    assert rows["status"] == "converged; 1 part touches nothing"
    assert rows["mesh"] == "1,234 faces; 80 x 40 x 20.5 mm; cut at jumps of more than 2 pixels"
    details = dict(entry["details"])
    assert (details["mesh: base"], "mesh: colour" in details) == ("3.0", False)
    assert rows["MADE, in the unit of the truth"] == "0.1235"
    assert entry["changes"] == [10.0**-i for i in range(5)]


def test_files_of_another_run_are_not_shown(results, tmp_path):
    report = json.loads((results / "report.json").read_text())
    report["files"] = ["report.json", "preview.png"]
    (results / "report.json").write_text(json.dumps(report))
    page.write_page(tmp_path / "page.html", [results])
    (entry,) = entries(tmp_path / "page.html")
    assert (entry["mesh"], entry["preview"] is None) == (None, False)


def test_a_page_shows_the_continuous_parts(results, tmp_path):
    ball = rayrelief.synthetic.GALLERY["sphere"](48, 64)
    assert ball.depth is not None
    rayrelief.write_depth(results / "depth.npz", ball.depth, "z")
    write_camera(results / "camera.json", ball.camera)
    Layers(segments=np.where(ball.mask, 0, -1)).write(results / "layers.npz")
    page.write_page(tmp_path / "page.html", [results])
    ((words, address),) = entries(tmp_path / "page.html")[0]["pictures"]
    data = np.frombuffer(base64.b64decode(address.partition(",")[2]), np.uint8)
    picture = np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR))
    assert words == "1 part"
    assert picture.shape[1] < ball.mask.shape[1], "what is empty is cut off"
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) == 2  # one part, and what is outside


def test_thin_pictures_keep_a_pixel(results, tmp_path, monkeypatch):
    depth = np.full((1, 3000), 2.0)
    rayrelief.write_depth(results / "depth.npz", depth, "z")
    write_camera(results / "camera.json", rayrelief.cameras.Orthographic(1.0))
    Layers(segments=np.zeros((1, 3000), int)).write(results / "layers.npz")
    noise = np.random.default_rng(0).integers(0, 256, (1, 3000, 3), dtype=np.uint8)
    write_png(results / "preview.png", noise)
    monkeypatch.setattr(page, "MOST_BYTES", 4000)
    page.write_page(tmp_path / "page.html", [results])
    (entry,) = entries(tmp_path / "page.html")
    for address in (entry["preview"], entry["pictures"][0][1]):
        data = base64.b64decode(address.partition(",")[2])
        height, width = (int.from_bytes(data[at : at + 4]) for at in (20, 16))
        assert (height, 100 < width < 1000) == (1, True)


def test_errors_that_are_compared_have_the_same_colours(results, tmp_path):
    ball = rayrelief.synthetic.GALLERY["sphere"](48, 64)
    assert ball.depth is not None
    folders = []
    for error in (0.1, 0.2):
        folder = shutil.copytree(results, tmp_path / str(error))
        rayrelief.write_depth(folder / "depth.npz", ball.depth, "z")
        write_camera(folder / "camera.json", ball.camera)
        Layers(error=np.where(ball.mask, error, np.nan)).write(folder / "layers.npz")
        folders.append(folder)
    page.write_page(tmp_path / "page.html", folders)
    labels = [entry["pictures"][0][0] for entry in entries(tmp_path / "page.html")]
    assert labels == ["error in the unit of the truth, 0 to 0.2"] * 2


def test_results_stand_side_by_side(results, tmp_path):
    other = shutil.copytree(results, tmp_path / "other")
    (other / "mesh.ply").unlink()
    (other / "preview.png").unlink()
    page.write_page(tmp_path / "page.html", [results, other])
    first, second = entries(tmp_path / "page.html")
    assert first["mesh"] is not None
    assert (second["mesh"], second["preview"]) == (None, None)


def test_a_large_surface_is_shown_with_fewer_faces(results, tmp_path, monkeypatch):
    pytest.importorskip("fast_simplification")
    monkeypatch.setattr(page, "MOST_FACES", 500)
    page.write_page(tmp_path / "page.html", [results])
    (entry,) = entries(tmp_path / "page.html")
    assert len(base64.b64decode(entry["mesh"]["faces"])) // 12 <= 500
    assert "shown with" in entry["mesh"]["note"]
    monkeypatch.setitem(sys.modules, "fast_simplification", None)
    with pytest.raises(InputError, match="pip install"):
        page.write_page(tmp_path / "page.html", [results])


def test_without_a_library_a_large_surface_is_shown_by_fewer_pixels(results, tmp_path, monkeypatch):
    page.write_page(tmp_path / "page.html", [results])
    full = entries(tmp_path / "page.html")[0]["mesh"]
    monkeypatch.setattr(page, "MOST_FACES", 500)
    monkeypatch.setitem(sys.modules, "fast_simplification", None)
    ball = rayrelief.synthetic.GALLERY["sphere"](48, 64)
    assert ball.depth is not None
    rayrelief.write_depth(results / "depth.npz", np.where(ball.mask, ball.depth, np.nan), "z")
    write_camera(results / "camera.json", ball.camera)
    Layers(segments=np.where(ball.mask, 0, -1)).write(results / "layers.npz")
    page.write_page(tmp_path / "page.html", [results])
    mesh = entries(tmp_path / "page.html")[0]["mesh"]
    steps = np.frombuffer(base64.b64decode(mesh["positions"]), "<u2").reshape(-1, 3)
    faces = np.frombuffer(base64.b64decode(mesh["faces"]), "<u4").reshape(-1, 3)
    assert 150 < len(faces) <= 500
    assert faces.max() < len(steps)
    for end in ("low", "high"):
        np.testing.assert_allclose(mesh[end], full[end], atol=0.1)


def test_pictures_of_many_results_are_smaller(results, tmp_path):
    noise = np.random.default_rng(0).integers(0, 256, (800, 800, 3), dtype=np.uint8)
    write_png(results / "preview.png", noise)  # of the size of all of its numbers
    page.write_page(tmp_path / "one.html", [results])
    (entry,) = entries(tmp_path / "one.html")
    own = base64.b64decode(entry["preview"].partition(",")[2])
    assert own == (results / "preview.png").read_bytes()
    page.write_page(tmp_path / "many.html", [results] * 6)
    assert (tmp_path / "many.html").stat().st_size < 10_000_000


@pytest.mark.parametrize("text", [None, "not JSON", "[]", '{"a": 1}'])
def test_a_folder_without_results_is_refused(tmp_path, text):
    if text is not None:
        (tmp_path / "report.json").write_text(text)
    with pytest.raises(FileError, match=r"report\.json"):
        page.write_page(tmp_path / "page.html", [tmp_path])
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"input": {"size": 5}},
        {"history": 3},
        {"history": [{"change": math.nan}, {"change": "x"}, 1]},
        {"errors": {"made": math.inf}},
        {"method": None, "status": [], "seconds": "x", "scene": {"a": [1]}},
    ],
)
def test_a_report_that_was_changed_is_shown_as_far_as_it_goes(results, tmp_path, change):
    report = json.loads((results / "report.json").read_text())
    (results / "report.json").write_text(json.dumps(report | change))
    page.write_page(tmp_path / "page.html", [results])
    assert entries(tmp_path / "page.html")[0]["mesh"] is not None


@pytest.mark.parametrize("text", ["ply", "solid", "", "ply\nformat ascii 1.0\nelement vertex x\n"])
def test_a_damaged_mesh_is_refused(results, tmp_path, text):
    (results / "mesh.ply").write_text(text)
    with pytest.raises(FileError, match=r"mesh\.ply is (damaged|empty)"):
        page.write_page(tmp_path / "page.html", [results])


def test_a_mesh_does_not_lead_to_other_files(results, tmp_path):
    (results / "mesh.ply").unlink()
    (tmp_path / "secret.mtl").write_text("newmtl a")
    (results / "mesh.obj").write_text(
        f"mtllib {tmp_path}/secret.mtl\nv 0 0 1\nv 1 0 1\nv 0 1 2\nf 1 2 3\n"
    )
    page.write_page(tmp_path / "page.html", [results])
    assert len(base64.b64decode(entries(tmp_path / "page.html")[0]["mesh"]["faces"])) == 12
    (results / "mesh.obj").write_text("v 0 0 1\nv 1 0 1\nf 1 2 300\n")
    with pytest.raises(FileError, match=r"mesh\.obj"):
        page.write_page(tmp_path / "page.html", [results])


def test_results_of_the_same_name_are_told_apart(results, tmp_path):
    other = tmp_path / "other" / "out"
    shutil.copytree(results, other)
    page.write_page(tmp_path / "page.html", [results, other, tmp_path / "other" / ".." / "out"])
    names = [entry["title"].rpartition(" ")[2] for entry in entries(tmp_path / "page.html")]
    assert names[0] == names[2] == f"({tmp_path.name}/out)"
    assert names[1] == "(other/out)"


def test_a_folder_of_several_results_says_which_they_are(results):
    with pytest.raises(FileError, match=r"but holds results: out; .* Give these: .*/\*/"):
        page.Shown.read(results.parent)


def test_a_folder_that_is_not_there_is_told_as_such(tmp_path):
    with pytest.raises(FileError, match=r"out does not exist; expected a folder .* Check the path"):
        page.write_page(tmp_path / "page.html", [tmp_path / "out"])


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")
def test_a_pipe_in_the_place_of_a_report_is_none(results, tmp_path):
    (results / "report.json").unlink()
    os.mkfifo(results / "report.json")
    with pytest.raises(FileError, match=r"has no report\.json"):
        page.write_page(tmp_path / "page.html", [results])
    assert finished_report(results / "report.json", "mark") is None
    assert files_of_run(read_report(results / "report.json")) == []


@pytest.fixture
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium is installed")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=FLAGS.split())
        yield running
        running.close()


def picture(canvas):
    data = np.frombuffer(canvas.screenshot(), np.uint8)
    return np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), dtype=int)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_in_a_browser_without_network_it_turns_when_dragged(results, tmp_path, browser):
    page.write_page(tmp_path / "page.html", [results])
    tab = browser.new_context(offline=True, viewport={"width": 700, "height": 900}).new_page()
    wrong: list[str] = []
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("console", lambda message: wrong.append(message.text))
    tab.goto((tmp_path / "page.html").as_uri())
    canvas = tab.locator("canvas")
    tab.wait_for_timeout(1000)
    before = picture(canvas)
    assert before.std() > 5, "the canvas is not empty"
    box = canvas.bounding_box()
    tab.mouse.move(box["x"] + 200, box["y"] + 150)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 330, box["y"] + 190, steps=4)
    tab.mouse.up()
    tab.wait_for_timeout(500)
    turned = picture(canvas)
    assert np.abs(turned - before).mean() > 2
    tab.select_option("#colour", "normals")
    tab.wait_for_timeout(500)
    assert np.abs(picture(canvas) - turned).mean() > 2
    assert tab.evaluate("window.broken") is None, "a name is no code"
    assert wrong == []


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("kind", ["z", "distance"])
def test_a_surface_around_the_camera_is_looked_into(results, tmp_path, browser, kind):
    mesh = read_triangles(results / "mesh.ply")
    rayrelief.write_mesh(results / "mesh.ply", replace(mesh, faces=mesh.faces[:, ::-1]))  # its back
    report = json.loads((results / "report.json").read_text()) | {"depth_kind": kind}
    (results / "report.json").write_text(json.dumps(report))
    page.write_page(tmp_path / "page.html", [results])
    tab = browser.new_page(viewport={"width": 700, "height": 900})
    tab.goto((tmp_path / "page.html").as_uri())
    tab.wait_for_timeout(1000)
    inside = picture(tab.locator("canvas"))[20:-20, 20:-20]  # its corners are round
    assert (inside.std() > 5) == (kind == "z")


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        ({"segments": np.full((20, 30), 2**31 - 1)}, "segments from 2147483647"),
        ({"segments": np.full((20, 30), -1)}, "segments from -1 to -1; expected at least one"),
        ({"error": np.full((20, 30), np.nan)}, "an error that is known at no pixel"),
        ({"segments": np.zeros((20, 30))}, "segments of the type float64"),
        ({"weights": np.full((20, 30), "x")}, "weights of the type <U1"),
        ({"normals": np.zeros((20, 30, 2))}, "normals of the shape"),
        ({"edges": np.array([2400]), "sizes": np.ones(1)}, "edges of pixels that there are not"),
        ({"edges": np.array([-1]), "sizes": np.ones(1)}, "edges of pixels that there are not"),
        ({"edges": np.array([5]), "sizes": np.ones(2)}, "sizes of the shape"),
        ({"edges": np.array(5)}, "edges of the shape"),
    ],
)
def test_layers_that_no_run_has_written_are_refused(tmp_path, layer, words):
    np.savez(tmp_path / "layers.npz", **layer)
    with pytest.raises(FileError, match=words):
        Layers.read(tmp_path / "layers.npz", (20, 30))
