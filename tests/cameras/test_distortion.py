"""Lens distortion: its terms, the fold that ends its branch, and the inverse up to there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import fewer_examples
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.distortion import LensDistortion
from rayrelief.cameras.distortion_inverse import Distorted, invert
from rayrelief.conventions import BoolArray, FloatArray

K = st.floats(-0.6, 0.6)
SMALL = st.floats(-0.03, 0.03) | st.just(0.0)
LENSES = st.builds(
    LensDistortion,
    numerator=st.tuples(K, K, K),
    denominator=st.just(()) | st.tuples(K, K, K),
    tangential=st.tuples(SMALL, SMALL),
    prism=st.tuples(SMALL, SMALL, SMALL, SMALL),
)
SEED = st.integers(0, 2**32 - 1)


def lens_of_opencv(*coefficients: float, **named: Any) -> LensDistortion:
    """Distortion with coefficients in OpenCV's order."""
    return BrownConrady(1, 1, 0, 0, *coefficients, **named).distortion


# The fold depends on the direction; beyond it the map is regular again.
FOLDED = lens_of_opencv(k1=-0.966, k2=-0.228, p1=0.0021, p2=0.0057, k3=0.856)
TWISTED = lens_of_opencv(k1=-0.3, p1=0.03, p2=-0.02)
PRISM = lens_of_opencv(k1=-0.2, p1=0.01, s1=-0.05, s2=0.03, s3=0.02, s4=-0.04)


def random_points(seed: int, reach: float, count: int) -> FloatArray:
    return np.random.default_rng(seed).uniform(-reach, reach, (2, count))


def regular_all_the_way(
    lens: LensDistortion, x: FloatArray, y: FloatArray, samples: int = 400
) -> BoolArray:
    """Obvious reference of the branch: look at the Jacobian all along the line."""
    t = np.linspace(0, 1, samples + 1)[1:, None]
    regular: BoolArray = np.logical_and.reduce(lens.distort(t * x, t * y).regular)
    return regular


@given(st.lists(K, min_size=12, max_size=12), SEED)
def test_terms_are_those_of_the_textbook(coefficients: list[float], seed: int) -> None:
    k1, k2, p1, p2, k3, k4, k5, k6, s1, s2, s3, s4 = coefficients
    x, y = random_points(seed, 0.7, 20)
    r2 = x**2 + y**2
    radial = (1 + k1 * r2 + k2 * r2**2 + k3 * r2**3) / (1 + k4 * r2 + k5 * r2**2 + k6 * r2**3)
    image = lens_of_opencv(*coefficients).distort(x, y)
    defined = 1 + k4 * r2 + k5 * r2**2 + k6 * r2**3 > 0
    for found, expected in (
        (image.x, x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x**2) + s1 * r2 + s2 * r2**2),
        (image.y, y * radial + p1 * (r2 + 2 * y**2) + 2 * p2 * x * y + s3 * r2 + s4 * r2**2),
    ):
        np.testing.assert_allclose(found[defined], expected[defined], rtol=1e-9, atol=1e-12)


@given(LENSES, SEED)
def test_jacobian_is_the_derivative(lens: LensDistortion, seed: int) -> None:
    x, y = random_points(seed, 0.6, 50)
    here, h = lens.distort(x, y), 1e-6
    ahead, behind = lens.distort(x + h, y), lens.distort(x - h, y)
    below, above = lens.distort(x, y + h), lens.distort(x, y - h)
    for analytic, one, other in (
        (here.x_x, ahead.x, behind.x),
        (here.y_x, ahead.y, behind.y),
        (here.x_y, below.x, above.x),
        (here.y_y, below.y, above.y),
    ):
        np.testing.assert_allclose(analytic, (one - other) / (2 * h), rtol=1e-6, atol=1e-7)
    jacobian = np.array([[here.x_x, here.x_y], [here.y_x, here.y_y]]).transpose(2, 0, 1)
    np.testing.assert_allclose(here.determinant, np.linalg.det(jacobian), rtol=1e-9, atol=1e-12)


@fewer_examples(2)
@given(LENSES, SEED)
def test_the_branch_ends_where_the_jacobian_first_vanishes(lens: LensDistortion, seed: int) -> None:
    x, y = random_points(seed, 2, 200)
    expected = regular_all_the_way(lens, x, y)
    # Dips of the determinant that are thinner than the samples may be missed by either.
    assert np.mean(lens.on_branch(x, y) != expected) <= 0.005


@fewer_examples(8)
@given(st.sampled_from([FOLDED, TWISTED, PRISM]), SEED)
def test_the_branch_is_exact_where_it_depends_on_the_direction(
    lens: LensDistortion, seed: int
) -> None:
    x, y = random_points(seed, 2, 600)
    # Samples along a line miss slivers of the fold: ask the neighbours of each point, too.
    neighbours = [
        regular_all_the_way(lens, scale * (x - turn * y), scale * (y + turn * x), samples=300)
        for scale in (0.995, 1.005)
        for turn in (-0.01, 0.01)
    ]
    inside, outside = np.all(neighbours, axis=0), ~np.any(neighbours, axis=0)
    assert lens.on_branch(x, y)[inside].all()
    assert not lens.on_branch(x, y)[outside].any()
    assert inside.sum() > 100
    assert outside.sum() > 100


