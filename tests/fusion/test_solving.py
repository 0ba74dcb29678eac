"""Known depths place what the normals leave open, and bad ones are outvoted."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import rayrelief
from rayrelief import DepthPrior, Ordered, RayPlane, Smooth, integrate
from rayrelief.cameras import Equirectangular, Orthographic, Pinhole
from rayrelief.errors import InputError, IntegrationWarning
from rayrelief.fusion.solving import _extent, known_values
from rayrelief.graph import pixel_graph
from rayrelief.methods import Support
from rayrelief.problem import assemble
from rayrelief.synthetic.gallery import overlapping_spheres, plane, sphere, tori
from reference.known_depths import METHODS, error, fit_of, some_depths, true_depth


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_separate_components_get_their_relative_scale(method):
    scene = sphere(30, 40)
    mask = scene.mask.copy()
    mask[:, 20] = False  # two halves
    known = some_depths(replace(scene, mask=mask), 12)
    free = integrate(scene.normals, scene.camera, mask=mask, method=method)
    held = integrate(scene.normals, scene.camera, mask=mask, method=method, prior=DepthPrior(known))
    shared = np.isfinite(held.depth)
    halves = [(held.depth / free.depth)[shared & (held.components.labels == c)] for c in (0, 1)]
    assert all(np.ptp(half) < 0.01 * np.median(half) for half in halves)
    assert np.nanmedian(np.abs(held.depth / true_depth(scene) - 1)[mask]) < 1e-3
    assert (free.components.free, held.components.free) == (2, 0)


@pytest.mark.parametrize("method", [RayPlane(), Ordered()], ids=["RayPlane", "Ordered"])
def test_few_known_depths_place_what_floats(method):
    scene = overlapping_spheres(90, 120)  # twenty are few of its pixels
    without = integrate(scene.normals, scene.camera, mask=scene.mask, method=method)
    scaled = replace(without, depth=without.depth * np.nanmedian(true_depth(scene) / without.depth))
    known = DepthPrior(some_depths(scene, 20))
    fused = integrate(scene.normals, scene.camera, mask=scene.mask, method=method, prior=known)
    assert error(fused, scene) < 0.5 * error(scaled, scene)
    assert np.count_nonzero(fit_of(fused).outvoted) <= 1


@pytest.mark.parametrize("method", [RayPlane(), Ordered()], ids=["RayPlane", "Ordered"])
@pytest.mark.parametrize("wrong", [1.3, 0.95])
def test_wrong_depths_are_outvoted_and_named(method, wrong):
    scene = tori(60, 80)
    good = some_depths(scene, 30)
    bad = good.copy()
    spoilt = np.flatnonzero(np.isfinite(good))[[4, 17]]
    bad.flat[spoilt] *= wrong
    with_good, with_bad = (
        integrate(scene.normals, scene.camera, mask=scene.mask, method=method, prior=DepthPrior(d))
        for d in (good, bad)
    )
    assert np.flatnonzero(fit_of(with_bad).outvoted).tolist() == spoilt.tolist()
    assert error(with_bad, scene) < 2 * error(with_good, scene) + 1e-4


def test_noise_of_a_dense_depth_does_not_reach_the_surface():
    scene = sphere(60, 80)
    rng = np.random.default_rng(0)
    noisy = true_depth(scene) * (1 + rng.normal(0, 0.01, true_depth(scene).shape))
    result = integrate(scene.normals, scene.camera, mask=scene.mask, prior=DepthPrior(noisy))
    assert error(result, scene) < 0.001
    assert 0.009 < fit_of(result).sigma / np.nanmedian(true_depth(scene)) < 0.011


@pytest.mark.parametrize(("side", "low", "high"), [(1, 1.0, 1.5), (8, 40, 100)])
def test_errors_that_pixels_share_are_counted_once(side, low, high):
    blocks = np.random.default_rng(0).normal(size=(160 // side, 192 // side))
    graph = pixel_graph(np.ones((160, 192), dtype=bool))
    errors = graph.gather(np.kron(blocks, np.ones((side, side))).astype(np.float64))
    assert low <= _extent(graph, np.arange(graph.size), errors, 1.0) < high


def test_errors_that_pixels_share_do_not_bend_a_surface():
    scene = plane(64, 96)
    shared = np.kron(np.random.default_rng(0).normal(size=(2, 3)), np.ones((32, 32)))
    prior = DepthPrior(true_depth(scene) * (1 + 0.01 * shared))
    result = integrate(scene.normals, scene.camera, method=Smooth(), prior=prior)
    assert np.std(np.log(result.depth / true_depth(scene))) < 1e-4


def test_the_smaller_sigma_the_closer_to_the_known_depths():
    scene = plane(20, 24)
    bent = true_depth(scene) * (1 + 0.02 * np.linspace(-1, 1, 24) ** 2)
    distances = []
    for sigma in (1e-1, 1e-3, 1e-5):
        prior = DepthPrior(bent, sigma=sigma)
        result = integrate(scene.normals, scene.camera, method=Smooth(), prior=prior)
        distances.append(float(np.max(np.abs(result.depth / bent - 1))))
    assert distances[0] > distances[1] > 10 * distances[2]


def bent_plane() -> tuple[rayrelief.Scene, np.ndarray]:
    """A plane, and known depths that bend it by up to 0.5 %."""
    scene = plane(20, 24)
    return scene, true_depth(scene) * (1 + 0.005 * np.linspace(-1, 1, 24) ** 2)


def test_a_weight_is_so_many_times_the_inverse_variance():
    scene, bent = bent_plane()
    light, wide = (
        integrate(scene.normals, scene.camera, method=Smooth(), prior=prior).depth
        for prior in (DepthPrior(bent, sigma=3e-4, weight=0.01), DepthPrior(bent, sigma=3e-3))
    )
    assert_allclose(light, wide, rtol=1e-9)


def test_a_sigma_says_as_much_to_equations_with_intervals_as_to_others():
    scene, bent = bent_plane()
    one, other = (
        integrate(scene.normals, scene.camera, method=each, prior=DepthPrior(bent, sigma=1e-3))
        for each in (Smooth(), Ordered(connectivity=4))
    )
    assert_allclose(one.depth, other.depth, rtol=2e-4)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("weight", [1e-300, 1e-30, 1e-12])
def test_the_smallest_weight_still_places_the_surface(method, weight):
    scene, bent = bent_plane()
    free = integrate(scene.normals, scene.camera, method=method).depth
    prior = DepthPrior(bent, weight=weight)
    held = integrate(scene.normals, scene.camera, method=method, prior=prior).depth
    assert_allclose(held, free * np.exp(np.mean(np.log(bent / free))), rtol=1e-6)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("weight", [1e18, 3e38])
def test_the_largest_weight_leaves_nothing_to_the_normals(method, weight):
    scene, bent = bent_plane()
    prior = DepthPrior(bent, weight=weight)
    held = integrate(scene.normals, scene.camera, method=method, prior=prior).depth
    assert_allclose(held, bent, rtol=1e-6)


def test_linear_residuals_are_in_the_unit_of_the_depth():
    scene = plane(20, 24)
    known = np.full(true_depth(scene).shape, np.nan)
    known[5:8, 5:8] = true_depth(scene)[5:8, 5:8] * 1.01
    log = DepthPrior(known, sigma=0.001)
    linear = DepthPrior(known, sigma=0.001 * known, residual="linear")
    one, other = (
        integrate(scene.normals, scene.camera, method=Smooth(), prior=prior).depth
        for prior in (log, linear)
    )
    assert_allclose(one, other, rtol=1e-9)


def test_known_depths_do_not_depend_on_the_unit():
    scene = overlapping_spheres(40, 50)
    known = some_depths(scene, 10)
    metres, millimetres = (
        integrate(scene.normals, scene.camera, mask=scene.mask, prior=DepthPrior(known * unit))
        for unit in (1.0, 1000.0)
    )
    assert_allclose(1000 * metres.depth, millimetres.depth, rtol=1e-3)


def test_segments_with_a_known_depth_are_told():
    scene = overlapping_spheres(60, 80)
    known = some_depths(scene, 20)
    result = integrate(
        scene.normals, scene.camera, mask=scene.mask, method=Ordered(), prior=DepthPrior(known)
    )
    of_known = result.segments[np.isfinite(known) & ~fit_of(result).outvoted]
    assert {result.support[label] for label in of_known} == {Support.KNOWN}


def test_iterations_of_both_runs_are_counted_through_and_can_be_stopped():
    scene = plane(20, 24)
    prior = DepthPrior(some_depths(scene, 3))
    result = integrate(scene.normals, scene.camera, method=Smooth(), prior=prior)
    assert [i.number for i in result.history] == list(range(1, len(result.history) + 1))
    stopped = integrate(
        scene.normals, scene.camera, method=Smooth(), prior=prior, callback=lambda _: True
    )
    assert len(stopped.history) == 1
    assert_allclose(stopped.depth, true_depth(scene), rtol=1e-4)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda depth: depth[1:], "shape"),
        (lambda depth: -depth, "negative"),
        (lambda depth: np.where(np.arange(24) > 20, depth, np.nan), "lies inside the mask"),
        (lambda depth: 0 * depth, "inside the mask are 0.*expected at least one above 0"),
    ],
)
def test_known_depths_that_do_not_belong_to_the_map_are_refused(change, told):
    scene = plane(20, 24)
    mask = np.broadcast_to(np.arange(24) < 20, (20, 24))
    with pytest.raises(InputError, match=told):
        integrate(
            scene.normals, scene.camera, mask=mask, prior=DepthPrior(change(true_depth(scene)))
        )


def test_a_depth_of_zero_is_no_depth():
    scene = plane(20, 24)
    known = np.zeros((20, 24))
    known[3, 3] = true_depth(scene)[3, 3]
    result = integrate(scene.normals, scene.camera, prior=DepthPrior(known))
    assert fit_of(result).numbers()["known"] == 1
    assert_allclose(result.depth, true_depth(scene), rtol=1e-4)


def test_logarithms_of_an_orthographic_depth_are_refused():
    scene = plane(20, 24, Orthographic(0.03))
    with pytest.raises(InputError, match="linear"):
        integrate(scene.normals, scene.camera, prior=DepthPrior(true_depth(scene), residual="log"))


def test_an_array_is_no_prior():
    scene = plane(20, 24)
    with pytest.raises(InputError, match="DepthPrior"):
        integrate(scene.normals, scene.camera, prior=true_depth(scene))  # type: ignore[arg-type]


def panorama() -> rayrelief.Scene:
    """The inside of a sphere of radius 5 around the camera, and its z."""
    camera = Equirectangular.full(20, 40)
    rays = camera.rays(20, 40)
    return rayrelief.Scene(-rays, np.ones((20, 40), np.bool_), camera, depth=5.0 * rays[..., 2])


def test_z_of_a_point_is_no_distance():
    scene = panorama()
    z = float(true_depth(scene)[8, 12])
    prior = DepthPrior.at([(12, 8, z)], *scene.mask.shape)
    result = integrate(scene.normals, scene.camera, method=Smooth(), prior=prior)
    assert_allclose(result.depth, 5.0, rtol=1e-4)


def test_z_behind_the_camera_is_known_too():
    scene = panorama()
    problem = assemble(scene.normals, scene.camera)
    known = known_values(problem, DepthPrior(true_depth(scene), kind="z"))
    assert known.nodes.size == np.count_nonzero(true_depth(scene))
    assert_allclose(known.values, np.log(5.0), rtol=1e-6)


def test_deviations_are_converted_with_their_depths():
    scene = plane(20, 24, Pinhole(8.0, 8.0, 11.5, 9.5))
    problem, z = assemble(scene.normals, scene.camera), true_depth(scene)
    length = np.linalg.norm(problem.view.rays, axis=-1)
    far = DepthPrior(z * length, sigma=0.1 * length, residual="linear", kind="distance")
    near = DepthPrior(z, sigma=0.1, residual="linear")
    one, other = (known_values(problem, prior).sigma for prior in (far, near))
    assert one is not None
    assert other is not None
    assert_allclose(one, other)


@pytest.mark.parametrize(("rows", "method"), [(15, RayPlane()), (30, Ordered())])
def test_a_coarse_depth_of_all_pixels_places_the_parts(rows, method):
    columns = 4 * rows // 3
    scene = rayrelief.synthetic.GALLERY["room"](8 * rows, 8 * columns)
    blocks = true_depth(scene).reshape(rows, 8, columns, 8).mean(axis=(1, 3))
    found, off = [], []
    for seed in range(5):
        noise = 0.01 * np.random.default_rng(seed).normal(size=blocks.shape)
        coarse = np.kron(blocks * (1 + noise), np.ones((8, 8)))
        result = integrate(scene.normals, scene.camera, prior=DepthPrior(coarse), method=method)
        found.append(error(result, scene))
        off.append(np.mean(np.abs(coarse - true_depth(scene))) / np.mean(true_depth(scene)))
    assert np.median(found) < np.median(off)


@pytest.mark.parametrize(("noise", "most"), [(0.0, 1e-4), (0.001, 2e-4), (0.01, 2e-3)])
def test_depths_of_all_pixels_place_all_parts(noise, most):
    scene = rayrelief.synthetic.GALLERY["room"](120, 160)
    wrong = 1 + noise * np.random.default_rng(0).normal(size=(120, 160))
    prior = DepthPrior(true_depth(scene) * wrong)
    result = integrate(scene.normals, scene.camera, prior=prior)
    assert error(result, scene) < most


def test_a_scaled_result_has_scaled_residuals():
    scene = plane(20, 24)
    result = integrate(scene.normals, scene.camera, prior=DepthPrior(1.01 * some_depths(scene, 5)))
    scaled = result.scaled(10.0)
    assert fit_of(scaled).sigma == pytest.approx(10 * fit_of(result).sigma)
    assert_allclose(fit_of(scaled).residual, 10 * fit_of(result).residual)
    assert str(fit_of(scaled)) in scaled.status.notes


@pytest.mark.parametrize(
    ("count", "counted"), [(1, {RayPlane}), (2, {Ordered, RayPlane}), (60, {RayPlane})]
)
def test_the_memory_of_what_runs_is_checked(monkeypatch, count, counted):
    asked = set()
    monkeypatch.setattr(
        "rayrelief.integration.check_memory", lambda *given, **_: asked.add(type(given[2]))
    )
    scene = sphere(20, 24)
    prior = DepthPrior(some_depths(scene, count))
    integrate(scene.normals, scene.camera, mask=scene.mask, prior=prior, method=RayPlane())
    assert asked == counted


def test_a_backend_and_a_device_are_refused():
    scene = plane(20, 24)
    with pytest.raises(InputError, match="backend"):
        integrate(scene.normals, scene.camera, device="cuda", backend=rayrelief.backends.CPU())


def test_the_first_of_several_methods_begins_at_the_start():
    scene = tori(60, 80)
    prior = DepthPrior(some_depths(scene, 2))
    flat, begun = (
        integrate(
            scene.normals,
            scene.camera,
            mask=scene.mask,
            method=RayPlane(),
            start=start,
            prior=prior,
            callback=lambda _: True,
        ).depth
        for start in (None, true_depth(scene))
    )
    bent, straight = (np.nanstd(np.log(depth / true_depth(scene))) for depth in (flat, begun))
    assert straight < 0.2 * bent


def test_diagonal_neighbours_alone_take_no_known_depths():
    scene = plane(20, 24)
    method = RayPlane(connectivity="diagonal")
    with pytest.raises(InputError, match="chessboard"):
        integrate(scene.normals, scene.camera, method=method, prior=DepthPrior(true_depth(scene)))


@dataclass(frozen=True)
class FarOff:
    """Smooth, but its surfaces rise beyond the range of numbers; keeps the starts that it got."""

    starts: list[np.ndarray | None] = field(default_factory=list)

    def solve(self, problem, backend, callback=None):
        self.starts.append(problem.start)
        solution = Smooth().solve(problem, backend, callback)
        return replace(solution, x=solution.x - np.linspace(0.0, 5000.0, solution.x.size))


def test_no_run_begins_at_depths_beyond_the_range_of_numbers():
    scene, method = plane(20, 24), FarOff()
    known = np.where(np.arange(24) > 20, true_depth(scene), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IntegrationWarning)
        integrate(scene.normals, scene.camera, method=method, prior=DepthPrior(known))
    assert len(method.starts) == 2
    assert all(start is None or np.isfinite(start).all() for start in method.starts)
