"""From normals and a camera to a surface: exact on planes, accurate on spheres, and honest."""

from __future__ import annotations

import warnings
from typing import Any

import numba
import numpy as np
import pytest

from rayrelief.backends.cpu import CPU
from rayrelief.cameras.base import Camera, pixel_grid
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.ray_map import RayMap
from rayrelief.conventions import CONVENTIONS, from_opencv, to_opencv
from rayrelief.errors import (
    CameraError,
    InputError,
    IntegrationError,
    IntegrationWarning,
    Outcome,
)
from rayrelief.formulation import ray_plane
from rayrelief.integration import integrate
from rayrelief.methods.ordered.recipe import Ordered
from rayrelief.methods.recipes import BiNI, RayPlane, Smooth
from rayrelief.pieces import NODES_PER_THREAD
from rayrelief.preprocess import Preprocessing
from rayrelief.scene import Scene
from rayrelief.solvers.conjugate_gradient import ConjugateGradient
from rayrelief.solvers.multigrid import Multigrid
from rayrelief.synthetic import gallery
from rayrelief.synthetic.render import render
from rayrelief.synthetic.shapes import Ellipsoid, Plane

HEIGHT, WIDTH = 36, 40
KEEP = Preprocessing(facing_away="keep")
ACCURATE = ConjugateGradient(rtol=1e-9)


def fisheye(height: int, width: int, degrees: float) -> RayMap:
    """Equidistant fisheye with a field of view across the diagonal."""
    offset = pixel_grid(height, width) - ((width - 1) / 2, (height - 1) / 2)
    per_pixel = np.radians(degrees) / np.hypot(width, height)
    angle = per_pixel * np.linalg.norm(offset, axis=-1, keepdims=True)
    return RayMap(
        np.concatenate((offset * per_pixel * np.sinc(angle / np.pi), np.cos(angle)), axis=-1)
    )


CAMERAS: dict[str, Camera] = {
    "Pinhole": Pinhole(45.0, 50.0, 18.0, 22.0),
    "BrownConrady": BrownConrady(26.0, 27.0, 19.0, 18.0, k1=-0.25, k2=0.04, p1=2e-3, p2=-3e-3),
    "RayMap": fisheye(HEIGHT, WIDTH, 170.0),
    "Orthographic": Orthographic(0.1, 20.0, 18.0),
}
every_camera = pytest.mark.parametrize("camera", CAMERAS.values(), ids=CAMERAS.keys())


def misfit(scene: Scene, depth: np.ndarray) -> np.ndarray:
    """Error (H, W) over the range of the true depth, the free scale or shift removed."""
    assert scene.depth is not None
    if scene.camera.central:
        error = depth * np.nanmedian(scene.depth / depth) - scene.depth
    else:
        error = depth - scene.depth - np.nanmedian(depth - scene.depth)
    return error / np.nanmax(scene.depth - np.nanmin(scene.depth))


def flat(height: int, width: int) -> np.ndarray:
    """Normals that look straight at the camera."""
    return np.tile([0.0, 0.0, -1.0], (height, width, 1))


@pytest.fixture(scope="module")
def sphere() -> Scene:
    return gallery.sphere(256, 256)


@every_camera
@pytest.mark.parametrize("connectivity", [4, 8])
def test_a_plane_comes_back_through_every_camera(camera, connectivity):
    scene = render([Plane((0.0, 0.0, 4.0), (0.35, -0.25, -1.0))], camera, HEIGHT, WIDTH)
    assert scene.depth is not None
    seen = scene.mask & (scene.depth < 100)  # a plane reaches to the horizon of a fisheye
    method = RayPlane(connectivity=connectivity)
    result = integrate(scene.normals, camera, mask=seen, method=method)
    assert result.status.outcome is Outcome.CONVERGED
    assert result.depth_kind == scene.depth_kind
    np.testing.assert_array_equal(result.mask, seen)
    if camera.central:
        ratio = np.log(result.depth[seen] / scene.depth[seen])
    else:
        ratio = result.depth[seen] - scene.depth[seen]
    np.testing.assert_allclose(ratio, np.median(ratio), atol=1e-6)