@fewer_examples(3)
@given(st.floats(-0.6, -0.2), SMALL, SMALL, SMALL, SMALL)
def test_every_direction_folds_where_its_determinant_vanishes(
    k1: float, p1: float, p2: float, s1: float, s4: float
) -> None:
    lens = lens_of_opencv(k1, 0, p1, p2, s1=s1, s4=s4)
    fold = 1 / lens.branch.fold_nearness
    angles = 2 * math.pi * np.arange(fold.size) / fold.size
    x, y = fold * np.cos(angles), fold * np.sin(angles)
    np.testing.assert_allclose(lens.distort(x, y).determinant, 0, atol=1e-12)
    assert regular_all_the_way(lens, 0.9999 * x, 0.9999 * y, samples=100).all()
    # Between two searched directions, too, the Jacobian decides to the last digits.
    turn = math.pi / fold.size
    scale = np.linspace(0.999, 1.0005, 31)[:, None]
    x, y = scale * fold * np.cos(angles + turn), scale * fold * np.sin(angles + turn)
    regular = lens.distort(x, y).regular
    np.testing.assert_array_equal(lens.on_branch(x.ravel(), y.ravel()), regular.ravel())


def test_the_critical_radius_matches_brute_force_along_a_radial_profile() -> None:
    lens = lens_of_opencv(k1=-0.4, k2=0.05, k3=-0.01, k4=0.1)
    r = np.linspace(0, 3, 600_001)
    profile = lens.distort(r, np.zeros_like(r)).x
    peak = r[np.argmax(np.diff(profile) <= 0)]
    assert lens.branch.inner == pytest.approx(peak, abs=1e-5)
    assert lens.branch.outer == lens.branch.inner
    assert lens.reach == pytest.approx(profile.max(), rel=1e-8)


@fewer_examples(2)
@given(LENSES, SEED)
def test_no_point_of_the_branch_is_distorted_beyond_the_reach(
    lens: LensDistortion, seed: int
) -> None:
    x, y = lens.distort_seen(*random_points(seed, 3, 3000))
    assert np.nanmax(np.hypot(x, y)) <= lens.reach


def test_a_pole_of_the_radial_factor_ends_the_branch() -> None:
    lens = lens_of_opencv(k4=-0.25)  # the denominator vanishes at r = 2
    assert lens.on_branch(np.array([1.99, 2.01, 9.0]), np.zeros(3)).tolist() == [True, False, False]
    x, _ = lens.undistort(np.array([1e6]), np.zeros(1))
    assert lens.distort(x, np.zeros(1)).x == pytest.approx(1e6)


@fewer_examples(2)
@given(LENSES, SEED)
def test_what_is_distorted_on_the_branch_comes_back(lens: LensDistortion, seed: int) -> None:
    x, y = random_points(seed, 2.5, 1000)
    there = np.array(lens.distort_seen(x, y))
    near = np.hypot(*there) < 300  # else next to a pole, where digits are lost
    back = np.array(lens.undistort(*there))
    steep = near & (lens.distort(x, y).determinant > 1e-3)  # at the fold itself digits are lost
    np.testing.assert_allclose(back[:, steep], np.array([x, y])[:, steep], rtol=0, atol=1e-6)
    again = np.array(lens.distort_seen(*back))
    np.testing.assert_allclose(again[:, near], there[:, near], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("lens", "radius"),
    [
        (lens_of_opencv(p1=0.011, p2=0.008, s1=-0.011, s2=-0.002, s3=0.015, s4=0.029), 7),
        (lens_of_opencv(k1=-0.1, p1=-0.009, p2=0.018, s2=-0.015, s3=0.012, s4=0.012), 3.2),
    ],
    ids=["stretched", "behind a fold"],
)
@fewer_examples(5)
@given(seed=SEED)
def test_far_points_come_back_from_where_other_directions_are_folded(
    lens: LensDistortion, radius: float, seed: int
) -> None:
    """Terms of r^4 are many times the point there, and the way to it leads past a fold."""
    there = np.array(lens.distort_seen(*random_points(seed, radius, 2000)))
    seen = np.isfinite(there[0])
    assert seen.sum() > 100
    again = np.array(lens.distort_seen(*lens.undistort(*there[:, seen])))
    np.testing.assert_allclose(again, there[:, seen], rtol=1e-10, atol=1e-10)


def test_numbers_beyond_all_bounds_have_no_origin_and_no_warning() -> None:
    far = np.array([np.nan, np.inf, -np.inf, 1e300, 1e308])
    for lens in (lens_of_opencv(k1=0.1, p1=0.01), TWISTED, PRISM):
        x, y = lens.undistort(far, far[::-1])
        with np.errstate(over="ignore"):
            missed = np.hypot(lens.distort(x, y).x - far, lens.distort(x, y).y - far[::-1])
        assert not (missed < 1e200).any()
        assert not lens.on_branch(far[:3], far[:3]).any()


def test_newton_uses_both_sides_of_an_unsymmetric_jacobian() -> None:
    """(x, y) -> (x + 2 y^2, y) has a closed inverse; one transposed derivative would lead away."""

    def shear(x: FloatArray, y: FloatArray) -> Distorted:
        one, zero = np.ones_like(x), np.zeros_like(x)
        return Distorted(x + 2 * y**2, y, one, 4 * y, zero, one, one, np.isfinite(x))

    target = random_points(7, 5, 1000)
    steps = 0

    def counted(x: FloatArray, y: FloatArray) -> Distorted:
        nonlocal steps
        steps += 1
        return shear(x, y)

    found, solved = invert(counted, target, np.zeros_like(target))
    assert solved.all()
    expected = np.stack((target[0] - 2 * target[1] ** 2, target[1]))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)
    assert steps < 12


def test_targets_too_far_for_a_number_get_a_sample() -> None:
    lens = LensDistortion(numerator=(-0.3,), tangential=(0.1, 0.0))
    far = np.full((2, 1), 1e200)  # whose squares overflow
    assert lens.branch.samples_near(far).shape == (2, 1)
