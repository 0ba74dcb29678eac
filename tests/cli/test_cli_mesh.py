"""Options of the mesh: what they write, and what they refuse."""

from __future__ import annotations

import sys

import cv2
import numpy as np
import pytest
import trimesh

from rayrelief import integrate
from rayrelief.cli.options.mesh import MeshOptions
from rayrelief.io.images import write_png
from rayrelief.synthetic import gallery
from reference.layout import write_layout


@pytest.fixture
def spheres(tmp_path):
    return write_layout(tmp_path / "spheres", gallery.overlapping_spheres(48, 64))


def test_a_solid_in_one_command(run, spheres, out, read_report):
    ended = run(
        "integrate", spheres, "-o", out, "--solid", "--width", "5cm", "--mesh-format", "stl"
    )
    assert ended.code == 0
    body = trimesh.load(out / "mesh.stl")
    assert body.is_watertight
    assert body.volume > 0
    np.testing.assert_allclose(body.extents[0], 50, rtol=1e-6)
    report = read_report(out)["mesh"]
    assert report["solid"]
    assert report["unit"] == "mm"
    assert report["left_out"]["pixels"] > 0
    told = report["options"]
    assert (told["cut"], told["base"], told["width"], told["max_error"]) == (2, 3, 50, None)
    assert "a solid of 50 x" in ended.out


def test_fewer_faces_and_a_unit(run, spheres, out, read_report):
    pytest.importorskip("fast_simplification")
    size = ("--width", "4in", "--unit", "cm", "--mesh-format", "ply,glb")
    assert run("integrate", spheres, "-o", out / "all", *size).code == 0
    assert run("integrate", spheres, "-o", out / "few", *size, "--max-error", "1mm").code == 0
    reports = [read_report(out / each) for each in ("all", "few")]
    assert [(each["unit"], each["mesh"]["unit"]) for each in reports] == 2 * [(None, "cm")]
    faces = [each["mesh"]["faces"] for each in reports]
    assert faces[1] < 0.5 * faces[0]
    np.testing.assert_allclose(trimesh.load(out / "few" / "mesh.ply").extents[0], 10.16, rtol=0.02)
    read = trimesh.load(out / "all" / "mesh.glb", force="mesh")
    np.testing.assert_allclose(read.extents[0], 0.1016, rtol=1e-6)


@pytest.mark.parametrize("colour", ["normals", "depth", "error", "photo"])
def test_colours(run, spheres, out, tmp_path, colour):
    rng = np.random.default_rng(0)
    photo = rng.integers(0, 2**16, (96, 128)).astype(np.uint16)  # grey, of 16 bits, twice as large
    write_png(tmp_path / "photo.png", photo)
    chosen = tmp_path / "photo.png" if colour == "photo" else colour
    assert run("integrate", spheres, "-o", out, "--colour", chosen).code == 0
    colours = trimesh.load(out / "mesh.ply", process=False).visual.vertex_colors[:, :3]
    assert len(np.unique(colours, axis=0)) > 30
    if colour == "photo":
        assert set(colours.ravel().tolist()) <= set((photo >> 8).ravel().tolist())


def test_parts_are_left_out_on_request(run, spheres, out, read_report):
    assert run("integrate", spheres, "-o", out / "a", "--cut", 0, "--min-part", 1).code == 0
    assert run("integrate", spheres, "-o", out / "b", "--cut", 0, "--min-part", 400).code == 0
    sizes = [read_report(out / each)["mesh"]["vertices"] for each in "ab"]
    assert sizes[0] > sizes[1] > 0


def test_a_unit_of_a_surface_that_nobody_measured_is_warned_of(run, spheres, out):
    bare = ("integrate", spheres, "-o", out, "--mesh-format", "none", "--unit", "mm")
    assert "median depth becomes 1 mm" in run(*bare).err
    assert "median depth" not in run(*bare, "--scale-to", 40).err
    assert "median depth" not in run(*bare, "--width", "40mm", "--mesh-format", "ply").err


def test_no_cut_at_all(run, spheres, out, read_report):
    assert run("integrate", spheres, "-o", out / "cut").code == 0
    assert run("integrate", spheres, "-o", out / "whole", "--cut", "inf").code == 0
    cut, whole = (read_report(out / each)["mesh"] for each in ("cut", "whole"))
    assert whole["faces"] > cut["faces"]
    assert [each["options"]["cut"] for each in (cut, whole)] == [2, "inf"]


