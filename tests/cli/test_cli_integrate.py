"""rayrelief integrate: its files, its report, and that every option arrives."""

from __future__ import annotations

import hashlib
from importlib.metadata import PackageNotFoundError

import cv2
import numpy as np
import pytest

from rayrelief.backends.cpu import CPU
from rayrelief.cameras.calibration import read_camera
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.ray_map import RayMap
from rayrelief.cli.options.settings import all_settings
from rayrelief.conventions import from_opencv
from rayrelief.datasets.folder import read_scene
from rayrelief.errors import InputError, Outcome
from rayrelief.integration import integrate
from rayrelief.io.depth import read_depth, write_depth
from rayrelief.io.images import read_image, write_png
from rayrelief.methods.ordered.recipe import Ordered
from rayrelief.solvers.multigrid import Multigrid
from rayrelief.synthetic.gallery import plane as plane_scene

ONE_THREAD = ("--threads", 1)
BARE = (*ONE_THREAD, "--depth-format", "none", "--mesh-format", "none")


# Files and report


def test_files_and_summary(run, sphere, out):
    ended = run("integrate", sphere, "-o", out, *ONE_THREAD)
    assert ended.code == 0
    names = ["camera.json", "depth.npy", "layers.npz", "mesh.ply", "preview.png", "report.json"]
    assert sorted(path.name for path in out.iterdir()) == names
    assert all(str(out / name) in ended.out for name in names)
    assert "MADE (median scale)" in ended.out
    assert ended.lines("note: ") == [f"note: {note}" for note in read_scene(sphere).notes]


def test_how_a_run_failed_is_told_once(run, sphere, out):
    ended = run("integrate", sphere, "-o", out, "--max-iterations", 1, *BARE)
    (warned,) = ended.lines("warning: ")
    told = Outcome.ITERATION_LIMIT
    assert warned.startswith(f"warning: {told.cause}; {told.remedy}")
    assert f"  status: {told.cause}\n" in ended.out


def test_depth_is_that_of_the_library_bit_for_bit(run, sphere, out):
    run("integrate", sphere, "-o", out, *ONE_THREAD)
    scene = read_scene(sphere)
    expected = integrate(scene.normals, scene.camera, mask=scene.mask, backend=CPU(1))
    np.testing.assert_array_equal(np.load(out / "depth.npy"), expected.depth)


def test_report_tells_what_was_run_on_what_and_how_it_went(run, sphere, out, read_report):
    run("integrate", sphere, "-o", out, *ONE_THREAD)
    report, scene = read_report(out), read_scene(sphere)
    digest = hashlib.sha256(scene.normals.tobytes() + scene.mask.tobytes()).hexdigest()
    assert report["input"] == {"size": [32, 24], "sha256": digest, "notes": list(scene.notes)}
    assert report["method"]["type"] == "Ordered"
    assert report["method"]["rounds"] == Ordered().rounds
    solver = Ordered().solver
    assert isinstance(solver, Multigrid)
    assert report["method"]["solver"]["rtol"] == solver.rtol
    assert report["camera"]["type"] == "Pinhole"
    assert report["status"]["ok"]
    assert report["status"]["outcome"] == "settled"
    assert [entry["number"] for entry in report["history"]] == [
        *range(1, 1 + len(report["history"]))
    ]
    assert report["history"][-1]["change"] < 1e-4
    assert set(report["seconds"]) == {"integrate", "compile", "write"}
    assert report["components"] == [int(scene.mask.sum())]
    assert report["errors"]["alignment"] == "scale"
    assert report["errors"]["re"] < 1.0
    assert {"python", "platform", "numpy", "scipy", "numba"} <= set(report["versions"])
    assert report["versions"]["opencv"] == cv2.__version__


def test_report_of_two_runs_differs_only_in_its_times(run, sphere, out, read_report):
    def timeless(report):
        for entry in (report, *report["history"]):
            del entry["seconds"]
        return report

    run("integrate", sphere, "-o", out / "first", *ONE_THREAD)
    run("integrate", sphere, "-o", out / "second")
    first, second = (timeless(read_report(out / name)) for name in ("first", "second"))
    assert first == second


def test_report_of_a_library_that_has_another_name(run, plane, out, monkeypatch, read_report):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr("rayrelief.cli.runs.report.version", missing)
    assert run("integrate", plane, "-o", out, *BARE).code == 0
    assert read_report(out)["versions"]["numpy"] is None


