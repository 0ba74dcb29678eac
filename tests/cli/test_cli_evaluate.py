"""rayrelief evaluate, demo and --version."""

from __future__ import annotations

import re

import numpy as np
import pytest

import rayrelief
from rayrelief.backends.cpu import CPU
from rayrelief.cameras.calibration import write_camera
from rayrelief.cameras.equirectangular import Equirectangular
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cli.runs.error_table import NUMBERS, error_table
from rayrelief.conventions import from_opencv
from rayrelief.datasets.folder import read_scene
from rayrelief.evaluation.metrics import depth_errors
from rayrelief.integration import integrate
from rayrelief.result import Integration
from rayrelief.synthetic.surroundings import wavy_room

ONE_THREAD = ("--threads", 1)


def table_of(ended):
    """Rows of a printed table by its columns, after a look at units and alignment."""
    assert ended.code == 0
    head, units, *lines = ended.out.splitlines()
    ends = {word.end() for word in re.finditer(r"\S+", head)}
    assert {word.end() for word in re.finditer(r"truth's unit|\S+", units)} < ends
    rows = [re.split(r" {2,}", line) for line in lines]
    names = re.split(r" {2,}", head)
    return [dict(zip(names, row, strict=True)) for row in rows]


def test_table_of_several_methods(run, sphere, plane):
    methods = ("--method", "bini", "--method", "smooth", "--method", "bini")
    ended = run("evaluate", sphere, plane, *methods, *ONE_THREAD)
    rows = table_of(ended)
    scenes = ["sphere", "plane", "mean of 2"]
    assert [row["scene"] for row in rows] == 2 * scenes
    assert [row["method"] for row in rows] == 3 * ["bini"] + 3 * ["smooth"]
    assert {row["aligned by"] for row in rows} == {"median scale"}
    for first, second, mean in (rows[:3], rows[3:]):
        for key in ("MADE", "RE", "ERA", "angle", "iterations"):
            expected = (float(first[key]) + float(second[key])) / 2
            assert float(mean[key]) == pytest.approx(expected, abs=0.011)
    notes = ended.lines("note: ")
    assert len(notes) == len(set(notes)), "once for each scene, not for each method"
    assert any(note.startswith("note: plane, K.txt") for note in notes)


def test_units_of_the_table(run, plane):
    units = run("evaluate", plane, *ONE_THREAD).out.splitlines()[1]
    assert re.split(r" {2,}", units.strip()) == ["truth's unit", "%", "%", "degrees", "s"]


def test_a_piped_table_is_whole_and_plain(start, sphere):
    process = start("evaluate", sphere, *ONE_THREAD)  # with FORCE_COLOR, and 80 columns
    printed, _ = process.communicate(timeout=600)
    assert "\x1b" not in printed
    assert printed.splitlines()[-1].endswith("median scale")
    assert "\N{HORIZONTAL ELLIPSIS}" not in printed


def test_a_method_that_cannot_be_used_costs_its_own_row_only(run, plane):
    methods = ("--method", "bini", "--method", "smooth", "--json")
    both = run("evaluate", plane, "--connectivity", "8", *methods, *ONE_THREAD)
    assert [row["method"] for row in both.json()] == ["bini", "smooth"]
    printed = ("--published", "--method", "bini", "--method", "ray-plane", "--max-iterations", 2)
    ended = run("evaluate", plane, "--connectivity", "8", *printed, "--json", *ONE_THREAD)
    assert ended.code == 1
    assert [row["method"] for row in ended.json()] == ["ray-plane"]
    (line,) = ended.lines("error: ")
    assert line.startswith("error: plane with bini: ")


def test_json_holds_the_errors_of_the_library(run, sphere, plane):
    rows = run("evaluate", sphere, plane, "--json", *ONE_THREAD).json()
    assert [row["scene"] for row in rows] == ["sphere", "plane"]
    for row, folder in zip(rows, (sphere, plane), strict=True):
        scene = read_scene(folder)
        result = integrate(scene.normals, scene.camera, mask=scene.mask, backend=CPU(1))
        assert scene.depth is not None
        errors = depth_errors(result.depth, scene.depth, "scale")
        assert (row["made"], row["re_percent"], row["era_percent"]) == (
            errors.made,
            errors.re,
            errors.era,
        )
        assert row["alignment"] == "scale"
        assert row["pixels"] == scene.mask.sum()
        assert row["iterations"] == len(result.history)
        assert row["status"] == "settled"


def test_one_of_several_cameras(run, plane, tmp_path):
    camera = read_scene(plane).camera
    assert isinstance(camera, Pinhole)
    true = f"{camera.fx} {camera.fy} {camera.cx + 0.5} {camera.cy + 0.5}"
    path = tmp_path / "cameras.txt"
    path.write_text(f"1 PINHOLE 32 24 500 500 16 12\n2 PINHOLE 32 24 {true}\n")
    options = ("--camera", path, "--json", *ONE_THREAD)
    assert ": 1, 2;" in run("evaluate", plane, "--camera", path).error()
    wrong, right = (
        run("evaluate", plane, "--which", which, *options).json()[0]["re_percent"] for which in "12"
    )
    assert right < 1e-3 < wrong