def test_the_cameras_are_as_wide_as_they_should_be():
    rays = CAMERAS["RayMap"].unit_rays(HEIGHT, WIDTH)
    assert np.degrees(np.arccos(rays[..., 2].min())) > 80, "more than 160 degrees across"
    corner = CAMERAS["BrownConrady"].rays(HEIGHT, WIDTH)[0, 0]
    ideal = Pinhole(26.0, 27.0, 19.0, 18.0).rays(HEIGHT, WIDTH)[0, 0]
    assert np.hypot(*corner[:2]) > 1.2 * np.hypot(*ideal[:2]), "a strong barrel"


def test_a_panorama_beyond_180_degrees_comes_back():
    camera = fisheye(44, 44, 260.0)
    scene = render([Ellipsoid((0.2, -0.1, 0.3), (2.0, 1.7, 2.2), inside=True)], camera, 44, 44)
    assert (camera.unit[..., 2] < 0).any()
    result = integrate(scene.normals, camera, mask=scene.mask, method=RayPlane(solver=ACCURATE))
    assert result.depth_kind == "distance"
    assert np.abs(misfit(scene, result.depth)).mean() < 2e-3
    np.testing.assert_allclose(result.distance(), result.depth, rtol=1e-12)


def test_a_sphere_is_accurate_up_to_its_rim(sphere):
    result = integrate(sphere.normals, sphere.camera, mask=sphere.mask, backend=CPU(np.int64(1)))  # type: ignore[arg-type]
    assert result.status.ok
    error = np.abs(misfit(sphere, result.depth))
    rays = sphere.camera.unit_rays(256, 256)
    cosine = -np.sum(rays * sphere.normals, axis=-1)
    assert error[sphere.mask].mean() < 1e-3
    assert error[cosine > np.cos(np.radians(80))].mean() < 2e-4
    assert result.mean_angle() < 0.2


def test_the_default_method_is_ordered(sphere):
    assert integrate(sphere.normals, sphere.camera, mask=sphere.mask).method == Ordered()


def test_smooth_and_bini_agree_on_a_smooth_surface(sphere):
    inner = sphere.mask & (-np.sum(sphere.camera.unit_rays(256, 256) * sphere.normals, -1) > 0.5)
    for method in (Smooth(), BiNI(), RayPlane(jumps=False), BiNI(form="printed")):
        result = integrate(sphere.normals, sphere.camera, mask=inner, method=method, backend=CPU(1))
        assert result.status.ok, method
        assert np.nanmean(np.abs(misfit(sphere, result.depth))) < 1e-3, method


def test_four_conventions_give_the_same_bits():
    scene = gallery.overlapping_spheres(40, 40)
    arguments: dict[str, Any] = {
        "mask": scene.mask,
        "method": RayPlane(max_iterations=5, tolerance=None),
    }
    expected = integrate(scene.normals, scene.camera, **arguments).depth.tobytes()
    for convention in CONVENTIONS:
        foreign = from_opencv(scene.normals, convention)
        result = integrate(to_opencv(foreign, convention), scene.camera, **arguments)
        assert result.depth.tobytes() == expected, convention


def test_any_number_of_threads_gives_the_same_bits():
    scene = gallery.tent(370, 371)
    assert scene.mask.sum() > 2 * NODES_PER_THREAD, "fewer would run on one thread"
    method = RayPlane(max_iterations=3, tolerance=None)
    before = numba.get_num_threads()
    results = [
        integrate(scene.normals, scene.camera, mask=scene.mask, method=method, backend=CPU(threads))
        for threads in (1, 2, None, 1000)
    ]
    assert numba.get_num_threads() == before
    assert len({result.depth.tobytes() for result in results}) == 1
    assert len({tuple(i.energy for i in result.history) for result in results}) == 1


def test_inputs_of_any_form_give_the_same_surface():
    scene = gallery.tent(30, 32)
    expected = integrate(scene.normals, scene.camera, mask=scene.mask).depth
    for form in (np.asfortranarray, lambda n: np.repeat(n, 2, axis=1)[:, ::2], list):
        normals = form(scene.normals)
        depth = integrate(normals, scene.camera, mask=scene.mask).depth
        np.testing.assert_array_equal(depth, expected)
    single = scene.normals.astype(np.float32)
    single.flags.writeable = False
    depth = integrate(single, scene.camera, mask=scene.mask).depth
    np.testing.assert_allclose(depth, expected, rtol=1e-3)


