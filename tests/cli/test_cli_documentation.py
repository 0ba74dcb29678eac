"""Every command and every block of Python in the documentation runs, on small files."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import time
from glob import glob
from importlib.util import find_spec
from pathlib import Path

import cv2
import numpy as np
import pytest
import zarr

import rayrelief
from benchmarks import gallery as gallery_page
from rayrelief.cameras import Equirectangular, Pinhole, write_camera
from rayrelief.conventions import from_opencv
from rayrelief.io.exr import write_exr
from rayrelief.io.images import write_png
from rayrelief.synthetic import gallery, render
from rayrelief.synthetic.shapes import Sphere
from rayrelief.synthetic.surroundings import wavy_room
from reference.layout import write_layout
from reference.textures import texture
from test_docs import PAGES, ROOT, blocks

pytestmark = pytest.mark.slow

KALIBR = """\
cam0:
  camera_model: pinhole
  distortion_coeffs: [-0.02, 0.006, 0.0008, 0.0001]
  distortion_model: radtan
  intrinsics: [100.0, 101.0, 39.5, 29.5]
  resolution: [80, 60]
"""
OPENCV = """\
%YAML:1.0
---
image_width: 800
image_height: 600
camera_matrix: !!opencv-matrix
   rows: 3
   cols: 3
   dt: d
   data: [ 900., 0., 399.5, 0., 900., 299.5, 0., 0., 1. ]
distortion_coefficients: !!opencv-matrix
   rows: 5
   cols: 1
   dt: d
   data: [ -0.05, 0.01, 0.001, 0., 0. ]
"""
# What takes a large map there does with a small one here.
SMALLER = {"how_to_choose.md": ("2000", "40")}
IMAGES = ROOT / "docs" / "images"
SHORTER = {"video": ("--seconds", "0.1", "--size", "64")}
ELSEWHERE = {"write_your_own.md", "gallery.md"}  # tests/test_extending.py, and below


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """Folder with the files that the pages speak of."""
    folder: Path = tmp_path_factory.mktemp("documentation")
    camera = Pinhole.from_fov(39.6, 60, 80)  # 50 mm before a sensor of 36 mm
    ball = render([Sphere((0.0, 0.0, 5.0), 1.2)], camera, 60, 80, name="ball")
    for name in ("path/to/folder", "path/to/folder_with_depth_gt", "path/to/another"):
        write_layout(folder / name, ball)
    (folder / "scans" / "a").mkdir(parents=True)
    write_map(folder / "scans" / "a" / "normal_map.png", ball.normals, ball.mask)
    large = gallery.plane(100, 320)
    large.mask[:75] = False  # quicker
    write_layout(folder / "FOLDER", large)
    assert large.depth is not None
    np.savez(folder / "coarse.npz", depth=700 * large.depth)
    shutil.copy(folder / "path/to/folder/K.txt", folder)
    write_map(folder / "normals.png", from_opencv(ball.normals, "dsine"), ball.mask)
    huge = np.nan_to_num(from_opencv(ball.normals, "opengl")).astype(np.float32)
    zarr.save_array(folder / "huge.zarr", huge)
    write_png(folder / "photo.png", np.full((60, 80, 3), 120, np.uint8))
    cv2.imwrite(str(folder / "photo.jpg"), np.full((60, 80, 3), 120, np.uint8))
    part = np.full((600, 800, 3), np.nan)
    part[280:320, 380:420] = (0.1, -0.2, -0.97)
    write_exr(folder / "normals.exr", dict(zip("XYZ", part.transpose(2, 0, 1), strict=True)))
    (folder / "frames").mkdir()
    shutil.copy(folder / "normals.exr", folder / "frames")
    (folder / "calibration.yaml").write_text(OPENCV)
    write_camera(folder / "camera.json", rayrelief.read_camera(folder / "calibration.yaml"))
    (folder / "camchain.yaml").write_text(KALIBR)
    (folder / "cameras.txt").write_text("3 PINHOLE 640 480 500 500 320 240\n")
    _, waves = texture(40, 50)
    for name in ("texture_nor_gl.png", "coin.png"):
        write_map(folder / name, from_opencv(waves, "opengl"), np.ones((40, 50), np.bool_))
    around = Equirectangular.full(32, 64)
    np.save(folder / "panorama.npy", wavy_room(32, 64, around).normals)
    write_camera(folder / "transforms.json", around, height=32, width=64)
    return folder


def write_map(path: Path, normals: np.ndarray, inside: np.ndarray) -> None:
    """Normals as 16 bits, black outside."""
    values = np.rint((normals + 1) / 2 * 65535)
    write_png(path, np.where(inside[..., None], values, 0).astype(np.uint16))


@pytest.fixture
def here(files, tmp_path, monkeypatch) -> Path:
    """Copy of these files, the current folder."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def words_of(command: str) -> list[str]:
    """Arguments of a command as a shell splits them."""
    found = []
    for word in shlex.split(command, comments=True)[1:]:
        found += sorted(glob(word)) if "*" in word else [word]
    return found