def test_json_alone_on_stdout(run, sphere, out, read_report):
    ended = run("integrate", sphere, "-o", out, "--json", *ONE_THREAD)
    printed, stored = ended.json(), read_report(out)
    names = ["depth.npy", "mesh.ply", "preview.png", "layers.npz", "camera.json", "report.json"]
    assert stored.pop("files") == names, "a folder may be moved"
    assert printed.pop("files") == [str(out / name) for name in names]
    assert printed == stored
    assert ended.lines("note: ")


def test_numbers_that_json_does_not_have_become_null(run, plane, out):
    ended = run("integrate", plane, "-o", out, "--camera", "orthographic", "--json", *BARE)
    errors = ended.json()["errors"]
    assert errors["alignment"] == "shift"
    assert errors["re"] is None
    assert errors["era"] is None


def test_formats_with_commas(run, sphere, out):
    chosen = ("--depth-format", "npy, .NPZ,exr,png,npy", "--mesh-format", "ply,obj,glb,stl")
    ended = run("integrate", sphere, "-o", out, "--json", *chosen, *ONE_THREAD)
    depths = [out / f"depth.{suffix}" for suffix in ("npy", "npz", "exr", "png")]
    meshes = [out / f"mesh.{suffix}" for suffix in ("ply", "obj", "glb", "stl")]
    assert ended.json()["files"][:8] == [str(path) for path in (*depths, *meshes)]
    assert all(path.stat().st_size > 0 for path in meshes)
    exact = np.load(depths[0])
    for path in depths[1:]:
        depth, kind = read_depth(path)
        assert kind == "z"
        np.testing.assert_allclose(depth, exact, rtol=1e-5)


def test_formats_none(run, plane, out):
    run("integrate", plane, "-o", out, *BARE)
    assert sorted(path.name for path in out.iterdir()) == [
        "camera.json",
        "preview.png",
        "report.json",
    ]


def test_second_run_replaces_the_first(run, sphere, out, read_report):
    for iterations in (1, 3):
        run("integrate", sphere, "-o", out, "--max-iterations", iterations, *ONE_THREAD)
        assert len(read_report(out)["history"]) == iterations
    assert len(list(out.iterdir())) == 6


# More of the input


def test_mask_option_goes_before_the_folder(run, sphere, out):
    mask = np.zeros((24, 32), np.bool_)
    mask[10:14, 12:20] = True
    np.save(out.parent / "inside.npy", mask)
    ended = run("integrate", sphere, "-o", out, "--mask", out.parent / "inside.npy", *ONE_THREAD)
    assert ended.code == 0
    np.testing.assert_array_equal(np.isfinite(np.load(out / "depth.npy")), mask)


@pytest.mark.parametrize("convention", ["opengl", "opencv", "dsine", "directx"])
def test_single_file_in_any_convention(run, plane, out, convention):
    normals = read_scene(plane).normals
    path = out.parent / "map.npy"
    np.save(path, from_opencv(normals, convention))
    ended = run(
        *("integrate", path, "-o", out, "--convention", convention),
        *("--camera", plane / "K.txt", *ONE_THREAD),
    )
    assert ended.code == 0
    expected = integrate(normals, read_scene(plane).camera, backend=CPU(1))
    np.testing.assert_array_equal(np.load(out / "depth.npy"), expected.depth)


@pytest.mark.parametrize(
    ("inside", "code"), [(np.s_[12, 16], 1), (np.s_[12, 10:20], 0)], ids=["pixel", "row"]
)
def test_mask_too_thin_for_a_face(run, sphere, out, inside, code, read_report):
    mask = np.zeros((24, 32), np.uint8)
    mask[inside] = 255
    write_png(sphere / "mask.png", mask)
    ended = run("integrate", sphere, "-o", out, *ONE_THREAD)
    assert ended.code == code, "one pixel has no equations"
    assert "nan" not in ended.out
    assert read_report(out)["mean_angle_degrees"] is None
    assert len(list(out.iterdir())) == 6


# Ground truth


def test_truth_of_another_kind_is_compared_but_not_drawn(run, plane, out, read_report):
    truth = plane_scene(24, 32)
    length = np.linalg.norm(truth.camera.rays(24, 32), axis=-1)
    (plane / "depth_gt.npz").unlink()
    run("integrate", plane, "-o", out / "without", *BARE)
    write_depth(plane / "depth_gt.npz", truth.depth * length, "distance")
    run("integrate", plane, "-o", out / "with", *BARE)
    assert read_report(out / "with")["errors"]["re"] < 1e-3
    np.testing.assert_array_equal(
        read_image(out / "with" / "preview.png"), read_image(out / "without" / "preview.png")
    )


