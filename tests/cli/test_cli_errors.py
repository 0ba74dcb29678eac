"""What can go wrong on the command line: one line that helps, an exit code, and no traceback."""

from __future__ import annotations

import errno
import os
import re
import sys

import numpy as np
import pytest

from rayrelief.cameras.calibration import write_camera
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cli import evaluate as cli_evaluate
from rayrelief.io.images import write_png
from rayrelief.methods import Smooth

# Wrong usage: exit code 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ["Usage"]),
        (("paint",), ["paint"]),
        (("integrate", "FOLDER"), ["--out"]),
        (("integrate", "-o", "OUT"), ["Missing argument"]),
        (("integrate", "FOLDER", "-o", "OUT", "--bogus"), ["--bogus"]),
        (("integrate", "FOLDER", "-o", "OUT", "--method", "magic"), ["magic", "ray-plane"]),
        (("integrate", "FOLDER", "-o", "OUT", "--convention", "unreal"), ["unreal", "directx"]),
        (("integrate", "FOLDER", "-o", "OUT", "--connectivity", "6"), ["6", "diagonal"]),
        (("integrate", "FOLDER", "-o", "OUT", "--max-iterations", "0"), ["max_iterations is 0"]),
        (("integrate", "FOLDER", "-o", "OUT", "--max-iterations", "many"), ["'many'"]),
        (("integrate", "FOLDER", "-o", "OUT", "--threads", "0"), ["--threads"]),
        (
            ("integrate", "FOLDER", "-o", "OUT", "--camera", "orthographic", "--fov", "60"),
            ["--camera", "--fov"],
        ),
        (
            ("integrate", "FOLDER", "-o", "OUT", "--method", "bini", "--midpoint", "0.5"),
            ["--midpoint", "--method bini"],
        ),
        (
            ("integrate", "FOLDER", "-o", "OUT", "--method", "bini", "--no-jumps"),
            ["--jumps", "--method bini"],
        ),
        (
            ("integrate", "FOLDER", "-o", "OUT", "--method", "smooth", "--published"),
            ["--published cannot be used with --method smooth: add --method ray-plane or bini"],
        ),
        (  # settings of the paper's method, and of none that has them all, with the default
            ("integrate", "FOLDER", "-o", "OUT", "--sharpness", "1"),
            ["--sharpness cannot be used with --method ordered: add --method ray-plane or bini"],
        ),
        (
            ("integrate", "FOLDER", "-o", "OUT", "--no-jumps", "--form", "printed"),
            ["--jumps, --form cannot be used with --method ordered"],
        ),
        (
            ("evaluate", "FOLDER", "--method", "bini", "--method", "smooth", "--sharpness", "1"),
            ["--sharpness cannot be used with --method smooth"],
        ),
        (
            ("integrate", "FOLDER", "-o", "OUT", "--depth-format", "npy,tif"),
            ["'npy,tif'", "npy, npz, exr, png"],
        ),
        (("integrate", "FOLDER", "-o", "OUT", "--mesh-format", ""), ["ply, obj, glb, stl"]),
        (("evaluate",), ["Missing argument"]),
        *(
            (
                (*verb, *camera, *option),
                [option[0], repr(words)],
            )
            for verb in (("integrate", "FOLDER", "-o", "OUT"), ("evaluate", "FOLDER"))
            for camera, words in (
                (("--fov", "60"), "fov:60.0"),
                (("--camera", "30,30,16,12"), "30,30,16,12"),
                (("--camera", "orthographic"), "orthographic"),
            )
            for option in (("--k-order", "legacy"), ("--k-order", "opencv"), ("--which", "cam0"))
        ),
        (
            ("camera", "fov:60", "--width", "9", "--height", "9", "--k-order", "legacy"),
            ["--k-order", "'fov:60'"],
        ),
        (
            ("evaluate", "FOLDER", "--fov", "60", "--which", "cam0", "--k-order", "legacy"),
            ["--which and --k-order"],
        ),
    ],
    ids=lambda value: " ".join(value[2:]) if isinstance(value, tuple) else "",
)
def test_wrong_usage(run, sphere, out, arguments, words):
    places = {"FOLDER": sphere, "OUT": out}
    ended = run(*(places.get(argument, argument) for argument in arguments))
    said = " ".join(ended.err.split()) or ended.out
    assert ended.code == 2
    assert all(word in said for word in words), said
    assert not out.exists()


# Bad input: exit code 1


def test_missing_path(run, out):
    line = run("integrate", out / "nowhere", "-o", out).error()
    assert f"{out / 'nowhere'} does not exist" in line


def test_name_that_no_file_system_takes(run, out):
    line = run("integrate", "n" * 5000, "-o", out).error()
    assert "n" * 100 in line