def two_islands(camera: Camera) -> tuple[np.ndarray, np.ndarray]:
    mask = np.zeros((12, 20), dtype=bool)
    mask[2:10, 1:7] = True
    mask[1:11, 9:19] = True
    scene = render([Plane((0.0, 0.0, 4.0), (0.3, 0.2, -1.0))], camera, 12, 20)
    return scene.normals, mask


@pytest.mark.parametrize(
    ("camera", "constant"),
    [(Pinhole(25.0, 25.0, 10.0, 6.0), "scale"), (Orthographic(0.2), "shift")],
    ids=["central", "parallel"],
)
@pytest.mark.parametrize("connectivity", [4, "diagonal", 8])
def test_islands_have_constants_of_their_own(camera, constant, connectivity):
    normals, mask = two_islands(camera)
    method = RayPlane(connectivity=connectivity)
    result = integrate(normals, camera, mask=mask, method=method)
    assert result.components.count == 2
    assert result.components.sizes == (100, 48), "the largest comes first"
    assert f"2 separate components: the {constant} of each is arbitrary" in str(result.status)
    for label, size in enumerate(result.components.sizes):
        here = result.components.labels == label
        assert here.sum() == size
        values = np.log(result.depth[here]) if camera.central else result.depth[here]
        assert np.median(values) == pytest.approx(0, abs=1e-12)
    np.testing.assert_array_equal(result.components.labels >= 0, mask)


def test_the_colours_of_a_diagonal_graph_count_as_one_component(sphere):
    inner = sphere.mask & (-np.sum(sphere.camera.unit_rays(256, 256) * sphere.normals, -1) > 0.6)
    method = RayPlane(connectivity="diagonal", solver=ACCURATE)
    result = integrate(sphere.normals, sphere.camera, mask=inner, method=method, backend=CPU(1))
    assert result.components.count == 1
    assert "component" not in str(result.status)
    assert np.nanmean(np.abs(misfit(sphere, result.depth))) < 1e-3


def test_colours_are_joined_through_small_bridges_and_sorted_by_size():
    mask = np.zeros((8, 30), dtype=bool)
    mask[1:6, 1:6] = True
    mask[1:6, 9:14] = True
    mask[3, 6:9] = True  # one pixel wide: several components of the diagonal graph
    mask[0:8, 18:30] = np.eye(8, 12, dtype=bool)  # one colour alone
    method = RayPlane(connectivity="diagonal", solver=ACCURATE)
    result = integrate(flat(8, 30), Pinhole(30.0, 30.0, 15.0, 4.0), mask=mask, method=method)
    assert result.components.sizes == (53, 8)
    np.testing.assert_allclose(result.depth[mask], 1.0, rtol=1e-9)


def test_what_to_do_about_a_failure():
    scene = gallery.sphere(24, 24)
    method = RayPlane(max_iterations=1)
    arguments: dict[str, Any] = {"mask": scene.mask, "method": method}
    with pytest.warns(IntegrationWarning, match=r"iteration limit.*increase max_iterations"):
        warned = integrate(scene.normals, scene.camera, **arguments)
    with pytest.raises(IntegrationError, match=r"iteration limit.*Increase max_iterations"):
        integrate(scene.normals, scene.camera, on_failure="raise", **arguments)
    returned = integrate(scene.normals, scene.camera, on_failure="return", **arguments)
    assert not returned.status.ok
    assert returned.status.outcome is Outcome.ITERATION_LIMIT
    np.testing.assert_array_equal(returned.depth, warned.depth)
    with pytest.raises(InputError, match="on_failure is 'ignore'; expected 'raise'"):
        integrate(scene.normals, scene.camera, on_failure="ignore")  # type: ignore[arg-type]


def test_the_thread_count_is_restored_after_a_failure():
    before = numba.get_num_threads()

    def fail(iteration):
        raise KeyError(iteration.number)

    with pytest.raises(KeyError):
        integrate(flat(5, 5), Orthographic(), backend=CPU(1), callback=fail)
    assert numba.get_num_threads() == before
    assert integrate(flat(5, 5), Orthographic()).status.ok, "the lock is free again"


