"""rayrelief integrate: files of earlier runs stay and are named, and what it reads stays whole."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rayrelief.cameras.calibration import write_camera
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.datasets.folder import read_scene

ONE_THREAD = ("--threads", 1)
BARE = (*ONE_THREAD, "--depth-format", "none", "--mesh-format", "none")


# What an earlier run has left behind


@pytest.fixture
def no_preview(monkeypatch):
    """Leave out the picture, which takes most of the time of a small run."""
    monkeypatch.setattr("rayrelief.viewer.preview.write_preview", lambda *_, **__: None)


LEFT = "left from an earlier run"


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.usefixtures("no_preview")
def test_files_of_an_earlier_run_are_named_and_stay(run, plane, out, read_report):
    rays = out.parent / "rays_in.npy"
    np.save(rays, read_scene(plane).camera.rays(24, 32))
    formats = ("--depth-format", "npy,exr", "--mesh-format", "stl")
    first = run("integrate", plane, "-o", out, *formats, *ONE_THREAD)
    assert first.code == 0
    assert LEFT not in first.err
    (out / "notes.txt").write_text("mine")
    (out / "depth.exr").unlink()
    before = contents(out)

    second = run("integrate", plane, "-o", out, "--camera", rays, *BARE)
    (told,) = (line for line in second.lines("warning: ") if LEFT in line)
    assert told.endswith(": depth.npy, mesh.stl, layers.npz, camera.json")
    assert read_report(out)["files"] == ["preview.png", "rays.npy", "report.json"]
    del before["report.json"]
    assert before.items() <= contents(out).items()

    (out / "layers.npz").unlink()
    for _ in range(2):  # as long as they are there
        third = run("integrate", plane, "-o", out, "--json", *BARE)
        (told,) = (line for line in third.lines("warning: ") if LEFT in line)
        assert told.endswith(": rays.npy, depth.npy, mesh.stl")
        assert third.json()["status"]["ok"]
        assert read_report(out)["left"] == ["rays.npy", "depth.npy", "mesh.stl"]


@pytest.mark.usefixtures("no_preview")
def test_files_of_an_earlier_run_are_named_also_after_one_that_failed(
    run, plane, out, monkeypatch, read_report
):
    def exhausted(*_, **__):
        raise MemoryError

    formats = ("--depth-format", "npy", "--mesh-format", "stl")
    assert run("integrate", plane, "-o", out, *formats, *ONE_THREAD).code == 0
    left = ["depth.npy", "mesh.stl", "layers.npz", "camera.json"]
    with monkeypatch.context() as patch:
        patch.setattr("rayrelief.cli.runs.run.integrate", exhausted)
        assert run("integrate", plane, "-o", out, *BARE).code == 1
    assert (read_report(out)["files"], read_report(out)["left"]) == ([], left)
    told = run("integrate", plane, "-o", out, *BARE).lines("warning: ")
    assert [line.rpartition(": ")[2] for line in told if LEFT in line] == [", ".join(left[:3])]


@pytest.mark.usefixtures("no_preview")
def test_files_of_the_user_outlive_any_number_of_runs(run, plane):
    scene = read_scene(plane)
    write_camera(plane / "mine.json", scene.camera)
    rays = plane / "rays_in.npy"
    np.save(rays, scene.camera.rays(24, 32))
    before = contents(plane)
    for camera in (plane / "mine.json", rays, plane / "K.txt", rays):
        assert run("integrate", plane, "-o", plane, "--camera", camera, *BARE).code == 0
    assert before.items() <= contents(plane).items()


TAMPERED = [
    {"files": ["depth.npy"]},
    {"rayrelief": "0.1.0"},
    {"rayrelief": "0.1.0", "files": "depth.npy"},
    {"rayrelief": "0.1.0", "files": {"depth.npy": 1}},
    {"rayrelief": "0.1.0", "files": [], "left": "depth.npy"},
    {"rayrelief": "0.1.0", "left": [5, None, ["depth.npy"], "../depth.npy", "notes.txt"]},
    {"rayrelief": "0.1.0", "files": [5, None, ["depth.npy"], "", ".", "..", "notes.txt"]},
    {"rayrelief": "0.1.0", "files": ["../depth.npy", "deeper/depth.npy", "./depth.npy"]},
    {"rayrelief": "0.1.0", "files": ["deeper", "mesh.obj", "DEPTH.NPY", "depth.npy\n", "depth"]},
    ["depth.npy"],
]


@pytest.mark.usefixtures("no_preview")
@pytest.mark.parametrize("report", [*map(json.dumps, TAMPERED), "{", "[" * 100_000, "\udcff"])
def test_nothing_is_named_that_no_report_of_a_run_lists(run, plane, out, report):
    (out / "deeper").mkdir(parents=True)
    mine = [out / name for name in ("depth.npy", "notes.txt", "deeper/depth.npy", "../depth.npy")]
    for path in mine:
        path.write_text("mine")
    (out / "report.json").write_bytes(report.encode(errors="surrogateescape"))
    ended = run("integrate", plane, "-o", out, *BARE)
    assert ended.code == 0
    assert [path.read_text() for path in mine] == ["mine"] * 4
    assert LEFT not in ended.err


# What a run reads is not replaced


def _its_camera(folder):
    write_camera(folder / "camera.json", read_scene(folder).camera)
    return (folder, "-o", folder), "camera.json"


def _the_camera_beside_it(folder):
    write_camera(folder / "camera.json", read_scene(folder).camera)
    return (folder / "normal_map.png", "-o", folder, "--convention", "opengl"), "camera.json"


def _its_camera_by_another_way(folder):
    write_camera(folder / "camera.json", read_scene(folder).camera)
    (folder.parent / "link").symlink_to(folder, target_is_directory=True)
    return (folder, "-o", folder.parent / "link"), "camera.json"


def _its_camera_by_option(folder):
    np.save(folder / "rays.npy", read_scene(folder).camera.rays(24, 32))
    return (folder, "-o", folder, "--camera", folder / "rays.npy"), "rays.npy"


def _its_mask(folder):
    (folder / "mask.png").rename(folder / "preview.png")
    return (folder, "-o", folder, "--mask", folder / "preview.png"), "preview.png"


def _its_map(folder):
    path = folder / "depth.npy"
    np.save(path, read_scene(folder).normals)
    options = ("--convention", "opencv", "--camera", folder / "K.txt")
    return (path, "-o", folder, "--depth-format", "npy", *options), "depth.npy"


def _its_ground_truth(folder):
    (folder / "depth.npz").symlink_to("depth_gt.npz")
    return (folder, "-o", folder, "--depth-format", "exr,npz"), "depth_gt.npz"


@pytest.mark.parametrize("more", [(), ("--dry-run",)], ids=["run", "dry run"])
@pytest.mark.parametrize(
    "arrange",
    [
        _its_camera,
        _the_camera_beside_it,
        _its_camera_by_another_way,
        _its_camera_by_option,
        _its_mask,
        _its_map,
        _its_ground_truth,
    ],
)
def test_a_run_that_would_replace_its_input_is_refused_before_it_starts(
    run, plane, monkeypatch, arrange, more
):
    arguments, name = arrange(plane)
    before = contents(plane)
    for module in ("run", "dry_run"):
        monkeypatch.setattr(f"rayrelief.cli.runs.{module}.integrate", None)
    error = run("integrate", *arguments, *more).error()
    assert str(plane / name) in error
    assert " -o" in error
    assert contents(plane) == before


@pytest.mark.usefixtures("no_preview")
def test_a_camera_that_is_not_in_use_does_not_matter(run, plane):
    write_camera(plane / "camera.json", Pinhole(99, 99, 16, 12, size=(32, 24)))
    camera = ("--camera", plane / "K.txt")
    assert run("integrate", plane, "-o", plane, *camera, *BARE).code == 0
