"""The cameras with a closed form, and what every camera shares."""

from __future__ import annotations

import sys
from subprocess import run

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras.base import Camera, depth_kind, in_blocks, pixel_grid
from rayrelief.cameras.intrinsics import FOCAL_LENGTHS
from rayrelief.cameras.orthographic import PIXEL_SIZES, Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.view import View
from rayrelief.errors import CameraError
from rayrelief.integration import integrate
from rayrelief.methods.recipes import RayPlane

FOCAL = st.floats(20, 5000)
CENTRE = st.floats(-50, 150)


@given(FOCAL, FOCAL, CENTRE, CENTRE)
def test_pinhole_projects_its_rays_to_their_pixels(fx, fy, cx, cy):
    camera = Pinhole(fx, fy, cx, cy)
    points = camera.rays(7, 9) * np.linspace(0.1, 50, 63).reshape(7, 9, 1)
    np.testing.assert_allclose(camera.project(points), pixel_grid(7, 9), atol=1e-9)


def test_rays_beyond_all_numbers_are_none():
    with pytest.raises(CameraError, match="no valid ray"):
        Pinhole(20.0, 20.0, 7.5, 1e300).rays(12, 16)


@given(st.floats(0.01, 100), CENTRE, CENTRE)
def test_orthographic_projects_its_rays_to_their_pixels(pixel_size, cx, cy):
    camera = Orthographic(pixel_size, cx, cy)
    points = camera.origins(7, 9) + 3.5 * camera.rays(7, 9)
    np.testing.assert_allclose(camera.project(points), pixel_grid(7, 9), atol=1e-9)


def test_pinhole_does_not_see_what_is_behind_it():
    points: list[list[float]] = [[0, 0, -1], [0, 0, 0], [1, 0, 5e-324]]
    assert np.isnan(Pinhole(10, 10, 0, 0).project(points)).all()


@pytest.mark.parametrize(("angle", "kind"), [(79.9, "z"), (80.1, "distance")])
def test_rays_beyond_80_degrees_give_unit_rays_for_the_whole_image(angle, kind):
    edge = 50 / np.tan(np.radians(angle))
    rays = Pinhole(edge, edge, 50, 0).rays(1, 101)
    lengths = rays[..., 2] if kind == "z" else np.linalg.norm(rays, axis=-1)
    assert depth_kind(rays) == kind
    np.testing.assert_allclose(lengths, 1, atol=1e-15)


def test_field_of_view_spans_the_longer_side():
    camera = Pinhole.from_fov(60, 40, 80)
    left, right = camera.directions(np.array([[-0.5, 19.5], [79.5, 19.5]]))
    cosine = left @ right / np.linalg.norm(left) / np.linalg.norm(right)
    assert np.degrees(np.arccos(cosine)) == pytest.approx(60)


def test_a_camera_for_another_image_size_is_refused():
    with pytest.raises(CameraError, match=r"for 80x40 pixels .* has 40x80"):
        Pinhole.from_fov(60, 40, 80).rays(80, 40)


@pytest.mark.parametrize(
    "broken",
    [
        lambda: Pinhole(0, 1, 0, 0),
        lambda: Pinhole(1, -1, 0, 0),
        lambda: Pinhole(1, 1, np.nan, 0),
        lambda: Pinhole.from_fov(180, 4, 4),
        lambda: Orthographic(0),
        lambda: Orthographic(1, np.inf),
    ],
)
def test_cameras_that_cannot_exist_are_refused(broken):
    with pytest.raises(CameraError, match="expected"):
        broken()


@given(st.integers(0, 100_000))
def test_blocks_cover_every_row_once(count):
    rows = np.arange(2.0 * count).reshape(count, 2)
    np.testing.assert_array_equal(in_blocks(lambda block: block + 1, rows, 2), rows + 1)


def test_cameras_load_no_heavy_library():
    code = (
        "import sys, rayrelief.cameras.brown_conrady, rayrelief.cameras.calibration;"
        "print([m for m in ('numba', 'cv2', 'OpenEXR', 'trimesh', 'scipy') if m in sys.modules])"
    )
    output = run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"


@given(st.floats(0.5, 5000), st.floats(0.5, 5000), CENTRE, CENTRE)
def test_pinhole_takes_a_short_cut_to_the_rays_of_every_camera(fx, fy, cx, cy):
    camera = Pinhole(fx, fy, cx, cy)
    rays, expected = camera.rays(7, 9), Camera.rays(camera, 7, 9)
    assert depth_kind(rays) == depth_kind(expected)
    np.testing.assert_allclose(rays, expected, rtol=1e-14, atol=1e-300)


def test_a_view_computes_rays_when_asked_and_keeps_them():
    view = View.of(Pinhole(30.0, 31.0, 4.0, 3.0), 7, 9)
    assert "rays" not in vars(view)
    assert view.rays is view.rays
    assert view.origins is None
    assert "rays" not in vars(view.unused())
    np.testing.assert_array_equal(view.unused().rays, view.rays)


def test_a_view_is_refused_at_once_for_another_image_size():
    with pytest.raises(CameraError, match=r"for 80x40 pixels .* has 40x80"):
        View.of(Pinhole.from_fov(60, 40, 80), 80, 40)


@pytest.mark.parametrize("f", [1e-4, 2e8])
def test_a_focal_length_beyond_reason_is_refused(f):
    with pytest.raises(CameraError, match=r"0\.001 to 1e\+08"):
        Pinhole(f, f, 1, 1)


@pytest.mark.parametrize("f", FOCAL_LENGTHS)
def test_a_slanted_plane_comes_back_at_the_limits_of_focal_lengths(f):
    camera = Pinhole(f, f, 7.5, 5.5)
    normal = np.array([0.3, -0.2, -1.0]) / np.linalg.norm([0.3, -0.2, -1.0])
    depth = 1 / -(camera.rays(12, 16) @ normal)
    mask = depth > 0
    depth[~mask] = np.nan
    normals = np.broadcast_to(normal, (12, 16, 3)).copy()
    result = integrate(normals, camera, mask=mask, method=RayPlane())
    found = result.depth / np.nanmedian(result.depth / depth)
    relief = np.nanmax(depth) - np.nanmin(depth)
    np.testing.assert_allclose(found[mask], depth[mask], atol=1e-6 * relief)


@pytest.mark.parametrize("size", [1e-13, 1e13, 0, -1, np.nan])
def test_a_pixel_size_beyond_reason_is_refused(size):
    with pytest.raises(CameraError, match=r"from 1e-12 to 1e\+12"):
        Orthographic(size)


@pytest.mark.parametrize("size", PIXEL_SIZES)
def test_a_slanted_plane_comes_back_at_the_limits_of_pixel_sizes(size):
    normal = np.array([0.3, -0.2, -1.0]) / np.linalg.norm([0.3, -0.2, -1.0])
    normals = np.broadcast_to(normal, (12, 16, 3)).copy()
    result = integrate(normals, Orthographic(size), method=RayPlane())
    slope = np.diff(result.depth, axis=1) / size
    np.testing.assert_allclose(slope, 0.3, atol=1e-6)


def test_a_cube_face_sees_a_quarter_of_a_turn_from_border_to_border():
    camera = Pinhole.cube_face(64)
    assert camera.resolution == (64, 64)
    borders = camera.directions(np.array([[-0.5, -0.5], [63.5, 63.5]]))
    np.testing.assert_allclose(borders, [[-1, -1, 1], [1, 1, 1]], rtol=1e-14)
