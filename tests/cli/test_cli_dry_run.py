"""rayrelief integrate --dry-run: its numbers, its refusals, and that it writes nothing."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from rayrelief import estimate
from rayrelief.backends import CPU
from rayrelief.cli.runs import dry_run
from rayrelief.cli.runs.dry_run import fullest_square, seconds_of_all
from rayrelief.cli.runs.run import files_memory
from rayrelief.conventions import from_opencv
from rayrelief.datasets.folder import read_scene
from rayrelief.errors import Outcome, Status
from rayrelief.io.images import write_png
from rayrelief.methods.base import usual_iterations
from rayrelief.methods.catalogue import default_method
from rayrelief.synthetic.gallery import plane as plane_scene

DRY = ("--dry-run", "--threads", 1)
USUAL = usual_iterations(default_method()) or 0
PUBLISHED = ("--method", "ray-plane", "--published")


def everything_in(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def memory_of_all(pixels, inside):
    """Bytes that the default method and the files of its result take."""
    method = default_method()
    afterwards = files_memory(pixels, inside, method)
    return estimate.memory_needed(pixels, inside, method, CPU(), afterwards=afterwards)


# What it tells


def test_it_tells_pixels_memory_and_time_and_writes_nothing(run, sphere, out, tmp_path):
    before = everything_in(tmp_path)
    ended = run("integrate", sphere, "-o", out, *DRY)
    assert ended.code == 0
    assert everything_in(tmp_path) == before
    inside = int(read_scene(sphere).mask.sum())
    needed = memory_of_all(768, inside)
    for fact in ("32x24 pixels", f"{inside} inside", estimate.in_words(needed), "iterations"):
        assert fact in ended.out
    assert len(ended.lines("note: ")) == len(read_scene(sphere).notes)


def test_json_has_the_same_numbers(run, sphere, out):
    printed = run("integrate", sphere, "-o", out, "--json", *DRY).json()
    scene = read_scene(sphere)
    inside = int(scene.mask.sum())
    assert printed["scene"] == "sphere"
    assert printed["input"] == {"size": [32, 24], "notes": list(scene.notes)}
    assert printed["inside"] == printed["sample"]["pixels"] == inside
    assert printed["components"] == 1
    assert printed["usual_iterations"] == USUAL
    assert 2 <= printed["sample"]["iterations"] <= USUAL
    needed = memory_of_all(768, inside)
    assert printed["memory_bytes"]["needed"] == needed
    assert printed["memory_bytes"]["available"] > needed
    assert all(number > 0 for number in printed["expected"].values())
    assert not out.exists()


def test_a_run_that_ends_by_itself_is_expected_to_end_there(run, sphere, out):
    expected = run("integrate", sphere, "-o", out, "--json", *DRY).json()["expected"]
    done = run("integrate", sphere, "-o", out, "--json").json()
    assert expected["iterations"] == len(done["history"]) < USUAL


def test_what_leaves_the_mask_is_not_counted(run, plane, out):
    normals = read_scene(plane).normals.copy()
    normals[:, 10] = 0.0  # a column without normals: two components are left
    np.save(out.parent / "map.npy", from_opencv(normals, "opengl"))
    np.save(out.parent / "all.npy", np.ones((24, 32), np.bool_))
    files = ("integrate", out.parent / "map.npy", "--mask", out.parent / "all.npy", "-o", out)
    camera = ("--convention", "opengl", "--camera", plane / "K.txt")
    printed = run(*files, *camera, "--json", *DRY).json()
    assert printed["inside"] == 24 * 31
    assert printed["components"] == 2
    (note,) = (note for note in printed["notes"] if "24 pixels" in note)
    assert note in run(*files, *camera, *DRY).out


# Time


def test_seconds_of_all_iterations():
    assert seconds_of_all([5.0, 1.0, 3.0], 40) == 5.0 + 1.0 + 38 * 3.0
    assert seconds_of_all([9.0, 4.0, 4.0, 2.0, 1.0], 10) == 20.0 + 5 * 1.5
    assert seconds_of_all([5.0, 1.0, 3.0], 3) == 9.0
    assert seconds_of_all([5.0], 1) == 5.0
    assert seconds_of_all([5.0], 3) == 15.0
    assert seconds_of_all([], 40) == 0.0


@pytest.mark.parametrize(("options", "power"), [((), 1.0), (PUBLISHED, 1.5)])
def test_time_of_a_sample_is_that_of_more_pixels(run, plane, out, monkeypatch, options, power):
    monkeypatch.setattr(dry_run, "SAMPLE_PIXELS", 100)
    monkeypatch.setattr(
        dry_run, "_first_iterations", lambda *_: ([7.0, 1.0, 3.0], 100.0, Status(Outcome.STOPPED))
    )
    chosen = ("--max-iterations", 11, *options)
    printed = run("integrate", plane, "-o", out, "--json", *chosen, *DRY).json()
    assert printed["sample"] == {"pixels": 100, "iterations": 3}
    growth = (768 / 100) ** power
    assert printed["expected"]["iterations"] == 11
    assert printed["expected"]["seconds"] == pytest.approx(growth * 35.0)
    assert printed["expected"]["prepare_seconds"] == pytest.approx(7.68 * 100.0, rel=0.05)


def test_a_sample_ends_with_its_time_but_not_before_the_second_iteration(
    run, sphere, out, monkeypatch
):
    monkeypatch.setattr(dry_run, "SAMPLE_SECONDS", 0.0)
    printed = run("integrate", sphere, "-o", out, "--json", *DRY).json()
    assert printed["sample"]["iterations"] == 2
    assert printed["expected"]["iterations"] == USUAL


@pytest.mark.parametrize(
    "options", [("--method", "smooth"), ("--method", "ray-plane", "--connectivity", "8")]
)
def test_any_method_can_be_measured(run, sphere, out, options):
    printed = run("integrate", sphere, "-o", out, "--json", *options, *DRY).json()
    assert printed["sample"]["iterations"] >= 1


def test_a_single_pixel_has_nothing_to_iterate(run, sphere, out):
    mask = np.zeros((24, 32), np.uint8)
    mask[12, 16] = 255
    write_png(sphere / "mask.png", mask)
    printed = run("integrate", sphere, "-o", out, "--json", *DRY).json()
    assert printed["sample"] == {"pixels": 1, "iterations": 0}
    assert printed["expected"]["seconds"] == 0.0
    (note,) = printed["notes"]
    shown = run("integrate", sphere, "-o", out, *DRY).out
    assert note in shown
    assert "0 iterations on 1 pixel\n" in shown


# The place of the sample


def test_few_pixels_are_all_taken():
    mask = np.eye(30, dtype=np.bool_)
    assert fullest_square(mask, 30) is mask


def test_of_a_full_image_a_square_is_taken():
    square = fullest_square(np.ones((90, 130), np.bool_), 1600)
    v, u = np.nonzero(square)
    assert len(v) == 1600
    assert np.ptp(v) == np.ptp(u) == 39


@pytest.mark.parametrize("turned", [False, True])
def test_the_fullest_place_is_found(turned):
    mask = np.zeros((200, 700), np.bool_)
    mask[::2, :300] = True  # half full
    mask[80:160, 480:560] = True
    mask = mask.T if turned else mask
    square = fullest_square(mask, 6400)
    full = np.zeros_like(mask)
    (full.T if turned else full)[80:160, 480:560] = True
    np.testing.assert_array_equal(square, full)


def test_a_strip_narrower_than_the_square():
    square = fullest_square(np.ones((5, 4000), np.bool_), 10_000)
    assert np.count_nonzero(square) == 500
    assert np.flatnonzero(square.any(axis=0)).size == 100


# What it refuses, as the run itself does


@pytest.mark.parametrize("options", [(), DRY, ("--json", *DRY)], ids=["run", "dry", "json"])
def test_a_map_that_does_not_fit(run, sphere, out, monkeypatch, options):
    monkeypatch.setattr(estimate, "memory_available", lambda: 100_000_000)
    ended = run("integrate", sphere, "-o", out, *options)
    assert "100 MB" in ended.error()
    assert not out.exists()


@pytest.mark.parametrize("verb", [("integrate", "-o", "OUT"), ("evaluate",), ("--dry-run",)])
def test_a_map_that_does_not_fit_is_tried_all_the_same(run, sphere, out, monkeypatch, verb):
    verb = ("integrate", "-o", "OUT", *verb) if verb == ("--dry-run",) else verb
    command = [out if word == "OUT" else word for word in (*verb, "--threads", 1)]
    monkeypatch.setattr(estimate, "memory_available", lambda: 0)
    assert run(*command, sphere).code == 1
    assert run(*command, sphere, "--no-memory-check").code == 0


def test_normals_that_face_away(run, sphere, out):
    refused = run("integrate", sphere, "-o", out, "--convention", "opencv", *DRY)
    assert "do not fit" in refused.error()
    assert run("integrate", sphere, "-o", out, "--convention", "opencv").error() == refused.error()


def test_a_part_that_faces_away_is_no_reason_to_refuse(run, plane, out, monkeypatch):
    normals = plane_scene(24, 32).normals.copy()
    normals[:4, :8] *= -1  # 4 % of the map
    np.save(out.parent / "map.npy", normals)
    sample = np.zeros((24, 32), np.bool_)
    sample[:4, :8] = True
    monkeypatch.setattr(dry_run, "fullest_square", lambda *_: sample)
    ended = run(
        *("integrate", out.parent / "map.npy", "-o", out, "--convention", "opencv"),
        *("--camera", plane / "K.txt", *DRY),
    )
    assert ended.code == 0
    (warning,) = ended.lines("warning: ")
    assert "4.17 %" in warning


def test_results_without_a_place(run, sphere, out):
    out.write_text("a file")
    assert "is a file" in run("integrate", sphere, "-o", out, *DRY).error()


def test_wrong_formats_are_found_as_in_a_run(run, sphere, out):
    assert run("integrate", sphere, "-o", out, "--mesh-format", "tif", *DRY).code == 2


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
def test_progress_on_a_terminal(start_on_terminal, sphere, out):
    shown = start_on_terminal("integrate", sphere, "-o", out, *DRY)
    assert "measuring sphere" in shown
    assert "integrating" not in shown
    assert "Dry run of 32x24 pixels" in shown
    assert not out.exists()


def test_formats_that_take_memory_to_be_written_count(run, sphere, out, monkeypatch):
    words = ("integrate", sphere, "-o", out, "--method", "smooth", "--mesh-format")

    def needed(*forms: str) -> int:
        ended = run(*words, *forms, "--dry-run", "--json")
        return int(ended.json()["memory_bytes"]["needed"])

    body, stl, glb = needed("stl", "--solid"), needed("stl"), needed("glb")
    assert body > stl > glb > needed("ply") == needed("none")
    monkeypatch.setattr(estimate, "memory_available", lambda: stl - 1)
    assert "memory" in run(*words, "stl").error()
    assert not out.exists()
    assert run(*words, "glb").code == 0
