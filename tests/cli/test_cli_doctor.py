"""rayrelief doctor and --convention auto: what is found out, and what is asked instead."""

from __future__ import annotations

import shlex

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from rayrelief.cameras import Equirectangular, Pinhole
from rayrelief.cameras.calibration import write_camera
from rayrelief.conventions import from_opencv
from rayrelief.io.images import write_png
from rayrelief.synthetic import GALLERY

HEIGHT, WIDTH = 96, 128


def save(path, name, axes, bits=16):
    """Map of a built-in scene as an image, black outside; and its scene."""
    scene = GALLERY[name](HEIGHT, WIDTH)
    colours = (from_opencv(scene.normals, axes) + 1) / 2
    top = 2**bits - 1
    values = np.rint(np.where(scene.mask[..., None], np.nan_to_num(colours) * top, 0))
    write_png(path, values.astype(np.uint16 if bits == 16 else np.uint8))
    return scene


@pytest.mark.parametrize(
    ("axes", "name"), [("RUB", "opengl"), ("LUB", "dsine"), ("RDB", "directx"), ("BUR", "BUR")]
)
def test_doctor_names_the_convention(run, tmp_path, axes, name):
    scene = save(tmp_path / "n.png", "tori", axes)
    found = run("doctor", tmp_path / "n.png", "--json").json()
    assert found["convention"] == name
    assert found["candidates"] == [name]
    assert found["tilt_degrees"] == 0
    focal = found["focal_length"]
    assert focal["shortest"] < scene.camera.fx < focal["longest"]
    assert f"--convention {name}" in found["command"]
    text = run("doctor", tmp_path / "n.png").out
    assert f"axes of '{name}'" in text
    assert found["command"] in text


def test_doctor_does_not_guess(run, tmp_path):
    save(tmp_path / "n.png", "plane", "RUB")
    found = run("doctor", tmp_path / "n.png", "--json").json()
    assert found["convention"] is None
    assert {"opengl", "dsine", "directx"} <= {*found["candidates"]}
    assert found["focal_length"] is None
    text = run("doctor", tmp_path / "n.png").out
    assert "cannot tell" in text
    assert "--convention is one of several" in text
    words = shlex.split(found["command"])
    assert words[words.index("--convention") + 1] in found["candidates"]
    assert run(*words[1:], "--dry-run").code == 0


def test_doctor_doubts_what_has_colours_of_any_length(run, tmp_path):
    save(tmp_path / "n.png", "tori", "RUB")
    assert run("doctor", tmp_path / "n.png", "--json").json()["doubt"] is None
    v, u = np.indices((HEIGHT, WIDTH)) / 30
    bright = 0.5 + 0.4 * np.stack((np.sin(2 * u + v), np.sin(2 * u), np.cos(v + 2 * u)), axis=-1)
    write_png(tmp_path / "photo.png", np.rint(255 * bright).astype(np.uint8))
    found = run("doctor", tmp_path / "photo.png", "--json").json()["doubt"]
    assert "% of the vectors have a length near 1" in found
    assert f"may be no normal map: {found}" in run("doctor", tmp_path / "photo.png").out


def test_the_command_of_doctor_holds_what_it_was_given(run, tmp_path):
    place = tmp_path / "my maps"
    place.mkdir()
    scene = save(place / "n.png", "tori", "RUB")
    write_png(place / "inside.png", np.uint8(255) * scene.mask)
    np.savetxt(place / "K.txt", [[150, 0, 80], [0, 150, 60], [0, 0, 1]])
    options = ("--camera", place / "K.txt", "--k-order", "legacy", "--mask", place / "inside.png")
    command = run("doctor", place / "n.png", *options, "--json").json()["command"]
    words = shlex.split(command)
    assert words[0] == "rayrelief"
    assert words[words.index("--k-order") + 1] == "legacy"
    assert run(*words[1:], "--dry-run").code == 0


