"""Options about the surface: known depths, scale, textures and height."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rayrelief.cameras import Pinhole
from rayrelief.conventions import from_opencv
from rayrelief.io.arrays import read_array
from rayrelief.io.depth import write_depth
from rayrelief.io.images import write_png
from rayrelief.synthetic import gallery
from reference.layout import write_layout
from reference.textures import in_8_bits, texture

BARE = ("--mesh-format", "none", "--method", "smooth")


@pytest.fixture
def true(plane):
    return np.load(plane / "depth_gt.npz")["depth_gt"]


def test_known_depths_of_a_file(run, plane, out, true, tmp_path, read_report):
    coarse = true + np.random.default_rng(0).normal(0, 0.01, true.shape)
    coarse[:5] = np.nan
    write_depth(tmp_path / "coarse.npz", coarse, "z")
    ended = run("integrate", plane, "-o", out, *BARE, "--depth-prior", tmp_path / "coarse.npz")
    assert ended.code == 0
    assert_allclose(np.load(out / "depth.npy"), true, rtol=2e-3)
    assert "known depths" in "".join(read_report(out)["status"]["notes"])
    assert read_report(out)["prior"]["known"] == np.count_nonzero(np.isfinite(coarse))


def test_distances_along_the_rays_become_z(run, plane, out, true, tmp_path):
    K = np.loadtxt(plane / "K.txt")
    v, u = np.mgrid[: true.shape[0], : true.shape[1]]
    length = np.sqrt(1 + ((u - K[0, 2]) / K[0, 0]) ** 2 + ((v - K[1, 2]) / K[1, 1]) ** 2)
    write_depth(tmp_path / "far.npz", true * length, "distance")
    assert (
        run("integrate", plane, "-o", out, *BARE, "--depth-prior", tmp_path / "far.npz").code == 0
    )
    assert_allclose(np.load(out / "depth.npy"), true, rtol=2e-3)


@pytest.mark.parametrize("option", ["point", "distance", "scale-to"])
def test_one_length_gives_the_scale(run, plane, out, true, option, read_report):
    K = np.loadtxt(plane / "K.txt")

    def seen(u, v):
        return true[v, u] * np.array([(u - K[0, 2]) / K[0, 0], (v - K[1, 2]) / K[1, 1], 1])

    text = {
        "point": f"4,3,{true[3, 4]}",
        "distance": f"4,3,20,10,{np.linalg.norm(seen(4, 3) - seen(20, 10))}",
        "scale-to": f"{np.median(true)}",
    }[option]
    ended = run("integrate", plane, "-o", out, *BARE, f"--{option}", text, "--unit", "mm")
    assert ended.code == 0
    assert "unit: mm" in ended.out
    assert_allclose(np.load(out / "depth.npy"), true, rtol=2e-3)
    assert read_report(out)["unit"] == "mm"


@pytest.mark.parametrize(
    ("options", "width", "unit"),
    [
        (("--unit", "m", "--width", "100mm"), 0.1, "m"),
        (("--unit", "m", "--solid"), 0.1, "m"),
        (("--unit", "mm", "--width", "100"), 100.0, None),  # that of the width
        (("--width", "100mm"), 100.0, None),
    ],
)
def test_a_known_surface_that_is_scaled_keeps_its_unit(
    run, plane, out, options, width, unit, read_report
):
    known = ("integrate", plane, "-o", out, "--method", "smooth", "--scale-to", 10)
    ended = run(*known, *options)
    assert ended.code == 0, ended.err
    report = read_report(out)
    assert report["unit"] == unit
    assert ("unit: m" in ended.out) == (unit is not None)
    assert report["mesh"]["size"][0] == pytest.approx(width)
    before = report["mesh"]["rescaled"]["from"]
    assert_allclose(np.median(np.load(out / "depth.npy")), 10)
    words = f"scaled to {width:g} {report['mesh']['unit']} wide, from {before:.4g} {unit or ''}"
    assert words.strip() in ended.out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--point", "1,2"), "u,v,z"),
        (("--point", "1,2,x"), "u,v,z"),
        (("--distance", "1,2,3,4"), "u,v,u,v,LENGTH"),
        (("--scale-to", "5", "--point", "1,2,3"), "choose one"),
        (("--flatten", "plane"), "--height"),
        (("--depth-sigma", "1"), "--depth-prior"),
        (("--scale-to", "-5"), "a positive length"),
        (("--scale-to", "1e31"), "a positive length"),
        (("--distance", "1,2,3,4,-5"), "a positive length"),
        (("--distance", "1,2,3,4,nan"), "a positive length"),
        (("--scale-to", "1500mm"), "'1500mm': expected a number; its unit is that of --unit"),
        (("--point", "1,2,5mm"), "their unit is that of --unit"),
        (("--distance", "1,2,3,4,5mm"), "their unit is that of --unit"),
        (("--depth-sigma", "2mm"), "'2mm'"),
        (("--threads", "x"), "'x'"),
        (("--cut", "-3"), "'--cut'"),
        (("--unit", "furlong"), "'--unit': 'furlong' is not one of"),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(run, plane, out, options, told):
    ended = run("integrate", plane, "-o", out, *options)
    assert ended.code == 2
    assert told in ended.err
    assert not any(words in ended.err for words in ("Input should", "Value error", "unable to"))
    assert not out.exists()


def test_a_tile_says_its_seam_and_writes_its_height(run, out, tmp_path):
    _, normals = texture(24, 32)
    values = (in_8_bits(from_opencv(normals, "opengl")) + 1) / 2 * 255
    write_png(tmp_path / "texture.png", np.rint(values).astype(np.uint8))
    ended = run(
        "integrate", tmp_path / "texture.png", "-o", out, *BARE, "--convention", "opengl",
        "--camera", "orthographic", "--tile", "--height", tmp_path / "height.png",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert "across the seam" in ended.out
    height, depth = read_array(tmp_path / "height.png", keys=()), np.load(out / "depth.npy")
    assert (height.min(), height.max()) == (0, 65535)
    assert np.corrcoef(height.ravel(), depth.ravel())[0, 1] < -0.99


def test_a_height_that_cannot_be_stored_is_refused_before_the_run(run, plane, out, tmp_path):
    ended = run("integrate", plane, "-o", out, "--height", tmp_path / "h.jpg")
    assert ".exr" in ended.error()
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--camera", "orthographic", "--scale-to", "3"), "pixel_size"),
        (("--camera", "orthographic", "--distance", "4,3,20,10,3"), "pixel_size"),
        (
            ("--camera", "equirectangular", "--no-convention-check", "--height", "h.png"),
            "distances along the rays",
        ),
        (("--point", "400,3,5"), "outside of the image"),
        (("--distance", "4,3,0,0,5"), "outside of the mask"),
        (("--distance", "4,3,4.2,3,5"), "two different pixels"),
        (("--point", "0,0,5", "--dry-run"), "outside of the mask"),
        (("--depth-prior", "nowhere.npy", "--dry-run"), "nowhere.npy"),
    ],
)
def test_what_a_map_rules_out_is_refused_before_the_run(run, plane, out, true, options, told):
    leave_out_the_first_pixel(plane, true)
    ended = run("integrate", plane, "-o", out, *options)
    assert told in ended.error()
    assert not out.exists()


def test_a_pixel_without_a_normal_has_no_known_depth(run, plane, out):
    normals = read_array(plane / "normal_map.png", keys=())
    normals[3, 4] = 0
    write_png(plane / "normal_map.png", normals)
    ended = run("integrate", plane, "-o", out, "--point", "4,3,5")
    assert "4,3 has no normal" in ended.error()
    assert not out.exists()


def test_halfway_between_two_pixels_the_later_one_is_known(run, plane, out, true):
    leave_out_the_first_pixel(plane, true)
    ended = run("integrate", plane, "-o", out, "--point", "0.5,-0.5,5", "--dry-run")
    assert ended.code == 0, ended.err


def leave_out_the_first_pixel(folder, true):
    mask = np.full(true.shape, 255, np.uint8)
    mask[0, 0] = 0
    write_png(folder / "mask.png", mask)


def test_a_depth_whose_file_does_not_say_is_that_along_the_axis(run, out, tmp_path):
    # Results of so wide a camera are distances.
    scene = gallery.plane(24, 32, Pinhole.from_fov(165.0, 24, 32))
    folder = write_layout(tmp_path / "wide", scene)
    rays = scene.camera.unit_rays(24, 32)
    distance = np.asarray(scene.depth)
    np.save(tmp_path / "known.npy", distance * rays[..., 2])
    ended = run("integrate", folder, "-o", out, *BARE, "--depth-prior", tmp_path / "known.npy")
    assert ended.code == 0
    assert_allclose(np.load(out / "depth.npy")[scene.mask], distance[scene.mask], rtol=0.02)


def test_a_height_does_not_replace_the_input(run, plane, out):
    ended = run("integrate", plane, "-o", out, "--height", plane / "normal_map.png")
    assert "would replace it" in ended.error()


def test_a_height_that_cannot_be_made_costs_nothing_else(run, plane, out, true, tmp_path):
    mask = np.zeros(true.shape, np.uint8)
    mask[5, 5:8] = 255  # no quadric goes through three pixels alone
    write_png(tmp_path / "mask.png", mask)
    asked = (
        "--height",
        tmp_path / "h.png",
        "--flatten",
        "quadric",
        "--mask",
        tmp_path / "mask.png",
    )
    ended = run("integrate", plane, "-o", out, *BARE, *asked, "--camera", "orthographic")
    assert ended.code == 0, ended.err
    assert "h.png is not written" in ended.err.replace("\n", " ")
    assert {path.name for path in out.iterdir()} >= {"depth.npy", "report.json"}


def test_a_point_at_depth_0_is_refused_where_rays_meet(run, plane, out):
    ended = run("integrate", plane, "-o", out, *BARE, "--point", "4,3,0")
    assert ended.code == 1
    assert "the known depth 0 of the pixel 4,3; expected a positive one" in ended.err
    ended = run(
        "integrate", plane, "-o", out, *BARE, "--point", "4,3,0", "--camera", "orthographic"
    )
    assert ended.code == 0, ended.err
    assert np.load(out / "depth.npy")[3, 4] == pytest.approx(0, abs=1e-12)


def test_known_depths_of_a_depth_sensor(run, plane, out, true, tmp_path):
    write_png(tmp_path / "p16.png", np.rint(1000 * true).astype(np.uint16))
    ended = run(
        "integrate", plane, "-o", out, *BARE, "--depth-prior", tmp_path / "p16.png", "--unit", "mm"
    )
    assert ended.code == 0, ended.err
    assert "note: p16.png: 16-bit numbers taken as they are, 0 as unknown" in ended.err
    assert_allclose(np.load(out / "depth.npy"), 1000 * true, rtol=2e-3)


@pytest.mark.parametrize("option", ["scale-to", "distance"])
def test_parallel_rays_have_no_scale_to_be_told(run, plane, out, option):
    text = {"scale-to": "5", "distance": "1,2,3,4,5"}[option]
    ended = run("integrate", plane, "-o", out, f"--{option}", text, "--camera", "orthographic:0.1")
    assert ended.code == 1
    assert f"(--{option}) for a surface seen by parallel rays" in ended.err
    assert "parallel rays have no scale to be found, their pixel_size is it" in ended.err
