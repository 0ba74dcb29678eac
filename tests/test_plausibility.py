"""Surfaces that cannot be, and those that can."""

from __future__ import annotations

import numpy as np
import pytest

import rayrelief
from rayrelief.errors import InputError, Outcome
from rayrelief.synthetic.gallery import GALLERY, plane

METHODS = [rayrelief.RayPlane(), rayrelief.Smooth(), rayrelief.BiNI()]
HEIGHT, WIDTH = 36, 48


def status(normals, camera, mask=None, method=None):
    return rayrelief.integrate(
        normals, camera, mask=mask, method=method, on_failure="return"
    ).status


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_every_scene_of_the_gallery_is_plausible(method):
    for make in GALLERY.values():
        scene = make(HEIGHT, WIDTH)
        found = status(scene.normals, scene.camera, scene.mask, method)
        assert found.outcome is not Outcome.IMPLAUSIBLE, (scene.name, found)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_depths_beyond_all_measure_are_told(method):
    camera = rayrelief.cameras.Pinhole.from_fov(60, HEIGHT, WIDTH)
    rays = unit(camera.rays(HEIGHT, WIDTH))
    normals = unit(unit(np.cross(rays, (0.3, -0.5, 0.8))) - 1e-2 * rays)
    found = status(normals, camera, method=method)
    assert found.outcome is Outcome.IMPLAUSIBLE
    assert "factor of 10^" in found.notes[0]
    assert found.remedy


@pytest.mark.parametrize("method", METHODS[1:], ids=lambda method: type(method).__name__)
@pytest.mark.parametrize(
    "camera",
    [
        rayrelief.cameras.Pinhole.from_fov(60, HEIGHT, WIDTH),
        rayrelief.cameras.Orthographic(),
        rayrelief.cameras.Equirectangular.full(HEIGHT, 2 * HEIGHT),
    ],
    ids=lambda camera: type(camera).__name__,
)
def test_random_normals_are_those_of_no_surface(method, camera):
    width = WIDTH if camera.resolution is None else camera.resolution[0]
    normals = unit(np.random.default_rng(0).normal(size=(HEIGHT, width, 3)))
    rays = camera.rays(HEIGHT, width)
    normals *= -np.sign(np.einsum("...i,...i->...", normals, rays))[..., None]
    found = status(normals, camera, method=method)
    assert found.outcome is Outcome.IMPLAUSIBLE
    assert "degrees away" in found.notes[-1] or "degrees away" in found.notes[0]


def test_a_depth_that_has_become_zero_is_not_finite():
    camera = rayrelief.cameras.Pinhole.from_fov(60, HEIGHT, WIDTH)
    rays = unit(camera.rays(HEIGHT, WIDTH))
    normals = unit(unit(np.cross(rays, (0.3, -0.5, 0.8))) - 1e-6 * rays)
    assert status(normals, camera, method=rayrelief.BiNI()).outcome is Outcome.NOT_FINITE


def test_a_plane_seen_almost_to_its_horizon_is_plausible():
    scene = plane(HEIGHT, WIDTH)
    rays = scene.camera.rays(HEIGHT, WIDTH)
    down = rays[..., 1] > 0.005
    normals = np.broadcast_to((0.0, -1.0, 0.0), rays.shape)
    assert status(normals, scene.camera, down).ok


def test_masked_normals_are_missing_and_the_input_is_left_alone():
    scene = plane(HEIGHT, WIDTH)
    hidden = np.zeros(scene.normals.shape, np.bool_)
    hidden[5:9, 5:9] = True
    masked = np.ma.masked_array(scene.normals.copy(), hidden)
    result = rayrelief.integrate(masked, scene.camera)
    assert np.array_equal(~result.mask, hidden[..., 0])
    assert np.array_equal(masked.data, scene.normals)


@pytest.mark.parametrize(("flip", "axes"), [((1, -1, 1), "RUF"), ((-1, 1, 1), "LDF")])
def test_a_flipped_axis_of_an_array_is_named(flip, axes):
    parallel = rayrelief.cameras.Orthographic(0.048, cx=39.5, cy=29.5)
    scene, method = GALLERY["tori"](60, 80, parallel), rayrelief.Smooth()
    right = rayrelief.integrate(scene.normals, scene.camera, mask=scene.mask, method=method)
    assert not any("camera frame" in note for note in right.status.notes)
    with pytest.warns(rayrelief.IntegrationWarning, match=f"to_opencv.normals, '{axes}'"):
        rayrelief.integrate(scene.normals * flip, scene.camera, mask=scene.mask, method=method)
    told = status(scene.normals * flip, scene.camera, scene.mask, method)
    assert any(axes in note for note in told.notes)


def test_a_body_turned_inside_out_is_named_though_it_has_a_surface():
    scene, method = GALLERY["vase"](60, 80), rayrelief.Smooth()
    with pytest.warns(rayrelief.IntegrationWarning, match="hollow.*to_opencv.normals, 'LUF'"):
        rayrelief.integrate(scene.normals * (-1, -1, 1), scene.camera, mask=scene.mask)
    hollow = GALLERY["ellipsoid_inside"](60, 80)  # seen to its rim, at which it does not turn away
    told = status(hollow.normals, hollow.camera, hollow.mask, method)
    assert not any("camera frame" in note for note in told.notes)


@pytest.mark.parametrize("steps", [255, 65535, None])
@pytest.mark.parametrize("convention", ["opencv", "opengl"])
def test_colours_that_nobody_decoded_are_refused(convention, steps):
    scene = GALLERY["still_life"](45, 60)
    colours = (rayrelief.from_opencv(scene.normals, convention) + 1) / 2
    colours = colours if steps is None else np.rint(colours * steps) / steps
    taken = rayrelief.to_opencv(colours, convention)
    for top in (1, 255, 65535):
        with pytest.raises(InputError, match=rf"from 0 to {top}, .*Decode them"):
            rayrelief.integrate(taken * top, scene.camera, mask=scene.mask)


@pytest.mark.parametrize("length", [1e-3, 1.0, 100.0, 255.0, 3e4, 65535.0])
def test_long_normals_of_one_slope_are_no_colours(length):
    gentle = np.random.default_rng(0).uniform(0.3, 0.7, size=(20, 24, 2))
    normals = np.concatenate((gentle, np.full((20, 24, 1), -1.0)), axis=-1) * length
    assert status(normals, rayrelief.cameras.Orthographic(), method=rayrelief.Smooth()).ok


@pytest.mark.parametrize("length", [0.5, 1.0, 100.0, 255.0, 40000.0])
def test_normals_may_have_any_length(length):
    scene = GALLERY["still_life"](45, 60)
    unit = rayrelief.integrate(scene.normals, scene.camera, mask=scene.mask)
    longer = rayrelief.integrate(scene.normals * length, scene.camera, mask=scene.mask)
    np.testing.assert_allclose(longer.depth, unit.depth, rtol=1e-9)