def test_doctor_uses_the_camera_beside_the_map(run, tmp_path):
    save(tmp_path / "n.png", "tori", "RUB")
    np.savetxt(tmp_path / "K.txt", [[150, 0, 64], [0, 150, 48], [0, 0, 1]])
    found = run("doctor", tmp_path / "n.png", "--json").json()
    assert found["camera"][0] == "camera: K.txt beside the map"
    words = shlex.split(found["command"])
    assert not {"--fov", "--camera"} & {*words}
    assert "note: camera: K.txt beside the map\n" in run(*words[1:], "--dry-run").err
    write_camera(tmp_path / "camera.json", Pinhole.from_fov(60, 20, 30))
    (note,) = run("doctor", tmp_path / "n.png", "--json").json()["camera"]
    assert note.startswith("not used: ")
    assert "camera.json holds a camera for 30x20 pixels" in note


def test_doctor_says_of_normals_in_world_space_that_they_are(run, tmp_path):
    scene = GALLERY["room"](HEIGHT, WIDTH)
    turn = Rotation.from_euler("xyz", [-50, 20, 10], degrees=True).as_matrix()
    np.save(tmp_path / "n.npy", scene.normals @ turn.T)
    text = run("doctor", tmp_path / "n.npy").out
    assert "world space" in text
    assert "rayrelief integrate" not in text


def test_auto_reads_the_map_in_the_axes_that_it_finds(run, tmp_path, out):
    scene = save(tmp_path / "n.png", "tori", "RDB")
    camera = ("--fov", 50, "--json", "--dry-run", "--threads", 1)
    ended = run("integrate", tmp_path / "n.png", "-o", out, "--convention", "auto", *camera)
    assert ended.code == 0
    assert any("axes of 'directx'" in note for note in ended.json()["input"]["notes"])
    assert ended.json()["inside"] == int(scene.mask.sum())


def test_auto_asks_where_the_map_does_not_tell(run, tmp_path, out):
    save(tmp_path / "n.png", "plane", "RUB")
    line = run(
        "integrate", tmp_path / "n.png", "-o", out, "--convention", "auto", "--fov", 50
    ).error()
    assert "cannot tell" in line
    assert "--convention opengl" in line


def test_a_wrong_convention_is_refused_until_confirmed(run, tmp_path, out):
    save(tmp_path / "n.png", "tori", "RUB")
    command = ("integrate", tmp_path / "n.png", "-o", out, "--fov", 50, "--threads", 1, "--dry-run")
    assert "--convention opengl" in run(*command, "--convention", "DSINE").error()
    assert run(*command, "--convention", "dsine", "--no-convention-check").code == 0


@pytest.mark.parametrize("told", ["opengl", "dsine", "directx"])
def test_a_wrong_convention_of_a_panorama_is_refused(run, tmp_path, out, told):
    scene = GALLERY["room"](64, 128, Equirectangular.full(64, 128))
    np.save(tmp_path / "n.npy", scene.normals)
    options = ("-o", out, "--camera", "equirectangular", "--convention", told, "--dry-run")
    assert "--convention opencv" in run("integrate", tmp_path / "n.npy", *options).error()


def test_a_camera_that_does_not_suit_the_map_is_doubted(run, tmp_path, out):
    save(tmp_path / "n.png", "sphere", "RUB")
    command = ("integrate", tmp_path / "n.png", "-o", out, "--convention", "opengl", "--dry-run")
    doubts = [
        "but not through this one: check the camera" in run(*command, "--fov", fov).err
        for fov in (50, 140)
    ]
    assert doubts == [False, True]


@pytest.mark.parametrize(
    "options",
    [
        ("--convention", "unreal"),
        ("--focal", "50mm"),
        ("--focal", "3700", "--sensor", "36mm"),
        ("--focal", "3700", "--fov", "50"),
    ],
)
def test_wrong_usage(run, sphere, out, options):
    assert run("integrate", sphere, "-o", out, *options).code == 2
