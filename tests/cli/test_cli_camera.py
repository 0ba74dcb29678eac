"""rayrelief camera: what a calibration holds, a picture of it, and other formats."""

from __future__ import annotations

import json
import re
import tracemalloc

import numpy as np
import pytest

from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration import WRITERS, read_camera, write_camera
from rayrelief.cameras.equirectangular import Equirectangular
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cli.camera import TargetName
from rayrelief.io.images import read_image
from reference.calibrations import OPENCV_YAML

PINHOLE = Pinhole(300.0, 310.5, 159.25, 119.75, size=(320, 240))
LENS = BrownConrady(300, 310, 159, 119, -0.2, 0.01, 0.001, -0.002, size=(320, 240))
FISHEYE = KannalaBrandt(100, 101, 159, 119, 0.01, -0.002, size=(320, 240))
SIZE = ("--width", 320, "--height", 240)
BOTH = "--width and --height"
TARGETS = [
    ("opencv", PINHOLE, "camera.yaml"),
    ("opencv", LENS, "camera.xml"),
    ("opencv", FISHEYE, "camera.json"),
    ("ros", LENS, "camera.yaml"),
    ("ros", FISHEYE, "camera.yaml"),
    ("kalibr", FISHEYE, "camchain.yaml"),
    ("colmap", LENS, "cameras.txt"),
    ("colmap", FISHEYE, "cameras.txt"),
    ("nerfstudio", LENS, "transforms.json"),
    ("nerfstudio", FISHEYE, "transforms.json"),
    ("rayrelief", FISHEYE, "camera.json"),
]


def sketch(out):
    """Rows of digits and dots in what was printed."""
    return [line for line in out.splitlines() if re.fullmatch(r"[0-9.]{9,}", line)]


def test_what_an_opencv_file_holds(run, tmp_path):
    (tmp_path / "camera.yaml").write_text(OPENCV_YAML)
    done = run("camera", tmp_path / "camera.yaml")
    assert done.code == 0
    assert any("OpenCV" in line for line in done.lines("note: "))
    for words in ("BrownConrady", "k1", "640x480", "field of view", "0.00% of the pixels"):
        assert words in done.out


def test_a_panorama_says_that_it_wraps(run, tmp_path):
    write_camera(tmp_path / "camera.json", Equirectangular.full(90, 180))
    done = run("camera", tmp_path / "camera.json", "--json")
    assert done.code == 0
    content = done.json()
    assert content["wraps"] is True
    assert content["kind"] == "distance"
    assert content["size"] == [180, 90]
    assert content["across"] == pytest.approx(360, abs=0.1)
    assert content["down"] == pytest.approx(180, abs=0.1)
    assert content["invalid"] == 0
    assert "distance along the ray" in run("camera", tmp_path / "camera.json").out