def lines(page: Path, beginning: str) -> list[str]:
    """Commands in the blocks of a page that begin so."""
    every = [line for block in blocks(page, "sh") for line in block.splitlines()]
    return [line for line in every if line.startswith(beginning)]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if lines(page, "rayrelief ")], ids=lambda page: page.name
)
def test_commands(page, here, run, monkeypatch):
    monkeypatch.setattr("rayrelief.cli.demo.HEIGHT", 48)
    monkeypatch.setattr("rayrelief.cli.demo.WIDTH", 64)
    for command in lines(page, "rayrelief "):
        words = words_of(command)
        if "another_out" in words:
            shutil.copytree("out", "another_out", dirs_exist_ok=True)
        if words[0] == "view":
            pytest.importorskip("viser")
            with monkeypatch.context() as patch:
                patch.setattr(time, "sleep", interrupt)
                assert run(*words, "--no-open").code == 130
        elif "cuda" in words and find_spec("cupy") is None:
            assert "--device cpu" in run(*words).error()
        else:
            done = run(*words, *SHORTER.get(words[0], ()))
            assert done.code == 0, f"{command}\n{done.err}"


def interrupt(_: float) -> None:
    """Press Ctrl-C."""
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if blocks(page, "python") and page.name not in ELSEWHERE],
    ids=lambda page: page.name,
)
def test_python(page, here):
    scene = rayrelief.read_scene("FOLDER")
    height, width = scene.mask.shape
    # What a page calls the reader's own.
    names = {**vars(scene), "height": height, "width": width, "rayrelief": rayrelief}
    for code in blocks(page, "python"):
        shown = code.replace(*SMALLER.get(page.name, ("", "")))
        exec(compile(shown, page.name, "exec", dont_inherit=True), names)


def test_the_gallery(tmp_path):
    gallery_page.main(["--images", str(tmp_path)])
    drawn = {path.name for path in tmp_path.iterdir()}
    shown = set(re.findall(r"images/(gallery_\w+\.png)", gallery_page.PAGE.read_text("utf-8")))
    assert drawn == shown
    for name in drawn:
        picture, kept = (np.asarray(cv2.imread(str(p / name))) for p in (tmp_path, IMAGES))
        assert picture.shape == kept.shape
        # Other processors round differently, and the surfaces follow.
        assert np.abs(picture.astype(float) - kept).mean() < 3, f"{name} is old: make pictures"


def test_targets_and_modules_exist():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    missing = []
    for page in PAGES:
        text = "\n".join((*blocks(page, "sh"), page.read_text("utf-8")))
        targets = re.findall(r"^(?:\w+=\S+ )*make ([\w-]+)", text, re.MULTILINE)
        targets += re.findall(r"`make ([\w-]+)", text)
        missing += [each for each in targets if f"\n{each}:" not in makefile]
        modules = re.findall(r"python -m (benchmarks[\w.]*)", text)
        missing += [each for each in modules if find_spec(each) is None]
    assert missing == []


def test_the_site_builds_without_warnings(tmp_path):
    pytest.importorskip("sphinx", reason="the site needs the group docs")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet"]
    # A copy, since the reference is generated beside the pages.
    copy = shutil.copytree(
        ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("_build", "reference")
    )
    subprocess.run([*command, str(copy), str(tmp_path / "site")], check=True)
    page = (tmp_path / "site" / "equations.html").read_text("utf-8")
    assert 'href="api.html#rayrelief.formulation.ray_plane.omega"' in page
    assert "<math" in page
    for file in (tmp_path / "site").rglob("*.html"):
        fetched = re.findall(
            r"<(?:script|link|img)[^>]+(?:src|href)=\"https?:", file.read_text("utf-8")
        )
        assert fetched == [], file