def test_folder_without_a_normal_map(run, sphere, out):
    (sphere / "normal_map.png").unlink()
    line = run("integrate", sphere, "-o", out).error()
    assert str(sphere) in line
    assert "normal_map.png" in line


def test_cut_off_png(run, sphere, out):
    path = sphere / "normal_map.png"
    path.write_bytes(path.read_bytes()[:-200])
    line = run("integrate", sphere, "-o", out).error()
    assert str(path) in line
    assert "damaged" in line


def test_mask_of_another_size(run, sphere, out):
    write_png(sphere / "mask.png", np.full((32, 24), 255, np.uint8))
    line = run("integrate", sphere, "-o", out).error()
    assert "24x32" in line
    assert "32x24" in line


def test_empty_mask(run, sphere, out):
    write_png(sphere / "mask.png", np.zeros((24, 32), np.uint8))
    line = run("integrate", sphere, "-o", out).error()
    assert str(sphere / "mask.png") in line


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.full((24, 32, 3), np.nan), ["no normal"]),
        (np.ones((24, 32, 2)), ["grey", "2 channels"]),
        (np.ones((24, 32)), ["grey", "(24, 32)"]),
        (np.ones((2, 24, 32, 3)), ["(2, 24, 32, 3)"]),
        (np.array([{"normals": 1}], dtype=object), ["pickled"]),
    ],
    ids=["NaN", "two channels", "grey", "four axes", "pickle"],
)
def test_array_that_is_no_normal_map(run, out, array, words):
    path = out.parent / "map.npy"
    np.save(path, array, allow_pickle=True)
    ended = run("integrate", path, "-o", out, "--convention", "opencv", "--fov", 60)
    line = ended.error()
    assert all(word in line for word in [str(path), *words]), line


def test_camera_of_another_resolution(run, sphere, out):
    write_camera(sphere / "camera.json", Pinhole.from_fov(60, 48, 64))
    line = run("integrate", sphere, "-o", out).error()
    assert "64x48" in line
    assert "32x24" in line
    assert "resize(32, 24)" in line


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0 0 16\n0 0 12\n0 0 1\n", "singular"),
        ("fx 0 cx\n0 fy cy\n0 0 1\n", "'fx' in line 1"),
        ("30 0 16\n0 30 12\n", "2 rows"),
    ],
    ids=["singular", "text", "cut off"],
)
def test_camera_matrix_that_is_none(run, sphere, out, text, found):
    (sphere / "K.txt").write_text(text)
    line = run("integrate", sphere, "-o", out).error()
    for fact in (str(sphere / "K.txt"), found, "fx 0 cx, 0 fy cy, 0 0 1", "numpy.savetxt"):
        assert fact in line