def test_orthographic_camera_is_aligned_by_a_shift(run, plane):
    options = ("--camera", "orthographic", *ONE_THREAD)
    row = run("evaluate", plane, "--json", *options).json()[0]
    assert row["alignment"] == "shift"
    assert row["re_percent"] is None
    (shown,) = table_of(run("evaluate", plane, *options))
    assert (shown["RE"], shown["ERA"], shown["aligned by"]) == ("-", "-", "median shift")


def test_panorama_with_distances_that_do_not_say_so(run, tmp_path):
    scene = wavy_room(24, 48, Equirectangular.full(24, 48))
    assert scene.depth is not None
    np.save(tmp_path / "normal_map.npy", from_opencv(scene.normals, "opengl"))
    np.save(tmp_path / "depth_gt.npy", scene.depth)
    write_camera(tmp_path / "camera.json", scene.camera)
    ended = run("evaluate", tmp_path, "--json", "--method", "smooth", *ONE_THREAD)
    assert any("taken as distance" in line for line in ended.lines("note: "))
    assert ended.json()[0]["re_percent"] < 2  # 100 where they are taken as z-depth


def test_numbers_that_json_does_not_have_become_null(run, plane, monkeypatch):
    monkeypatch.setattr(Integration, "mean_angle", lambda _: float("nan"))
    rows = run("evaluate", plane, "--json", *ONE_THREAD).json()
    assert rows[0]["angle_degrees"] is None


def test_options_arrive_in_the_method(run, sphere):
    options = ("--published", "--max-iterations", 3, "--method", "bini", "--json", *ONE_THREAD)
    row = run("evaluate", sphere, *options).json()[0]
    assert row["iterations"] == 3
    assert row["status"] == "completed"


def test_the_same_warning_about_two_folders_is_two_warnings(run, sphere):
    ended = run("evaluate", sphere, sphere, "--max-iterations", 1, *ONE_THREAD)
    assert ended.code == 0
    assert len(ended.lines("warning: ")) == 2


def test_folder_without_ground_truth(run, sphere, plane):
    (plane / "depth_gt.npz").unlink()
    done = run("evaluate", plane, sphere, "--json", *ONE_THREAD)
    assert done.code == 1
    assert [row["scene"] for row in done.json()] == [sphere.name], "the others are evaluated"
    (line,) = done.lines("error: ")
    assert str(plane) in line
    assert "depth_gt.npz" in line


def test_ground_truth_without_a_pixel_in_common(run, plane):
    np.savez(plane / "depth_gt.npz", depth_gt=np.full((24, 32), np.nan))
    assert "no pixel has both" in run("evaluate", plane, *ONE_THREAD).error()


# demo and --version


def test_demo(run, out, monkeypatch, read_report):
    monkeypatch.setattr("rayrelief.cli.demo.HEIGHT", 48)
    monkeypatch.setattr("rayrelief.cli.demo.WIDTH", 64)
    ended = run("demo", "-o", out, *ONE_THREAD)
    assert ended.code == 0
    assert "MADE (median scale)" in ended.out
    assert sorted(path.name for path in out.iterdir()) == [
        "camera.json",
        "depth.npy",
        "layers.npz",
        "mesh.ply",
        "preview.png",
        "report.json",
    ]
    assert np.load(out / "depth.npy").shape == (48, 64)
    report = read_report(out)
    assert report["scene"] == "still_life"
    assert report["errors"]["made"] > 0


def test_demo_json(run, out, monkeypatch):
    monkeypatch.setattr("rayrelief.cli.demo.HEIGHT", 24)
    monkeypatch.setattr("rayrelief.cli.demo.WIDTH", 32)
    report = run("demo", "-o", out, "--json", *ONE_THREAD).json()
    assert report["input"]["size"] == [32, 24]
    assert len(report["files"]) == 6


def test_version(run):
    ended = run("--version")
    assert (ended.code, ended.out, ended.err) == (0, f"rayrelief {rayrelief.__version__}\n", "")


@pytest.mark.parametrize("verb", ["integrate", "demo", "evaluate"])
def test_help_of_every_verb(run, verb):
    ended = run(verb, "--help")
    assert ended.code == 0
    assert "--json" in ended.out
    assert "\x1b" not in ended.out


def test_a_number_that_one_scene_has_not_has_no_mean():
    numbers = dict.fromkeys((key for key, *_ in NUMBERS), 1.0)
    both = {"method": "smooth", "alignment": "shift"} | numbers
    rows = [both | {"scene": "a", "re_percent": float("nan")}, both | {"scene": "b"}]
    *_, mean = error_table(rows).splitlines()
    assert re.split(r"  +", mean)[3:6] == ["1.0000", "-", "1.0000"]
