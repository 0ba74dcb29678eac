"""The distorting lens: its inverse is exact on the branch of the principal point, only there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from rayrelief.cameras.base import pixel_grid
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.distortion import RationalDistortion
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.errors import CameraError

HEIGHT, WIDTH = 480, 640
STRONG_BARREL = BrownConrady(300, 300, 319.5, 239.5, k1=-0.3)

K = st.floats(-0.6, 0.6)
P = st.floats(-0.03, 0.03)
LENSES = st.builds(
    RationalDistortion,
    k1=K,
    k2=K,
    p1=P,
    p2=P,
    k3=K,
    k4=K | st.just(0.0),
    k5=K | st.just(0.0),
    k6=K | st.just(0.0),
)
SEED = st.integers(0, 2**32 - 1)

# Tangential terms make the fold depend on the direction; beyond it the map is regular again.
FOLDED = RationalDistortion(k1=-0.966, k2=-0.228, p1=0.0021, p2=0.0057, k3=0.856)
TWISTED = RationalDistortion(k1=-0.3, p1=0.03, p2=-0.02)


def camera_of(lens: RationalDistortion, f: float = 300.0) -> BrownConrady:
    return BrownConrady(
        f, 1.1 * f, 301, 250, lens.k1, lens.k2, lens.p1, lens.p2, lens.k3, lens.k4, lens.k5, lens.k6
    )


def regular_all_the_way(lens: RationalDistortion, x, y, samples=1500):
    """Obvious reference of the branch: look at the Jacobian all along the line."""
    t = np.linspace(0, 1, samples + 1)[1:, None]
    return lens.distort((t * x).ravel(), (t * y).ravel()).regular.reshape(samples, -1).all(axis=0)


@settings(max_examples=60, deadline=None)
@given(LENSES, st.floats(150, 2000))
@example(FOLDED, 150.0)
@example(TWISTED, 150.0)
def test_rays_project_back_to_their_pixels(lens, f):
    camera = camera_of(lens, f)
    pixels = pixel_grid(HEIGHT, WIDTH)[::8, ::8]
    rays = camera.directions(pixels)
    seen = np.isfinite(rays[..., 0])
    np.testing.assert_allclose(camera.project(7.0 * rays)[seen], pixels[seen], atol=1e-6)
    assert seen[HEIGHT // 16, WIDTH // 16]  # the middle of the image is always seen


@settings(max_examples=60, deadline=None)
@given(LENSES, SEED)
def test_whatever_is_seen_has_its_ray(lens, seed):
    """Completeness: a pixel with a preimage on the branch is never NaN."""
    camera = camera_of(lens)
    x, y = np.random.default_rng(seed).uniform(-2.5, 2.5, (2, 2000))
    points = np.stack((x, y, np.ones_like(x)), axis=1)
    pixels = camera.project(points)
    # Next to a pole of the radial factor one unit in the last place of the ray is more than
    # 1e-6 px, millions of pixels away from the image: such a pixel has no ray, and should not.
    seen = np.abs(pixels).max(axis=1) < 1e5
    rays = camera.directions(pixels)
    assert np.isfinite(rays[seen]).all()
    assert np.isnan(rays[np.isnan(pixels[:, 0])]).all()
    image = lens.distort(x[seen], y[seen])
    steep = image.x_x * image.y_y - image.x_y**2 > 1e-3  # at the fold itself digits are lost
    np.testing.assert_allclose(rays[seen][steep], points[seen][steep], atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(LENSES, SEED)
def test_the_branch_ends_where_the_jacobian_first_vanishes(lens, seed):
    x, y = np.random.default_rng(seed).uniform(-2, 2, (2, 400))
    expected = regular_all_the_way(lens, x, y)
    # Dips of the determinant that are thinner than the samples may be missed by either.
    assert np.mean(lens.on_branch(x, y) != expected) <= 0.005


@settings(max_examples=10, deadline=None)
@given(st.sampled_from([FOLDED, TWISTED]), SEED)
def test_the_branch_is_exact_where_it_depends_on_the_direction(lens, seed):
    x, y = np.random.default_rng(seed).uniform(-2, 2, (2, 1000))
    # Samples along a line miss slivers of the fold: ask the neighbours of each point, too.
    neighbours = [
        regular_all_the_way(lens, scale * (x - turn * y), scale * (y + turn * x), samples=500)
        for scale in (0.995, 1.005)
        for turn in (-0.01, 0.01)
    ]
    inside, outside = np.all(neighbours, axis=0), ~np.any(neighbours, axis=0)
    assert lens.on_branch(x, y)[inside].all()
    assert not lens.on_branch(x, y)[outside].any()
    assert inside.sum() > 100
    assert outside.sum() > 100


@given(st.floats(-0.6, -0.2), st.floats(0.001, 0.03), st.floats(0, 2 * np.pi))
def test_every_direction_folds_where_its_determinant_vanishes(k1, strength, angle):
    p = strength * np.array([np.sin(angle), np.cos(angle)])
    lens = RationalDistortion(k1=k1, p1=p[0], p2=p[1])
    for turn, radius in ((np.pi, lens.extent.inner), (0, lens.extent.outer)):
        image = lens.distort(*(radius * np.array([[np.cos(angle + turn)], [np.sin(angle + turn)]])))
        assert image.x_x * image.y_y - image.x_y**2 == pytest.approx(0, abs=1e-12)
    radii = np.linspace(lens.extent.inner, lens.extent.outer, 9)[1:-1]
    determinant = []
    for radius, q in zip(radii, lens._folded_at(radii), strict=True):
        towards = angle + np.arccos(q / strength)
        image = lens.distort(*(radius * np.array([[np.cos(towards)], [np.sin(towards)]])))
        determinant.append(image.x_x * image.y_y - image.x_y**2)
    np.testing.assert_allclose(determinant, 0, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(LENSES)
def test_rays_stay_on_the_branch_of_the_principal_point(lens):
    rays = camera_of(lens).directions(pixel_grid(HEIGHT, WIDTH)[::40, ::40]).reshape(-1, 3)
    rays = rays[np.isfinite(rays[:, 0])]
    regular = regular_all_the_way(lens, 0.999 * rays[:, 0], 0.999 * rays[:, 1], samples=300)
    assert np.mean(~regular) <= 0.005


@settings(max_examples=60, deadline=None)
@given(LENSES, SEED)
def test_jacobian_is_the_derivative(lens, seed):
    x, y = np.random.default_rng(seed).uniform(-0.6, 0.6, (2, 50))
    here, h = lens.distort(x, y), 1e-6
    ahead, behind = lens.distort(x + h, y), lens.distort(x - h, y)
    below, above = lens.distort(x, y + h), lens.distort(x, y - h)
    for analytic, one, other in (
        (here.x_x, ahead.x, behind.x),
        (here.x_y, ahead.y, behind.y),
        (here.x_y, below.x, above.x),
        (here.y_y, below.y, above.y),
    ):
        np.testing.assert_allclose(analytic, (one - other) / (2 * h), rtol=1e-6, atol=1e-7)


@settings(max_examples=40, deadline=None)
@given(LENSES, SEED)
def test_agrees_with_opencv_where_seen(lens, seed):
    cv2 = pytest.importorskip("cv2")
    camera = camera_of(lens)
    points = np.random.default_rng(seed).uniform((-2, -2, 1), (2, 2, 3), (200, 3))
    pixels = camera.project(points)
    seen = np.isfinite(pixels[:, 0])
    matrix = np.array([[camera.fx, 0, camera.cx], [0, camera.fy, camera.cy], [0, 0, 1]])
    coefficients = np.array(
        [lens.k1, lens.k2, lens.p1, lens.p2, lens.k3, lens.k4, lens.k5, lens.k6]
    )
    assume(seen.any())
    expected, _ = cv2.projectPoints(points[seen], np.zeros(3), np.zeros(3), matrix, coefficients)
    np.testing.assert_allclose(pixels[seen], expected[:, 0], rtol=1e-9, atol=1e-7)


@settings(max_examples=60, deadline=None)
@given(st.floats(-0.6, -0.05), st.floats(100, 500))
def test_radial_pixels_beyond_the_critical_radius_have_no_ray(k1, f):
    """For k1 alone d(r + k1 r^3)/dr = 0 at r = 1/sqrt(-3 k1), which is distorted to 2/3 of it."""
    camera = BrownConrady(f, f, 319.5, 239.5, k1=k1)
    pixels = pixel_grid(HEIGHT, WIDTH)[::4, ::4]
    radius = np.linalg.norm(pixels - (319.5, 239.5), axis=-1)
    reachable = f * 2 / 3 / np.sqrt(-3 * k1)
    seen = np.isfinite(camera.directions(pixels)[..., 0])
    clear = np.abs(radius - reachable) > 1e-5
    np.testing.assert_array_equal(seen[clear], (radius < reachable)[clear])


def test_the_critical_radius_matches_brute_force_along_a_radial_profile():
    lens = RationalDistortion(k1=-0.4, k2=0.05, k3=-0.01, k4=0.1)
    r = np.linspace(0, 3, 3_000_001)
    profile = lens.distort(r, np.zeros_like(r)).x
    peak = r[np.argmax(np.diff(profile) <= 0)]
    assert lens.extent.inner == pytest.approx(peak, abs=2e-6)
    assert lens.extent.outer == lens.extent.inner
    assert lens.extent.reach == pytest.approx(profile.max(), rel=1e-8)


def test_strong_barrel_is_exact_where_opencv_is_205_pixels_off():
    rays = STRONG_BARREL.rays(HEIGHT, WIDTH)
    seen = np.isfinite(rays[..., 0])
    error = np.abs(STRONG_BARREL.project(rays) - pixel_grid(HEIGHT, WIDTH))[seen]
    assert error.max() < 1e-9
    assert np.nanmax(np.hypot(rays[..., 0], rays[..., 1])) < 1 / np.sqrt(0.9)


def test_a_pole_of_the_radial_factor_ends_the_branch():
    lens = RationalDistortion(k4=-0.25)  # the denominator vanishes at r = 2
    assert lens.on_branch(np.array([1.99, 2.01, 9.0]), np.zeros(3)).tolist() == [True, False, False]
    x, _ = lens.undistort(np.array([1e6]), np.zeros(1))
    assert lens.distort(x, np.zeros(1)).x == pytest.approx(1e6)


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(-1, 1e3))
def test_without_distortion_it_is_a_pinhole(x, y, z):
    intrinsics = (300.0, 320.0, 319.5, 239.5)
    pinhole, camera = Pinhole(*intrinsics), BrownConrady(*intrinsics)
    expected = pinhole.project([x, y, z])
    if not np.abs(expected).max() > 1e9:  # so grazing that the squares of x and y overflow
        np.testing.assert_allclose(camera.project([x, y, z]), expected, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(
        camera.rays(5, 6), pinhole.rays(5, 6), rtol=1e-12, err_msg="the rays differ"
    )


def test_grazing_and_broken_points_are_not_seen_and_not_warned_about():
    points: list[list[float]] = [
        [1e300, 0, 1e-300],
        [1, 1, -1],
        [0, 0, 0],
        [np.nan, 0, 1],
        [np.inf, 0, 1],
    ]
    assert np.isnan(STRONG_BARREL.project(points)).all()
    assert np.isnan(STRONG_BARREL.directions(np.array([[np.nan, 0.0], [1e300, 0.0]]))).all()


def test_any_leading_shape_is_kept():
    assert STRONG_BARREL.project([0, 0, 1]).tolist() == [319.5, 239.5]
    assert STRONG_BARREL.directions(np.zeros((2, 0, 5, 2))).shape == (2, 0, 5, 3)


def test_a_coefficient_that_is_not_a_number_is_named():
    with pytest.raises(CameraError, match=r"coefficients k2 = nan, p1 = inf; expected finite"):
        BrownConrady(300, 300, 0, 0, k2=np.nan, p1=np.inf)


def test_equal_parameters_make_equal_cameras():
    twin = BrownConrady(300, 300, 319.5, 239.5, k1=-0.3)
    twin.directions(np.zeros((1, 2)))  # caches must not take part
    assert twin == STRONG_BARREL
    assert hash(twin) == hash(STRONG_BARREL)


@pytest.mark.parametrize(
    "lens",
    [
        RationalDistortion(k3=-1.192092896e-07, k4=-1.192092896e-07, k6=-1.192092896e-07),
        RationalDistortion(p2=0.015625, k5=0.5),
    ],
    ids=["pole beside a fold", "flat maximum"],
)
def test_rare_lenses_give_no_warning(lens):
    grid = pixel_grid(HEIGHT, WIDTH)[::40, ::40]
    assert np.isfinite(camera_of(lens).directions(grid)).any()
