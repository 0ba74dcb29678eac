"""Rooms through every kind of camera: exact where nothing is hidden, without a seam."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.speed.cameras import (
    ELLIPSOID_LIMIT,
    HEIGHT,
    LEAST_GAIN,
    SEAM_GAIN,
    SEAM_STEP,
    WAVY_LIMIT,
    WIDTH,
    cameras,
    ignoring_distortion,
    outcome,
    true_distance,
)
from rayrelief.cameras.calibration import read_camera, write_camera
from rayrelief.cameras.cylindrical import Cylindrical
from rayrelief.cameras.equirectangular import Equirectangular
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.ray_map import RayMap
from rayrelief.errors import CameraError
from rayrelief.integration import integrate
from rayrelief.methods.ordered.recipe import Ordered
from rayrelief.synthetic.gallery import ellipsoid_inside, room
from rayrelief.synthetic.surroundings import wavy_relief, wavy_room

CAMERAS = cameras()
PANORAMA = Equirectangular.full(60, 120)


@pytest.mark.parametrize("name", CAMERAS)
@pytest.mark.parametrize(
    ("make", "limit"), [(ellipsoid_inside, ELLIPSOID_LIMIT), (wavy_room, WAVY_LIMIT)]
)
def test_a_continuous_room_comes_back_through_every_camera(name, make, limit):
    scene = make(HEIGHT, WIDTH, CAMERAS[name])
    found = outcome(scene, scene.camera)
    assert found.mean < limit
    if "panorama" in name:
        assert found.seam < SEAM_GAIN * found.mean
        assert found.seam_step < SEAM_STEP  # 6 to 9 where the columns are not joined
    ignoring = ignoring_distortion(scene)
    assert ignoring is None or ignoring > LEAST_GAIN * found.mean


def test_the_default_joins_the_seam_of_a_panorama():
    camera = CAMERAS["panorama, 360 x 180 degrees"]
    assert outcome(wavy_room(HEIGHT, WIDTH, camera), camera, Ordered()).seam_step < SEAM_STEP


def test_a_relief_comes_back_through_parallel_rays():
    scene = wavy_relief(HEIGHT, WIDTH)
    assert outcome(scene, scene.camera).mean < WAVY_LIMIT


@pytest.mark.parametrize("camera", [PANORAMA, Cylindrical.full(60, 120)])
@pytest.mark.parametrize("connectivity", [4, "diagonal", 8])
def test_turning_a_panorama_turns_its_depth(camera, connectivity):
    from rayrelief.methods.recipes import Smooth
    from rayrelief.solvers.multigrid import Multigrid

    method = Smooth(connectivity=connectivity, solver=Multigrid(rtol=1e-12))
    scene = room(60, 120, camera)
    turned = replace(camera, cx=camera.cx + 37)
    depth = integrate(scene.normals, camera, method=method).depth
    again = integrate(np.roll(scene.normals, 37, axis=1), turned, method=method).depth
    scale = np.median(again / np.roll(depth, 37, axis=1))
    np.testing.assert_allclose(again, scale * np.roll(depth, 37, axis=1), rtol=1e-6)


def test_the_mesh_of_a_panorama_is_closed_but_for_its_poles():
    scene = wavy_room(60, 120, PANORAMA)
    mesh = integrate(scene.normals, PANORAMA).mesh()
    edges = np.sort(mesh.faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    _, counts = np.unique(edges, axis=0, return_counts=True)
    assert (counts == 1).sum() == 2 * 120  # around either pole
    assert (counts <= 2).all()


def test_a_ray_map_of_a_panorama_sees_what_is_between_its_last_and_first_column():
    rays = RayMap(PANORAMA.unit_rays(60, 120))
    behind = np.array([[0.0, 0.0, -1.0], [0.01, 0.2, -1.0], [-0.01, -0.2, -1.0]])
    found, expected = rays.project(behind), PANORAMA.project(behind)
    turned = np.abs(found - expected) - [120, 0]  # -0.5 and 119.5 are one place
    np.testing.assert_allclose(np.minimum(np.abs(found - expected), np.abs(turned)), 0, atol=0.01)
    np.testing.assert_allclose(rays.directions(found), rays.directions(found % [120, 60]))
    large, truth = rays.resize(240, 120).unit, PANORAMA.resize(240, 120).unit_rays(120, 240)
    np.testing.assert_allclose(large, truth, atol=2e-4)


@pytest.mark.parametrize(
    ("camera", "words"),
    [
        (Pinhole(377, 376, 5000, 255), "far outside the 612x512 image"),
        (Pinhole(6.1, 7.3, 0.5, 0.5), "look normalised"),
        (Pinhole(3772, 3759, 0, 0), "in the corner"),
        (Pinhole(1886, 1880, 152.4, 127.3), "probably for an image of about 306x256"),
        (Pinhole(7544, 7518, 611.5, 511.5), "probably for an image of about 1224x1024"),
        (Pinhole(3772, 3759, 305, 255, size=(306, 256)), "probably scaled"),
        (Pinhole(3772, 3759, 305, 255, size=(1000, 900)), "probably cropped"),
        (Pinhole(3772, 3759, 305, 255, size=(512, 612)), "rotated by 90 degrees"),
    ],
)
def test_a_camera_of_another_image_is_refused_with_the_likely_cause(camera, words):
    with pytest.raises(CameraError, match=words):
        integrate(np.tile([0.0, 0.0, -1.0], (512, 612, 1)), camera)


def test_a_part_of_an_image_keeps_its_camera(tmp_path):
    whole = Pinhole(300, 300, 399.5, 299.5, size=(800, 600))
    scene = ellipsoid_inside(600, 800, whole)
    part = whole.crop(0, 0, 60, 50)  # its principal point is far outside
    write_camera(tmp_path / "camera.json", part)
    camera = read_camera(tmp_path / "camera.json", height=50, width=60)
    assert camera == part
    result = integrate(scene.normals[:50, :60], camera)
    assert scene.depth is not None
    ratio = result.depth / scene.depth[:50, :60]
    assert np.abs(ratio / np.median(ratio) - 1).max() < 1e-5


def test_a_ray_map_of_a_panorama_wraps_like_its_camera():
    scene = wavy_room(60, 120, PANORAMA)
    rays = RayMap(PANORAMA.unit_rays(60, 120))
    assert rays.wraps(120)
    assert not RayMap(PANORAMA.unit_rays(60, 120)[:, :-1]).wraps(119)
    depth = integrate(scene.normals, PANORAMA).depth
    np.testing.assert_allclose(integrate(scene.normals, rays).depth, depth, rtol=1e-9)


def test_a_pole_in_the_middle_of_a_pixel_row_is_no_obstacle():
    camera = Equirectangular(120 / (2 * np.pi), 59 / np.pi, 59.5, 29.5)
    top = camera.rays(60, 120)[0]
    np.testing.assert_allclose(top, np.broadcast_to([0, -1, 0], top.shape), atol=1e-15)
    scene = wavy_room(60, 120, camera)
    result = integrate(scene.normals, camera)
    ratio = result.depth / true_distance(scene)
    assert np.abs(ratio / np.median(ratio) - 1).max() < 5e-3
    assert result.depth_kind == "distance"


def test_true_distance_is_measured_along_the_rays():
    scene = ellipsoid_inside(60, 80)
    assert scene.depth is not None
    points = scene.depth[..., None] * scene.camera.rays(60, 80)
    np.testing.assert_allclose(true_distance(scene), np.linalg.norm(points, axis=-1), rtol=1e-14)


def test_rooms_and_reliefs_ask_for_their_own_cameras():
    with pytest.raises(CameraError, match="Orthographic"):
        wavy_room(10, 10, wavy_relief(10, 10).camera)
    with pytest.raises(CameraError, match="Use wavy_room"):
        wavy_relief(10, 10, PANORAMA)  # type: ignore[arg-type]