def test_the_sketch_counts_degrees_off_the_axis(run):
    done = run("camera", "100,100,159.5,119.5", "--width", 320, "--height", 240)
    rows = sketch(done.out)
    assert "steps of 10" in done.out
    corner = np.degrees(np.arctan(np.hypot(159.5, 119.5) / 100))
    assert rows[-1][0] == str(int(corner / 10))
    assert {row[len(row) // 2] for row in rows} == set("01234"), "up to 50 degrees above the axis"


def test_pixels_without_a_ray_are_dots(run, tmp_path):
    write_camera(tmp_path / "camera.json", BrownConrady(60, 60, 79.5, 59.5, -0.3, size=(160, 120)))
    done = run("camera", tmp_path / "camera.json")
    rows = sketch(done.out)
    assert rows[0][0] == "."
    assert rows[len(rows) // 2][len(rows[0]) // 2] == "0"
    assert "0.00% of the pixels" not in done.out


def test_parallel_rays_have_no_field_of_view(run, tmp_path):
    write_camera(tmp_path / "camera.json", Orthographic(0.1, 4, 3, size=(9, 7)))
    done = run("camera", tmp_path / "camera.json")
    assert "field of view" not in done.out
    assert "pixel_size" in done.out


def test_the_picture_shows_where_there_is_no_ray(run, tmp_path):
    write_camera(tmp_path / "camera.json", BrownConrady(60, 60, 79.5, 59.5, -0.3, size=(160, 120)))
    done = run("camera", tmp_path / "camera.json", "--picture", tmp_path / "rays.png")
    assert done.code == 0
    picture = read_image(tmp_path / "rays.png")
    assert picture.shape[0] > 360
    assert len(np.unique(picture.reshape(-1, picture.shape[-1]), axis=0)) > 500


@pytest.mark.parametrize(("target", "camera", "name"), TARGETS)
def test_a_camera_survives_the_way_through_another_format(run, tmp_path, target, camera, name):
    write_camera(tmp_path / "own.json", camera)
    path = tmp_path / name
    done = run("camera", tmp_path / "own.json", "--write", path, "--to", target)
    assert done.code == 0
    assert read_camera(path) == camera


def test_any_central_camera_can_be_written_as_rays(run, tmp_path):
    write_camera(tmp_path / "own.json", FISHEYE)
    done = run("camera", tmp_path / "own.json", "--write", tmp_path / "rays.npy")
    assert done.code == 0
    rays = read_camera(tmp_path / "rays.npy").unit_rays(240, 320)
    np.testing.assert_allclose(rays, FISHEYE.unit_rays(240, 320), atol=1e-15)


def test_a_camera_follows_a_map_that_was_cut_and_scaled(run, tmp_path):
    write_camera(tmp_path / "own.json", LENS)
    path = tmp_path / "small.json"
    options = ("--crop", "20,10,200,100", "--resize", "100x50", "--write", path)
    assert run("camera", tmp_path / "own.json", *options).code == 0
    assert read_camera(path) == LENS.crop(20, 10, 200, 100).resize(100, 50)


def test_every_format_that_is_offered_can_be_written():
    assert {name.value for name in TargetName} == {*WRITERS, "rays"}


RAYS = ".npy, .npz, .exr"


@pytest.mark.parametrize(
    ("name", "to", "words"),
    [
        ("K.txt", ("--to", "k"), ("KannalaBrandt",)),
        ("K.txt", ("--to", "rays"), ("K.txt", "'.txt'", RAYS)),
        ("x.json", ("--to", "rays"), ("x.json", "'.json'", RAYS)),
        ("rays.mat", ("--to", "rays"), ("rays.mat", "'.mat'", RAYS)),
        ("K.npy", ("--to", "k"), ("K.npy", "'.npy'")),
        ("a.EXR", ("--to", "opencv"), ("a.EXR", "'.EXR'")),
        ("a.yaml", (), (f".json, {RAYS}",)),
        ("rays", (), ("rays has no suffix", f".json, {RAYS}")),
    ],
)
def test_what_a_file_cannot_hold_is_refused_and_nothing_is_written(run, tmp_path, name, to, words):
    write_camera(tmp_path / "own.json", FISHEYE)
    done = run("camera", tmp_path / "own.json", "--write", tmp_path / name, *to)
    error = done.error()
    assert all(word in error for word in words)
    assert [path.name for path in tmp_path.iterdir()] == ["own.json"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("100,100,1,1",), (BOTH,)),
        (("K.txt", "--picture", "rays.png"), ("K.txt", BOTH)),
        (("K.npy", "--write", "r.npy"), ("K.npy", BOTH)),
        (("K.npy", "--write", "r.exr", "--to", "rays"), ("K.npy", BOTH)),
        (("calib.npz", "--resize", "320x240"), ("calib.npz", BOTH)),
        (("K.txt", "--write", "a.yaml", "--to", "ros"), ("K.txt", BOTH)),
        (("K.txt", "--write", "a.yaml", "--to", "kalibr"), ("K.txt", BOTH)),
        (("K.txt", "--write", "a.txt", "--to", "colmap"), ("K.txt", BOTH)),
        (("K.txt", "--write", "a.json", "--to", "nerfstudio"), ("K.txt", BOTH)),
        (("K.txt", "--width", "100"), (BOTH,)),
        (("fov:60", "--height", "100"), (BOTH,)),
        (("K.txt", "--to", "colmap"), ("--to", "--write")),
        (("K.txt", "--crop", "1,2,3"), ("'1,2,3'",)),
        (("fov:60", *SIZE, "--resize", "0x3"), ("'0x3'",)),
    ],
)
def test_wrong_usage_is_told(run, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    matrix = np.array([[100, 0, 50], [0, 100, 40], [0, 0, 1.0]])
    np.savetxt("K.txt", matrix)
    np.save("K.npy", matrix)
    np.savez("calib.npz", mtx=matrix, dist=np.zeros(5))
    done = run("camera", *arguments)
    assert done.code == 2
    said = " ".join(done.err.replace("│", " ").split())
    assert all(word in said for word in words)
    assert {path.name for path in tmp_path.iterdir()} == {"K.txt", "K.npy", "calib.npz"}


@pytest.mark.parametrize("target", TargetName)
def test_no_format_asks_for_more_than_the_size_that_a_part_of_the_image_has(
    run, tmp_path, monkeypatch, target
):
    monkeypatch.chdir(tmp_path)
    np.savetxt("K.txt", [[100, 0, 50], [0, 100, 40], [0, 0, 1]])
    suffixes = {
        "rays": "npz",
        "rayrelief": "json",
        "nerfstudio": "json",
        "k": "txt",
        "colmap": "txt",
    }
    path = "part." + suffixes.get(target.value, "yaml")
    part = ("--crop", "10,20,60,40", "--resize", "30x20", "--write", path, "--to", target.value)
    assert run("camera", "K.txt", *part).code == 0
    expected = Pinhole(100, 100, 40, 20, size=(60, 40)).resize(30, 20)
    rays = read_camera(path, height=20, width=30).unit_rays(20, 30)
    np.testing.assert_allclose(rays, expected.unit_rays(20, 30), rtol=0, atol=1e-15)


def test_a_camera_of_several_is_chosen_by_its_name(run, tmp_path):
    lines = ["1 SIMPLE_PINHOLE 320 240 300 160 120", "2 SIMPLE_PINHOLE 640 480 500 320 240"]
    (tmp_path / "cameras.txt").write_text("\n".join(lines) + "\n")
    assert "hold" in run("camera", tmp_path / "cameras.txt").error()
    assert "500" in run("camera", tmp_path / "cameras.txt", "--which", "2").out
    size = ("--width", 320, "--height", 240)
    assert "300" in run("camera", tmp_path / "cameras.txt", *size).out
    assert "has no camera '7'" in run("camera", tmp_path / "cameras.txt", "--which", "7").error()


def test_a_size_that_is_given_goes_with_the_camera(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savetxt("K.txt", [[500, 0, 320], [0, 500, 240], [0, 0, 1]])
    size = ("--width", 640, "--height", 480)
    assert run("camera", "K.txt", *size, "--write", "cameras.txt", "--to", "colmap").code == 0
    assert read_camera("cameras.txt") == Pinhole(500, 500, 320, 240, size=(640, 480))
    assert "320x240" in run("camera", "K.txt", *size, "--resize", "320x240").out


def test_a_file_that_looks_like_words_is_read(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savetxt("my,K.txt", [[500, 0, 320], [0, 500, 240], [0, 0, 1]])
    assert run("camera", "my,K.txt").code == 0


def test_the_field_of_view_goes_from_border_to_border(run):
    content = run("camera", "fov:60", "--width", 64, "--height", 48, "--json").json()
    assert content["across"] == pytest.approx(60, abs=1e-9)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1)])
def test_the_smallest_images_are_drawn(run, tmp_path, shape):
    rays = np.full((*shape, 3), np.nan)
    rays[0, 0] = (0, 0, 1)
    np.save(tmp_path / "rays.npy", rays)
    done = run("camera", tmp_path / "rays.npy", "--picture", tmp_path / "rays.png")
    assert done.code == 0
    assert not done.lines("warning: ")


def test_a_summary_of_a_large_image_does_not_take_its_rays(run, tmp_path):
    lens = {"fl_x": 9e3, "fl_y": 9e3, "cx": 6e3, "cy": 6e3, "w": 12_000, "h": 12_000, "k1": -0.1}
    (tmp_path / "transforms.json").write_text(json.dumps(lens | {"frames": []}))
    tracemalloc.start()
    try:
        assert run("camera", tmp_path / "transforms.json").code == 0
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100e6  # 9 GB, if every pixel had its ray