def test_warnings_point_at_the_caller():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        integrate(flat(1, 1), Orthographic())
        normals = flat(10, 10)
        normals[0, :2] *= -1
        integrate(normals, Orthographic())
    assert [w.category for w in caught] == [IntegrationWarning] * 2
    assert {w.filename for w in caught} == {__file__}


PINHOLE = Pinhole(20.0, 20.0, 4.0, 3.0)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"normals": flat(6, 8)[..., :2]}, InputError, r"\(6, 8, 2\).*\(height, width, 3\)"),
        ({"normals": np.moveaxis(flat(6, 8), -1, 0)}, InputError, r"\(3, 6, 8\).*numpy\.moveaxis"),
        ({"normals": np.zeros((0, 8, 3))}, InputError, r"\(0, 8, 3\)"),
        ({"normals": flat(6, 8).astype(np.uint8)}, InputError, "type uint8.*Decode"),
        ({"normals": np.full((6, 8, 3), np.nan)}, InputError, "of 48 in the mask 48 have no norm"),
        ({"mask": np.ones((8, 6), dtype=bool)}, InputError, r"mask.*\(8, 6\).*\(6, 8\)"),
        ({"mask": np.full((6, 8), 255, np.uint8)}, InputError, "mask.*uint8.*bool.*mask > 127"),
        ({"mask": np.zeros((6, 8), dtype=bool)}, InputError, "mask is empty.*not inverted"),
        ({"camera": np.eye(3)}, InputError, "camera is a ndarray.*Pinhole"),
        ({"camera": None}, InputError, "camera is a NoneType"),
        (
            {"camera": Pinhole(20.0, 20.0, 4.0, 3.0, size=(16, 12))},
            CameraError,
            r"for 16x12 pixels \(width x height\), but the image has 8x6",
        ),
        ({"camera": RayMap(np.ones((8, 6, 3)))}, CameraError, "6x8 pixels.*has 8x6"),
        ({"normals": -flat(6, 8)}, InputError, "100 % of the normals face away.*to_opencv"),
        ({"method": RayPlane}, InputError, r"expected a recipe such as Ordered\(\)"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_bad_inputs_say_what_is_wrong(arguments, error, words):
    with pytest.raises(error, match=words):
        integrate(**{"normals": flat(6, 8), "camera": PINHOLE, **arguments})


def test_nothing_is_modified():
    scene = gallery.sphere(24, 24)
    normals, mask = scene.normals.copy(), scene.mask.copy()
    integrate(normals, scene.camera, mask=mask)
    np.testing.assert_array_equal(normals, scene.normals)
    np.testing.assert_array_equal(mask, scene.mask)


@every_camera
def test_a_result_prints_as_five_lines(camera):
    result = integrate(flat(HEIGHT, WIDTH), camera, method=RayPlane(preprocessing=KEEP))
    lines = repr(result).splitlines()
    assert len(lines) == 5
    assert lines[0] == f"Integration of {WIDTH}x{HEIGHT} pixels, 1,440 inside, in 1 component"
    labels = [line.split(":")[0].strip() for line in lines[1:]]
    assert labels == ["depth", "camera", "method", "status"]
    assert lines[2].endswith(camera.summary())


@every_camera
@pytest.mark.parametrize("connectivity", [4, "diagonal", 8])
def test_views_of_the_result_fit_each_other(camera, connectivity):
    scene = render([Plane((0.0, 0.0, 4.0), (0.35, -0.25, -1.0))], camera, HEIGHT, WIDTH)
    assert scene.depth is not None
    seen = scene.mask & (scene.depth < 100)
    method = RayPlane(solver=ACCURATE, connectivity=connectivity)
    result = integrate(scene.normals, camera, mask=seen, method=method)
    directions = 8 if connectivity == 8 else 4
    for maps in (result.weights, result.activation, result.jumps):
        assert maps.values.shape == (directions, HEIGHT, WIDTH)
        assert np.isnan(maps.values[:, ~seen]).all()
        for d, (du, dv) in enumerate(maps.steps):
            values = maps.towards(du, dv)
            np.testing.assert_array_equal(values, maps.values[d])
            inside = np.pad(seen, 1)[1 + dv :, 1 + du :][:HEIGHT, :WIDTH]
            np.testing.assert_array_equal(np.isfinite(values), seen & inside)
        assert np.isfinite(maps.smallest()[seen]).all()
    # Both values of a pair of opposite edges are there, or the missing one has no residual.
    for there, back in zip(result.weights.values[::2], result.weights.values[1::2], strict=True):
        pair = np.isfinite(there + back)
        np.testing.assert_allclose((there + back)[pair], 1, atol=1e-12)
    assert np.nanmax(result.jumps.largest()) < 1e-4 * np.nanmax(result.depth)

    mesh = result.mesh()
    assert mesh.normals is not None
    np.testing.assert_array_equal(mesh.vertices, result.points()[seen])
    np.testing.assert_array_equal(result.normals()[seen], mesh.normals)
    corners = mesh.vertices[mesh.faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    rays = result.camera.rays(HEIGHT, WIDTH)[seen][mesh.faces[:, 0]]
    assert (np.sum(across * rays, axis=-1) < 0).all(), "every face looks at the camera"
    assert result.mean_angle() < 1e-2
    blocks = seen[:-1, :-1].astype(int) + seen[1:, :-1] + seen[:-1, 1:] + seen[1:, 1:]
    assert len(mesh.faces) == 2 * (blocks == 4).sum() + (blocks == 3).sum(), "a plane has no cut"


@pytest.mark.parametrize("connectivity", [4, "diagonal", 8])
@pytest.mark.parametrize("camera", [None, fisheye(40, 48, 100.0)], ids=["pinhole", "fisheye"])
def test_no_face_crosses_a_step(connectivity, camera):
    scene = gallery.steps(40, 48, camera)
    assert scene.depth is not None
    method = RayPlane(
        connectivity=connectivity,
        max_iterations=3,
        tolerance=None,
    )
    result = integrate(
        scene.normals, scene.camera, mask=scene.mask, start=scene.depth, method=method
    )
    np.testing.assert_allclose(result.depth, scene.depth, rtol=0.02)
    plateau = np.round(result.points()[..., 2], 1)[result.mask]
    truth = np.unique(np.round(scene.depth, 1)) if scene.depth_kind == "z" else None
    faces = result.mesh().faces
    corners = plateau[faces]
    assert (np.ptp(corners, axis=1) < 0.2).all()
    assert len(np.unique(plateau)) >= 4
    if truth is not None:
        assert set(truth) <= set(np.unique(plateau))
    assert len(result.mesh(cut=1e9).faces) == 2 * 39 * 47, "without cuts the sheet is whole"


def test_no_face_crosses_a_step_at_the_rim_of_the_rays():
    whole = fisheye(40, 48, 100.0)
    rays = whole.unit.copy()
    v, u = np.indices((40, 48))
    rays[np.hypot(v - 19.5, u - 23.5) > 17.0] = np.nan
    camera = RayMap(rays)
    scene = gallery.steps(40, 48, camera)
    assert scene.depth is not None
    filled = np.where(scene.mask, scene.depth, 1.0)
    method = RayPlane(max_iterations=2, tolerance=None)
    result = integrate(scene.normals, camera, mask=scene.mask, start=filled, method=method)
    z = result.points()[..., 2][result.mask]
    assert (np.ptp(z[result.mesh().faces], axis=1) < 0.2).all()


def test_jumps_are_measured_in_the_unit_of_depth():
    normals = flat(8, 12)
    depth = np.where(np.arange(12) < 6, 2.0, 3.0) * np.ones((8, 1))
    method = RayPlane(max_iterations=2, tolerance=None)
    for camera in (Pinhole(60.0, 60.0, 6.0, 4.0), Orthographic(0.05)):
        result = integrate(normals, camera, start=depth, method=method)
        jumps = result.jumps.towards(1, 0)
        np.testing.assert_allclose(jumps[:, 5], -1.0, rtol=1e-3)
        np.testing.assert_allclose(result.jumps.towards(-1, 0)[:, 6], 1.0, rtol=1e-3)
        np.testing.assert_allclose(np.delete(jumps[:, :-1], 5, axis=1), 0, atol=1e-3)
        assert (result.weights.towards(1, 0)[:, 5] < 1e-3).all()
        assert (result.activation.towards(1, 0)[:, 5] > 0.99).all()
        assert (result.weights.smallest()[:, 5:7] < 1e-3).all()
    with pytest.raises(InputError, match=r"no edges lead to \(1, 1\).*another connectivity"):
        result.jumps.towards(1, 1)


def test_one_pixel_has_no_equations():
    with pytest.warns(IntegrationWarning, match=r"no equation.*check the mask"):
        result = integrate(flat(1, 1), PINHOLE)
    assert result.status.outcome is Outcome.NO_EQUATIONS
    np.testing.assert_array_equal(result.depth, [[1.0]])
    assert len(repr(result).splitlines()) == 5
    assert len(result.mesh().faces) == 0
    assert np.isnan(result.normals()).all()
    assert np.isnan(result.mean_angle())
    assert np.isnan(result.weights.values).all()


@pytest.mark.parametrize("shape", [(1, 2), (2, 1), (1, 7), (2, 2)])
@pytest.mark.parametrize("camera", [PINHOLE, Orthographic()], ids=["central", "parallel"])
def test_tiny_maps_are_maps(shape, camera):
    result = integrate(flat(*shape), camera)
    assert result.status.ok
    np.testing.assert_allclose(result.depth, 1.0 if camera.central else 0.0)
    assert len(result.mesh().faces) == (2 if shape == (2, 2) else 0)
    assert len(repr(result).splitlines()) == 5


def test_pixels_without_a_normal_or_a_ray_are_reported():
    normals = flat(6, 8)
    normals[0, 0] = np.nan
    rays = PINHOLE.rays(6, 8)
    rays[5, 7] = np.nan
    result = integrate(normals, RayMap(rays))
    assert result.mask.sum() == 46
    assert (result.preprocessing.without_normal, result.preprocessing.without_ray) == (1, 1)
    assert "1 pixel has no normal" in str(result.status)


def test_impossible_edges_are_reported_and_cut():
    normals = flat(3, 6)
    normals[:, 3] = 0.995, 0.0, -0.0998
    camera = Pinhole(4.0, 4.0, 3.0, 1.0)
    result = integrate(normals, camera, method=RayPlane())
    assert "3 pairs of neighbouring pixels were ignored" in str(result.status)
    assert result.components.count > 1


def test_a_callback_may_integrate_too():
    scene = gallery.sphere(24, 24)
    inner = []

    def callback(iteration):
        inner.append(integrate(scene.normals, scene.camera, mask=scene.mask))
        return True

    outer = integrate(scene.normals, scene.camera, mask=scene.mask, callback=callback)
    assert outer.status.outcome is Outcome.STOPPED
    assert inner[0].status.ok


def test_the_relative_jump_is_the_alpha_of_the_paper():
    scene = gallery.overlapping_spheres(40, 48)
    result = integrate(scene.normals, scene.camera, mask=scene.mask, method=RayPlane())
    alpha = result.relative_jumps.towards(1, 0)[:, :-1]
    rays = scene.camera.rays(40, 48)
    a = np.s_[:, :-1]
    b = np.s_[:, 1:]
    n_a, n_b, tau_a, tau_b = scene.normals[a], scene.normals[b], rays[a], rays[b]
    omega = ray_plane.omega(n_a, n_b, tau_a, tau_b, 0.5 * (tau_a + tau_b))
    epsilon = alpha * result.depth[b]
    expected = omega * result.depth[b] + ray_plane.omega_eps(n_a, tau_a) * epsilon  # Eq. 2
    seen = np.isfinite(alpha)
    assert seen.any()
    np.testing.assert_allclose(expected[seen], result.depth[a][seen], rtol=1e-9)


def test_a_result_cannot_be_changed():
    result = integrate(flat(4, 4), Orthographic())
    with pytest.raises(ValueError, match="read-only"):
        result.depth[0, 0] = 5.0


def test_solves_that_were_cut_short_are_told_even_if_the_last_was_not():
    scene = gallery.tent(40, 41)
    solver = Multigrid(rtol=1e-9, max_steps=2)
    method = RayPlane(solver=solver, max_iterations=3, tolerance=None)
    result = integrate(
        scene.normals, scene.camera, mask=scene.mask, method=method, on_failure="return"
    )
    assert any("of 3 inner solves reached the solver's max_steps" in n for n in result.status.notes)