@pytest.mark.parametrize(
    ("option", "word"),
    [
        (("--camera", "30,30,16"), "fx,fy,cx,cy"),
        (("--camera", "30,-30,16,12"), "from 0.001"),
        (("--camera", "nowhere.json"), "nowhere.json does not exist"),
        (("--camera", "pinhole"), "'pinhole' is no file, and no word that is known; expected 'fx,"),
        (("--camera", "500"), "'500' is no file, and no word that is known; expected 'fx,"),
        (("--camera", "500.5"), "'500.5' is no file, and no word that is known; expected 'fx,"),
        (("--camera", "camera.ini"), "camera.ini does not exist"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_camera_option_that_is_none(run, sphere, out, option, word):
    assert word in run("integrate", sphere, "-o", out, *option).error()


@pytest.mark.parametrize(
    ("option", "word"),
    [
        (("--fov", 180), "--fov"),
        (("--method", "ray-plane", "--midpoint", 2), "a fraction from 0 to 1"),
        (("--tolerance", -1), "a positive number"),
        (("--tolerance", "nan"), "a positive number"),
        (("--method", "ray-plane", "--outlier-threshold", 0), "a positive fraction"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_setting_out_of_its_range(run, sphere, out, option, word):
    ended = run("integrate", sphere, "-o", out, *option)
    assert ended.code == 2
    assert word in " ".join(ended.err.split())
    assert not out.exists()


@pytest.mark.parametrize("verb", [("integrate", "FOLDER", "-o", "OUT"), ("evaluate", "FOLDER")])
@pytest.mark.parametrize("name", ["camera.json", "cameras.txt"])
def test_order_of_a_camera_that_is_no_matrix(run, sphere, out, verb, name):
    places = {"FOLDER": sphere, "OUT": out}
    write_camera(out.parent / "camera.json", Pinhole.from_fov(60, 24, 32))
    (out.parent / "cameras.txt").write_text("1 SIMPLE_PINHOLE 32 24 40 16 12\n")
    arguments = [places.get(argument, argument) for argument in verb]
    line = run(*arguments, "--camera", out.parent / name, "--k-order", "legacy").error()
    assert "--k-order" in line
    assert name in line


PAIR = "1 PINHOLE 32 24 40 40 16 12\n2 PINHOLE 32 24 40 40 900 12\n3 PINHOLE 64 48 40 40 32 24\n"


@pytest.mark.parametrize("verb", [("integrate", "FOLDER", "-o", "OUT"), ("evaluate", "FOLDER")])
@pytest.mark.parametrize(
    ("which", "words"),
    [
        ("2", ("cameras.txt, camera 2", "(899.5, 11.5)")),
        ("3", ("cameras.txt, camera 3", "64x48")),
    ],
)
def test_one_of_several_cameras_that_does_not_fit_is_named(run, sphere, out, verb, which, words):
    places = {"FOLDER": sphere, "OUT": out}
    (out.parent / "cameras.txt").write_text(PAIR)
    arguments = [places.get(argument, argument) for argument in verb]
    line = run(*arguments, "--camera", out.parent / "cameras.txt", "--which", which).error()
    assert all(word in line for word in words)


def test_normals_that_face_away_name_a_convention_that_fits(run, sphere, out):
    line = run("integrate", sphere, "-o", out, "--convention", "opencv").error()
    assert "'opengl'" in line
    assert not out.exists()
    named = re.search("--convention ([a-z]+)", line)
    assert named is not None
    ended = run("integrate", sphere, "-o", out, "--convention", named[1], "--threads", 1)
    assert ended.code == 0


def test_missing_camera_names_the_options(run, sphere, out):
    (sphere / "K.txt").unlink()
    line = run("integrate", sphere, "-o", out).error()
    assert "--camera fx,fy,cx,cy" in line
    assert "--fov 60" in line
    assert "--camera orthographic" in line


def test_missing_convention_of_a_single_file(run, sphere, out):
    line = run("integrate", sphere / "normal_map.png", "-o", out, "--fov", 60).error()
    assert "--convention" in line
    assert "opengl" in line
    assert "docs/conventions.md" in line


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="this user may read everything"
)
def test_file_without_permission(run, sphere, out):
    (sphere / "normal_map.png").chmod(0)
    line = run("integrate", sphere, "-o", out).error()
    assert "normal_map.png" in line
    assert "permission" in line


# No place for the results


def refuse(*_, **__):
    pytest.fail("a run without a place for its results must not begin")


@pytest.mark.parametrize("below", [(), ("deeper", "still")], ids=["itself", "a parent"])
def test_output_folder_that_is_a_file(run, sphere, out, below, monkeypatch):
    monkeypatch.setattr("rayrelief.cli.runs.run.integrate", refuse)
    out.write_text("taken")
    line = run("integrate", sphere, "-o", out.joinpath(*below)).error()
    assert f"{out} is a file" in line
    assert " -o" in line
    assert out.read_text() == "taken"


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="this user may write everywhere"
)
def test_output_folder_without_permission(run, sphere, out, monkeypatch):
    monkeypatch.setattr("rayrelief.cli.runs.run.integrate", refuse)
    out.mkdir(mode=0o500)
    assert str(out) in run("integrate", sphere, "-o", out).error()


def raise_for(name, failure):
    """An os.replace that fails for one file."""
    original = os.replace

    def replace(source, target):
        if os.fspath(target).endswith(name):
            raise failure
        original(source, target)

    return replace


@pytest.mark.parametrize("name", ["depth.npy", "mesh.ply", "preview.png", "report.json"])
def test_disk_full(run, sphere, out, name, monkeypatch):
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(os, "replace", raise_for(name, full))
    line = run("integrate", sphere, "-o", out, "--threads", 1).error()
    assert "disk" in line
    assert str(out / name) in line
    written = {path.name for path in out.iterdir()}
    assert written < {
        "depth.npy",
        "mesh.ply",
        "preview.png",
        "layers.npz",
        "camera.json",
        "report.json",
    }
    assert name not in written


def test_not_enough_memory(run, sphere, out, monkeypatch, read_report):
    def exhausted(*_, **__):
        raise MemoryError

    assert run("integrate", sphere, "-o", out, "--threads", 1).code == 0
    monkeypatch.setattr("rayrelief.cli.runs.run.integrate", exhausted)
    ended = run("integrate", sphere, "-o", out)
    assert ended.code == 1
    (line,) = ended.lines("error: ")
    assert "not enough memory" in line
    report = read_report(out)
    assert report["status"]["cause"] == "not enough memory"
    assert (report["status"]["ok"], report["files"]) == (False, [])


@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("rayrelief.io.depth.write_depth", "depth.npy"),
        ("rayrelief.io.meshes.write_mesh", "mesh.ply"),
        ("rayrelief.cli.options.mesh.MeshOptions.mesh_of", "mesh.ply"),
        ("rayrelief.viewer.preview.write_preview", "preview.png"),
        ("rayrelief.viewer.layers.Layers.of", "layers.npz"),
        ("rayrelief.cameras.calibration.write_camera", "camera.json"),
        ("rayrelief.io.height.write_height", "height.png"),
    ],
)
@pytest.mark.parametrize("failure", [MemoryError(), OSError(errno.ENOSPC, "full")])
def test_a_file_that_cannot_be_written_costs_neither_the_others_nor_the_report(
    run, sphere, out, monkeypatch, read_report, what, name, failure
):
    def fail(*_, **__):
        raise failure

    monkeypatch.setattr(what, fail)
    words = ("--height", out / "height.png", "--threads", 1, "--max-iterations", 2)
    line = run("integrate", sphere, "-o", out, *words).error()
    assert f"{out / name} is not written: " in line
    report = read_report(out)
    assert report["status"]["cause"] in line
    assert not report["status"]["ok"]
    results = {"depth.npy", "mesh.ply", "preview.png", "layers.npz", "camera.json", "height.png"}
    assert {path.name for path in out.iterdir()} == {"report.json"} | results - {name}
    assert set(report["files"]) == {"report.json"} | results - {name}


def test_a_mesh_beyond_what_its_format_can_hold_costs_no_other_file(
    run, sphere, out, monkeypatch, read_report
):
    options = ("--threads", 1, "--max-iterations", 2, "--mesh-format", "glb,ply")
    words = ("integrate", sphere, "-o", out, *options)
    assert run(*words).code == 0
    names = {path.name for path in out.iterdir()}
    largest = (out / "mesh.glb").stat().st_size
    monkeypatch.setattr("rayrelief.io.glb.LARGEST", largest)
    assert run(*words).code == 0
    monkeypatch.setattr("rayrelief.io.glb.LARGEST", largest - 1)
    (out / "mesh.glb").unlink()
    line = run(*words).error()
    assert f"{out / 'mesh.glb'} is not written: the mesh takes" in line
    assert "expected at most" in line
    assert "--max-error" in line
    assert {path.name for path in out.iterdir()} == names - {"mesh.glb"}
    assert "mesh.ply" in read_report(out)["files"]


def test_when_nothing_can_be_computed_from_a_result_there_is_still_a_report(
    run, sphere, out, monkeypatch, read_report
):
    def exhausted(*_, **__):
        raise MemoryError

    monkeypatch.setattr("rayrelief.cli.runs.writing.build_report", exhausted)
    assert run("integrate", sphere, "-o", out, "--threads", 1).code == 1
    assert read_report(out)["status"]["cause"] == "not enough memory"
    assert [path.name for path in out.iterdir()] == ["report.json"]


# Interrupted: exit code 130


def interrupt(*_, **__):
    raise KeyboardInterrupt


def check_interrupted(ended):
    assert ended.code == 130
    assert ended.out == ""
    (_,) = ended.lines("interrupted: ")
    assert not ended.lines("error: ")


def test_interrupted_while_integrating(run, sphere, out, monkeypatch):
    monkeypatch.setattr("rayrelief.cli.runs.run.integrate", interrupt)
    check_interrupted(run("integrate", sphere, "-o", out))
    assert not out.exists()


def test_interrupted_while_writing(run, sphere, out, monkeypatch):
    monkeypatch.setattr(os, "replace", raise_for("preview.png", KeyboardInterrupt()))
    check_interrupted(run("integrate", sphere, "-o", out, "--threads", 1))
    assert sorted(path.name for path in out.iterdir()) == ["depth.npy", "mesh.ply"]


def test_interrupted_while_evaluating(run, sphere, plane, monkeypatch):
    evaluate_one = cli_evaluate._evaluate_one

    def evaluate_some(scene, method, *rest):
        is_left_out = scene.name == "plane" and isinstance(method, Smooth)
        return interrupt() if is_left_out else evaluate_one(scene, method, *rest)

    monkeypatch.setattr(cli_evaluate, "_evaluate_one", evaluate_some)
    methods = ("--method", "bini", "--method", "smooth")
    ended = run("evaluate", sphere, plane, sphere, *methods, "--json", "--threads", 1)
    assert ended.code == 130
    done = [("sphere", "bini"), ("sphere", "smooth"), ("plane", "bini")]
    assert [(row["scene"], row["method"]) for row in ended.json()] == done
    (line,) = ended.lines("interrupted: ")
    assert str(plane) in line


def test_interrupted_while_loading(run, monkeypatch):
    monkeypatch.setattr("rayrelief.cli.app.app", interrupt)
    ended = run("--version")
    assert (ended.code, ended.out, ended.err) == (130, "", "")