def test_truth_that_is_no_use_does_not_cost_the_result(run, sphere, out, read_report):
    np.savez(sphere / "depth_gt.npz", depth_gt=np.full((24, 32), np.nan))
    ended = run("integrate", sphere, "-o", out, *ONE_THREAD)
    assert ended.code == 0
    (warning,) = ended.lines("warning: ")
    assert "ground truth" in warning
    assert read_report(out)["errors"] is None
    assert len(list(out.iterdir())) == 6


# Options of the method

AUXILIARY, PAPER = ("--method", "auxiliary-edges"), ("--method", "ray-plane")
OPTIONS = [
    ("method", (), {"type": "Ordered"}),
    ("method", PAPER, {"type": "RayPlane"}),
    ("method", ("--method", "bini"), {"type": "BiNI"}),
    ("method", ("--method", "smooth"), {"type": "Smooth", "max_iterations": 1}),
    ("published", (*PAPER, "--published"), {"max_iterations": 1200, "tolerance": None}),
    ("published", (*PAPER, "--published", "--max-iterations", 7), {"max_iterations": 7}),
    ("published", ("--published", "--method", "bini"), {"type": "BiNI", "form": "printed"}),
    ("max_iterations", ("--max-iterations", 3), {"max_iterations": 3}),
    ("tolerance", ("--tolerance", 0.02), {"tolerance": 0.02}),
    ("tolerance", ("--tolerance", 0), {"tolerance": None}),
    ("connectivity", ("--connectivity", "4"), {"connectivity": 4}),
    ("connectivity", ("--connectivity", "8"), {"connectivity": 8}),
    ("connectivity", ("--connectivity", "diagonal"), {"connectivity": "diagonal"}),
    ("sharpness", (*PAPER, "--sharpness", 1.5), {"sharpness": 1.5}),
    ("sharpness", ("--method", "bini", "--sharpness", 3), {"sharpness": 3.0}),
    ("jumps", (*PAPER, "--no-jumps"), {"jumps": False}),
    ("jumps", (*PAPER, "--jumps"), {"jumps": True}),
    ("activation_slope", (*PAPER, "--activation-slope", 40), {"activation_slope": 40.0}),
    (
        "activation_threshold",
        (*PAPER, "--activation-threshold", 0.3),
        {"activation_threshold": 0.3},
    ),
    ("midpoint", (*PAPER, "--midpoint", 0.4), {"midpoint": 0.4}),
    ("outlier_threshold", (*PAPER, "--outlier-threshold", 0.1), {"outlier_threshold": 0.1}),
    ("outlier_samples", (*PAPER, "--outlier-samples", 9), {"outlier_samples": 9}),
    ("cost_factor", (*PAPER, "--cost-factor", "cosine"), {"cost_factor": "cosine"}),
    ("weight_constant", (*PAPER, "--weight-constant", 0), {"weight_constant": 0.0}),
    ("weight_constant", (*PAPER, "--weight-constant", 3), {"weight_constant": 3.0}),
    ("form", ("--method", "bini", "--form", "printed"), {"form": "printed"}),
    ("smallest_jump", (*AUXILIARY, "--smallest-jump", 0.5), {"smallest_jump": 0.5}),
    ("filters", (*AUXILIARY, "--filters", 2), {"type": "AuxiliaryEdges", "filters": 2}),
    ("rounds", ("--rounds", 2), {"type": "Ordered", "rounds": 2}),
    ("noise", ("--noise", 1.5), {"type": "Ordered", "noise": 1.5}),
    ("facing_away", ("--facing-away", "drop"), {"preprocessing.facing_away": "drop"}),
    ("facing_away", ("--facing-away", "keep"), {"preprocessing.facing_away": "keep"}),
    ("facing_away", ("--facing-away", "average"), {"preprocessing.facing_away": "average"}),
    ("outlier_ratio", ("--outlier-ratio", 0.75), {"preprocessing.outlier_ratio": 0.75}),
    ("average_window", ("--average-window", 5), {"preprocessing.average_window": 5}),
    ("outlier_window", ("--outlier-window", 7), {"preprocessing.outlier_window": 7}),
]


