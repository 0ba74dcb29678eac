"""Ray maps as files, and files that hold no camera at all."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.io import savemat

from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration import Request, read_calibration, read_camera, write_camera
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.ray_map import RayMap
from rayrelief.errors import CameraError, FileError

LENS = BrownConrady(10, 10, 15, 10, k1=-0.3)  # folds over: its corners have no ray


@pytest.mark.parametrize(
    ("suffix", "tolerance"), [(".npy", 1e-15), (".npz", 1e-15), (".exr", 1e-7)]
)
def test_any_central_camera_becomes_a_ray_map(tmp_path, suffix, tolerance):
    path = tmp_path / f"rays{suffix}"
    write_camera(path, LENS, height=21, width=31)
    camera = read_camera(path, height=21, width=31)
    assert isinstance(camera, RayMap)
    assert np.isnan(camera.unit).any()
    np.testing.assert_allclose(camera.unit, LENS.unit_rays(21, 31), rtol=0, atol=tolerance)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_known_resolution_needs_no_size(tmp_path):
    write_camera(tmp_path / "rays.npy", Pinhole.from_fov(60, 3, 4))
    assert read_camera(tmp_path / "rays.npy", height=3, width=4).resolution == (4, 3)


def test_matlab_files_are_read(tmp_path):
    rays = Pinhole(10, 10, 2, 2).rays(5, 6)
    savemat(tmp_path / "camera.mat", {"rays": rays, "other": np.eye(2)})
    camera = read_camera(tmp_path / "camera.mat", height=5, width=6)
    np.testing.assert_allclose(camera.rays(5, 6), rays, atol=1e-14)


def test_the_key_of_a_lone_array_does_not_matter(tmp_path):
    np.savez(tmp_path / "camera.npz", directions=np.ones((2, 3, 3)))
    assert read_camera(tmp_path / "camera.npz", height=2, width=3).resolution == (3, 2)


def test_a_map_of_another_size_is_refused(tmp_path):
    write_camera(tmp_path / "rays.npy", LENS, height=21, width=31)
    words = r"rays\.npy holds a camera for 31x21 pixels .* but the image has 21x31"
    with pytest.raises(FileError, match=words):
        read_camera(tmp_path / "rays.npy", height=31, width=21)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.ones((4, 5)), r"holds an array of the shape \(4, 5\); expected rays of the shape"),
        (np.ones((4, 5, 2)), r"holds an array of the shape \(4, 5, 2\)"),
        (np.full((4, 5, 3), np.nan), "without a single valid ray"),
        (np.ones((4, 5, 3), complex), "type complex128"),
    ],
)
def test_every_broken_array_gives_one_clear_message(tmp_path, array, words):
    np.save(tmp_path / "rays.npy", array)
    with pytest.raises(FileError, match=words) as caught:
        read_camera(tmp_path / "rays.npy", height=None, width=None)
    assert "rays.npy" in caught.value.found


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "rays.npy").write_bytes(b"\x93NUMPY but no more")
    with pytest.raises(FileError, match=r"rays\.npy"):
        read_camera(tmp_path / "rays.npy", height=None, width=None)


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".exr"])
def test_every_ray_map_is_noted(tmp_path, suffix):
    path = tmp_path / f"rays{suffix}"
    write_camera(path, LENS, height=21, width=31)
    (note,) = read_calibration(path).notes
    assert path.name in note


@pytest.mark.parametrize("first", "xy")
def test_tangents_may_be_a_pair_of_plain_arrays(tmp_path, first):
    rays = LENS.rays(21, 31)
    for axis, array in zip("xy", np.moveaxis(rays, -1, 0), strict=False):
        np.save(tmp_path / f"bear_ray_directions_{axis}.npy", array)
    path = tmp_path / f"bear_ray_directions_{first}.npy"
    reading = read_calibration(path, Request(height=21, width=31))
    np.testing.assert_allclose(reading.camera.rays(21, 31), rays, rtol=1e-14)
    assert reading.notes == (
        f"{path.name}: ray of every pixel",
        "rays (x/z, y/z, 1) from ray_directions_x and ray_directions_y",
    )


@pytest.mark.parametrize("apart", [False, True])
def test_tangents_of_the_authors_are_rays_with_z_1(tmp_path, apart):
    rays = LENS.rays(21, 31)
    arrays = {"ray_directions_x": rays[..., 0], "ray_directions_y": rays[..., 1]}
    path = tmp_path / "bear_x.mat"
    if apart:
        for axis, (name, array) in zip("xy", arrays.items(), strict=True):
            savemat(tmp_path / f"bear_{axis}.mat", {name: array})
    else:
        savemat(path, arrays)
    camera = read_camera(path, height=21, width=31)
    np.testing.assert_allclose(camera.rays(21, 31), rays, rtol=1e-14)


def save_one(path, name):
    if path.suffix == ".npy":
        np.save(path, np.zeros((4, 5)))
    else:
        savemat(path, {name: np.zeros((4, 5))})


@pytest.mark.parametrize(
    ("file", "own", "other"),
    [
        *(("bear_x.mat", "x", "y"), ("bear_y.mat", "y", "x"), ("bear.mat", "x", "y")),
        *(("ray_directions_x.npy", "x", "y"), ("ray_directions_y.npy", "y", "x")),
    ],
)
def test_tangents_without_their_other_half_are_refused(tmp_path, file, own, other):
    path = tmp_path / file
    save_one(path, f"ray_directions_{own}")
    words = f"{path} holds ray_directions_{own} but no ray_directions_{other}"
    with pytest.raises(FileError, match=re.escape(words)):
        read_camera(path)


@pytest.mark.parametrize("file", ["ray_directions_x.npy", "ray_directions_y.npy", "bear_x.mat"])
def test_a_missing_half_is_a_missing_file(tmp_path, file):
    with pytest.raises(FileError, match=f"{file} does not exist"):
        read_camera(tmp_path / file)


def test_another_array_in_the_place_of_the_other_half_is_refused(tmp_path):
    save_one(tmp_path / "bear_x.mat", "ray_directions_x")
    save_one(tmp_path / "bear_y.mat", "mask")
    with pytest.raises(FileError, match=r"ray_directions_y.*bear_y\.mat"):
        read_camera(tmp_path / "bear_x.mat")


@pytest.mark.parametrize("name", ["camera.yaml", "camera"])
def test_unknown_formats_name_the_known_ones(tmp_path, name):
    (tmp_path / name).write_text("nothing: known\n")
    with pytest.raises(FileError, match=r"camera\.json.*OpenCV.*COLMAP"):
        read_camera(tmp_path / name)
    with pytest.raises(FileError, match=r"\.json, \.npy, \.npz, \.exr"):
        write_camera(tmp_path / name, LENS)


def test_what_cannot_become_a_ray_map_is_refused(tmp_path):
    with pytest.raises(CameraError, match=r"Orthographic.*\.json"):
        write_camera(tmp_path / "rays.npy", Orthographic(), height=2, width=2)
    with pytest.raises(CameraError, match="Pass height= and width="):
        write_camera(tmp_path / "rays.npy", LENS, height=2)
    assert list(tmp_path.iterdir()) == []