def test_points_with_normals(run, sphere, out):
    assert run("integrate", sphere, "-o", out, "--faces", "none").code == 0
    assert b"property float nx" in (out / "mesh.ply").read_bytes()[:400]
    assert len(trimesh.load(out / "mesh.ply").vertices) > 200


@pytest.mark.parametrize("asked", [("--solid",), ("--mesh-format", "stl"), ("--width", "9cm")])
def test_a_mesh_that_was_asked_for_and_cannot_be_made_is_a_failure(
    run, plane, out, tmp_path, read_report, asked
):
    mask = np.zeros((24, 32), np.uint8)
    mask[2:, 5] = 255  # pixels without any faces between them
    write_png(tmp_path / "mask.png", mask)
    words = ("--mask", tmp_path / "mask.png", "--camera", "orthographic", "--method", "smooth")
    command = ("integrate", plane, "-o", out, *words)
    assert run(*command).code == 0
    left = read_report(out)
    line = run(*command, *asked).error()
    assert "is not written: " in line
    report = read_report(out)
    assert report["status"]["cause"] in line
    assert not report["status"]["ok"]
    assert set(report["files"]) == {f for f in left["files"] if f != "mesh.ply"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--max-error", "0.1mm"), "--width"),
        (("--solid", "--base", "3 furlongs"), "'--base': the length"),
        (("--width", "0mm"), "'--width': the length"),
        (("--width", "1e30mm"), "'--width': the length"),
        (("--base", "3mm"), "--base goes with --solid"),
        (("--faces", "quads", "--mesh-format", "obj,stl"), "quads cannot be stored in stl"),
        (("--faces", "none", "--solid"), "--faces none"),
        (
            ("--faces", "quads", "--mesh-format", "obj", "--solid"),
            "--faces quads goes with neither",
        ),
        (("--faces", "quads", "--mesh-format", "obj", "--max-error", "0.1"), "--max-error"),
        (("--min-part", "0"), "--min-part"),
        (("--faces", "quads"), "add --mesh-format obj"),
        (("--solid", "--mesh-format", "none"), "does not go with --mesh-format none"),
        (("--colour", "depth", "--mesh-format", "stl"), "--colour cannot be stored in stl"),
    ],
)
def test_wrong_usage_ends_before_the_run(run, sphere, out, options, words):
    ended = run("integrate", sphere, "-o", out, *options)
    assert ended.code == 2
    assert words in " ".join(ended.err.split())
    assert not out.exists()


def test_an_error_needs_a_truth(run, sphere, out):
    (sphere / "depth_gt.npz").unlink()
    assert "ground truth" in run("integrate", sphere, "-o", out, "--colour", "error").error()


def test_a_colour_that_is_no_file_ends_before_the_run(run, sphere, out):
    words = run("integrate", sphere, "-o", out, "--colour", "red").error()
    assert "one of normals, depth, error, or the path of an image" in words
    assert not out.exists()


def test_a_photo_of_another_view_ends_before_the_run(run, sphere, out, tmp_path):
    write_png(tmp_path / "square.png", np.zeros((30, 30, 3), np.uint8))
    ended = run("integrate", sphere, "-o", out, "--colour", tmp_path / "square.png")
    assert "a picture of 30x30 pixels for a map of" in ended.error()
    assert not out.exists()


def test_libraries_that_complain_of_a_photo_are_not_heard(tmp_path, capfd):
    _, photo = cv2.imencode(".jpg", np.zeros((24, 32, 3), np.uint8))
    data = bytes(photo).replace(b"\xff\xda", b"extra\xff\xda", 1)  # which libjpeg says it skips
    (tmp_path / "photo.jpg").write_bytes(data)
    scene = gallery.sphere(24, 32)
    result = integrate(scene.normals, scene.camera, mask=scene.mask)
    capfd.readouterr()
    MeshOptions(colour=str(tmp_path / "photo.jpg")).mesh_of(result, None)
    assert capfd.readouterr() == ("", "")


def test_a_photo_is_not_replaced(run, sphere, out):
    out.mkdir()
    write_png(out / "preview.png", np.zeros((24, 32, 3), np.uint8))
    ended = run("integrate", sphere, "-o", out, "--colour", out / "preview.png")
    assert "would replace it" in ended.error()


def test_without_the_library_the_error_says_what_to_install(run, sphere, out, monkeypatch):
    monkeypatch.setitem(sys.modules, "fast_simplification", None)
    assert "pip install" in run("integrate", sphere, "-o", out, "--max-error", "0.1").error()