@pytest.mark.parametrize(
    ("options", "fields"), [case[1:] for case in OPTIONS], ids=lambda value: str(value)
)
def test_option_arrives_in_the_method(run, plane, out, options, fields, monkeypatch, read_report):
    monkeypatch.setattr("rayrelief.viewer.preview.write_preview", lambda *_, **__: None)
    ended = run("integrate", plane, "-o", out, *options, *BARE)
    assert ended.code == 0
    method = read_report(out)["method"]
    for name, value in fields.items():
        place = method
        for key in name.split("."):
            place = place[key]
        assert place == value


def test_no_option_of_the_method_is_left_out_above():
    assert {"method", "published", *all_settings()} == {case[0] for case in OPTIONS}


# Cameras


@pytest.mark.parametrize(
    ("options", "camera"),
    [
        (("--camera", "40,41,15.25,11.5"), Pinhole(40.0, 41.0, 15.25, 11.5)),
        (("--fov", 45), Pinhole.from_fov(45.0, 24, 32)),
        (("--camera", "orthographic"), Orthographic(1.0, cx=15.5, cy=11.5)),
        (("--camera", "orthographic:0.1"), Orthographic(0.1, cx=15.5, cy=11.5)),
    ],
    ids=lambda value: str(value),
)
def test_camera_of_an_option(run, plane, out, options, camera):
    ended = run("integrate", plane, "-o", out, *options, *ONE_THREAD)
    assert ended.code == 0
    assert read_camera(out / "camera.json") == camera
    expected = integrate(read_scene(plane).normals, camera, backend=CPU(1))
    np.testing.assert_array_equal(np.load(out / "depth.npy"), expected.depth)

    again = run("integrate", plane, "-o", out / "2", "--camera", out / "camera.json", *ONE_THREAD)
    assert again.code == 0
    np.testing.assert_array_equal(np.load(out / "2" / "depth.npy"), expected.depth)


def test_camera_of_rays_comes_back_as_rays(run, plane, out, read_report):
    rays = Pinhole(40.0, 41.0, 15.25, 11.5).rays(24, 32)
    np.save(out.parent / "rays_in.npy", rays)
    run("integrate", plane, "-o", out, "--camera", out.parent / "rays_in.npy", *ONE_THREAD)
    expected = integrate(read_scene(plane).normals, RayMap(rays), backend=CPU(1))
    np.testing.assert_array_equal(np.load(out / "depth.npy"), expected.depth)
    assert read_report(out)["camera"] == {"type": "RayMap", "size": [32, 24]}

    assert not (out / "camera.json").exists()
    run("integrate", plane, "-o", out / "2", "--camera", out / "rays.npy", *ONE_THREAD)
    np.testing.assert_allclose(np.load(out / "2" / "depth.npy"), expected.depth, rtol=1e-9)


def test_a_principal_point_outside_the_map_is_a_warning(run, plane, out):
    camera = ("--camera", "100,100,60,12", "--no-convention-check")
    told = run("integrate", plane, "-o", out, *camera, "--dry-run").lines("warning: ")
    assert [line for line in told if "lies outside the 32x24 image" in line] == told[:1] != []


def test_order_of_k_txt(run, plane, out):
    K = np.loadtxt(plane / "K.txt")
    camera = Pinhole(K[1, 1], K[0, 0], K[1, 2], 23 - K[0, 2])
    run("integrate", plane, "-o", out, "--k-order", "legacy", *ONE_THREAD)
    assert read_camera(out / "camera.json") == camera


# Warnings


def test_warning_is_one_line(run, sphere, out, read_report):
    ended = run("integrate", sphere, "-o", out, "--max-iterations", 1, *ONE_THREAD)
    assert ended.code == 0
    (warning,) = ended.lines("warning: ")
    assert "max_iterations" in warning
    status = read_report(out)["status"]
    assert not status["ok"]
    assert status["outcome"] == "iteration_limit"


def test_auto_computes_on_the_cpu_where_there_is_no_gpu(run, plane, out, monkeypatch):
    monkeypatch.setattr("rayrelief.backends.cuda.device.is_available", lambda: False)
    assert run("integrate", plane, "-o", out, "--device", "auto").code == 0


def test_a_gpu_that_is_not_there_is_one_line(run, plane, out, monkeypatch):
    def missing():
        raise InputError("this machine has no GPU", expected="one", remedy="Use --device cpu")

    monkeypatch.setattr("rayrelief.backends.cuda.device.cupy", missing)
    ended = run("integrate", plane, "-o", out, "--device", "cuda")
    assert ended.code == 1
    assert "this machine has no GPU" in ended.err
    assert run("integrate", plane, "-o", out, "--device", "cuda", "--dry-run").code == 2
