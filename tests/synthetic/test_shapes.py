"""Hits lie on their surface, face the ray, carry its gradient, and are the nearest ones."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from profiles import fewer_examples
from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError
from rayrelief.synthetic.shapes import (
    Box,
    Ellipsoid,
    Plane,
    Revolution,
    Shape,
    Sphere,
    Steps,
    Tent,
    Torus,
    nearest,
)

AXIS = np.array((0.3, -0.8, 0.5)) / np.linalg.norm((0.3, -0.8, 0.5))
BASE = np.array((0.2, 0.6, 3.0))
HALF = np.array((0.5, 0.7, 0.4))
PROFILE = (0.1, 0.7, -0.6, -0.1, 0.05)
TURN = Rotation.from_rotvec((20.0, -35.0, 10.0), degrees=True).as_matrix()


def heights_and_radii(points):
    height = (points - BASE) @ AXIS
    return height, np.linalg.norm(points - BASE - height[..., None] * AXIS, axis=-1)


def revolution(points):
    height, radius = heights_and_radii(points)
    return radius**2 - np.polynomial.Polynomial(PROFILE)(height)


def within_revolution(points):
    height, _ = heights_and_radii(points)
    return (height >= 0) & (height <= 1.2)


def torus(points):
    height = (points - BASE) @ AXIS
    radius = np.linalg.norm(points - BASE - height[..., None] * AXIS, axis=-1)
    return (radius - 0.8) ** 2 + height**2 - 0.3**2


def box(points):
    local = (points - BASE) @ TURN
    return np.max(np.abs(local) / HALF, axis=-1) - 1


def steps(points):
    """Distance in front of the nearest block, in the maximum norm; negative inside."""
    x, z = points[..., 0], points[..., 2]
    blocks = ((-np.inf, -0.4, 3.5), (-0.4, 0.3, 2.5), (0.3, np.inf, 2.0))
    return np.min(
        [np.max([low - x, x - high, depth - z], axis=0) for low, high, depth in blocks], axis=0
    )


# Each shape with a function that vanishes on its surface and is positive outside, written anew.
SHAPES: dict[str, tuple[Shape, Callable[[FloatArray], FloatArray]]] = {
    "plane": (
        Plane((0.1, 0.2, 3.0), (0.3, 0.2, -1.0)),
        lambda p: (p - (0.1, 0.2, 3.0)) @ (0.3, 0.2, -1),
    ),
    "sphere": (Sphere((0.2, 0.6, 3.0), 0.9), lambda p: np.sum((p - BASE) ** 2, axis=-1) - 0.81),
    "ellipsoid": (
        Ellipsoid((0.2, 0.6, 3.0), (0.9, 0.5, 1.4)),
        lambda p: np.sum(((p - BASE) / (0.9, 0.5, 1.4)) ** 2, axis=-1) - 1,
    ),
    "box": (
        Box(
            tuple(BASE - HALF),
            tuple(BASE + HALF),
            rotation=(20.0, -35.0, 10.0),
        ),
        box,
    ),
    "torus": (Torus(tuple(BASE), tuple(2 * AXIS), 0.8, 0.3), torus),
    "revolution": (Revolution(tuple(BASE), tuple(2 * AXIS), 1.2, PROFILE), revolution),
    "tent": (
        Tent((0.1, 0.2, 2.5), 0.8, angle=30.0),
        lambda p: (
            2.5
            + 0.8 * np.abs((p[..., 0] - 0.1) * math.cos(math.pi / 6) + (p[..., 1] - 0.2) / 2)
            - p[..., 2]
        ),
    ),
    "steps": (
        Steps((-0.4, 0.3), (3.5, 2.5, 2.0)),
        steps,
    ),
}


def random_rays(seed, count=400):
    """Rays of all lengths from about the camera toward about the shapes; some miss."""
    rng = np.random.default_rng(seed)
    origins = rng.normal(0.0, 0.4, (count, 3))
    aim = BASE + rng.normal(0.0, 0.6, (count, 3))
    return origins, (aim - origins) * np.exp(rng.normal(0.0, 1.0, (count, 1)))


@pytest.mark.parametrize("name", SHAPES)
@fewer_examples(5)
@given(seed=st.integers(0, 2**32 - 1))
def test_hits_lie_on_the_surface_and_face_the_ray_along_its_gradient(name, seed):
    shape, implicit = SHAPES[name]
    origins, directions = random_rays(seed)
    t, normals = shape.intersect(origins, directions)
    hit = np.isfinite(t)
    assert hit.mean() > 0.1
    assert np.isnan(normals[~hit]).all()
    assert (t[hit] > 0).all()
    points = origins[hit] + t[hit, None] * directions[hit]
    # Rays that graze a shape without end hit it far away, where points have fewer digits.
    far = np.maximum(1.0, np.linalg.norm(points, axis=-1))
    np.testing.assert_allclose(implicit(points) / far, 0.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(normals[hit], axis=-1), 1.0, rtol=1e-14)
    assert (np.sum(normals[hit] * directions[hit], axis=-1) < 0).all()
    step = 1e-6
    gradient = np.stack(
        [(implicit(points + e) - implicit(points - e)) / (2 * step) for e in np.eye(3) * step],
        axis=-1,
    )
    gradient /= np.linalg.norm(gradient, axis=-1, keepdims=True)
    # The difference quotient spans an edge of a box, the tent or the steps in very few cases.
    aligned = np.abs(np.sum(gradient * normals[hit], axis=-1)) > 1 - 1e-7
    assert np.mean(aligned) > 0.99
    if name not in {"box", "tent", "steps"}:
        assert aligned.all()


@pytest.mark.parametrize("name", SHAPES)
@fewer_examples(5)
@given(seed=st.integers(0, 2**32 - 1))
def test_bounds_hold_every_hit(name, seed):
    shape, _ = SHAPES[name]
    if shape.bounds is None:
        assert name in {"plane", "tent", "steps"}
        return
    origins, directions = random_rays(seed)
    t, _ = shape.intersect(origins, directions, near=-np.inf)
    hit = np.isfinite(t)
    points = origins[hit] + t[hit, None] * directions[hit]
    distance = np.linalg.norm(points - shape.bounds.centre, axis=-1)
    assert (distance < shape.bounds.radius).all()
    entry, exit_ = shape.bounds.chord(origins, directions)
    assert ((entry < t) & (t < exit_))[hit].all()


@pytest.mark.parametrize(
    ("shape", "reach"),
    [
        (Sphere((1, 2, 3), 0.5), 0.5),
        (Ellipsoid((1, 2, 3), (0.5, 2.0, 1.0), inside=True), 2.0),
        (Box((0, 0, 3), (2, 4, 3 + 4)), 3.0),
        (Torus((1, 2, 3), (1, 1, 1), 2.0, 0.5), 2.5),
        (Revolution((1, 2, 3), (0, 1, 0), 1.6, (0.36,)), 1.0),
    ],
)
def test_bounds_are_hardly_larger_than_the_shape(shape, reach):
    assert reach < shape.bounds.radius < 1.02 * reach


def test_open_boxes_have_no_bounds():
    assert Box((0, 0, 3), (1, 1, math.inf)).bounds is None


@pytest.mark.parametrize("name", SHAPES)
@fewer_examples(8)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_nearest_hit_is_the_first_change_of_sign_on_a_fine_sampling(name, seed):
    shape, implicit = SHAPES[name]
    origins, directions = random_rays(seed, count=100)
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    t, _ = shape.intersect(origins, directions)
    grid = np.linspace(0.0, 12.0, 4001)
    points = origins[:, None] + grid[:, None] * directions[:, None]
    inside = implicit(points) > 0
    crosses = inside[:, 1:] != inside[:, :-1]
    if name == "revolution":  # open at both ends: what ends there is no crossing of the surface
        within = within_revolution(points)
        crosses &= within[:, 1:] & within[:, :-1]
    found = crosses.any(axis=1)
    first = grid[crosses.argmax(axis=1)]
    # No crossing that the sampling sees may be missed, or be passed by.
    assert (t[found] <= first[found] + grid[1] + 1e-12).all()
    # What it does not see is thinner than a few of its steps: next to each hit, both sides exist.
    hit = np.isfinite(t) & (t < 12.0)
    before, behind = (
        implicit(origins[hit] + (t[hit] + shift)[:, None] * directions[hit])
        for shift in (-1e-9, 1e-9)
    )
    assert ((before > 0) != (behind > 0)).mean() > 0.99


@given(seed=st.integers(0, 2**32 - 1), thin=st.floats(0.02, 0.95))
def test_torus_agrees_with_the_roots_of_its_companion_matrix(seed, thin):
    rng = np.random.default_rng(seed)
    shape = Torus((0.0, 0.0, 3.0), (0.0, 0.0, 1.0), 1.0, thin)
    origin = rng.normal(0.0, 1.5, 3)
    direction = rng.normal((0.0, 0.0, 3.0), 0.7) - origin
    t, _ = shape.intersect(origin[None], direction[None])
    o = origin - (0, 0, 3.0)
    square = np.polynomial.Polynomial((o @ o, 2 * o @ direction, direction @ direction))
    flat = np.polynomial.Polynomial(
        (o[:2] @ o[:2], 2 * o[:2] @ direction[:2], direction[:2] @ direction[:2])
    )
    roots = ((square + 1 - thin**2) ** 2 - 4 * flat).roots()
    real = np.sort(roots[(np.abs(roots.imag) < 1e-12) & (roots.real > 0)].real)
    doubtful = roots[(np.abs(roots.imag) >= 1e-12) & (np.abs(roots.imag) < 1e-5)]
    if doubtful.size:  # the ray grazes, and either answer is right to rounding
        return
    expected = real[0] if real.size else np.inf
    np.testing.assert_allclose(t, [expected], rtol=1e-6)


def test_a_ray_along_the_axis_of_a_torus_goes_through_its_hole():
    t, normals = Torus((0, 0, 3), (0, 0, 1), 1.0, 0.4).intersect(
        np.zeros(3), np.array([[0.0, 0, 1]])
    )
    assert np.isinf(t).all()
    assert np.isnan(normals).all()


def test_closed_forms_straight_ahead():
    ahead = np.array([[0.0, 0.0, 2.0]])
    for shape, depth in (
        (Plane((1, 1, 3), (0, 0, 5)), 3.0),
        (Sphere((0, 0, 4), 1.5), 2.5),
        (Ellipsoid((0, 0, 4), (1, 2, 3)), 1.0),
        (Ellipsoid((0, 0, 1), (1, 2, 3), inside=True), 4.0),
        (Box((-1, -1, 2), (1, 1, 5)), 2.0),
        (Box((-1, -1, 2), (1, 1, 5), inside=True), 5.0),
        (Torus((0, 0, 4), (1, 0, 0), 2.0, 0.5), 1.5),
        (Tent((0, 0, 3), 0.7), 3.0),
        (Steps((-1.0, 0.0), (3.0, 4.0, 5.0)), 4.0),
    ):
        t, normals = shape.intersect(np.zeros(3), ahead)
        assert t[0] * 2.0 == pytest.approx(depth, rel=1e-15), shape
        if not isinstance(shape, Tent):
            np.testing.assert_allclose(normals, [[0, 0, -1]], atol=1e-15, err_msg=str(shape))


def test_revolution_with_a_circular_profile_is_a_sphere():
    origins, directions = random_rays(5)
    ball = Revolution((0.2, 0.6, 2.1), (0, 0, 1), 1.8, (0.0, 1.8, -1.0))
    expected = Sphere((0.2, 0.6, 3.0), 0.9).intersect(origins, directions)
    for found, wanted in zip(ball.intersect(origins, directions), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def test_revolution_goes_through_its_knots():
    vase = Revolution.through((0, 0, 3), (0, 1, 0), (0.0, 0.5, 1.0, 1.5), (0.3, 0.6, 0.2, 0.4))
    across = np.array([(0.0, h, 0.0) for h in (0.01, 0.5, 1.0, 1.49)])
    t, _ = vase.intersect(across, np.array((0.0, 0.0, 1.0)))
    np.testing.assert_allclose(3 - t[1:3], (0.6, 0.2), rtol=1e-12)


def test_a_ray_into_the_mouth_of_a_vase_sees_the_inner_wall():
    tube = Revolution((0, 0, 0), (0, 1, 0), 1.0, (0.25,))
    t, normals = tube.intersect(np.array([[0.0, -1.0, 0.0]]), np.array([[0.3, 1.0, 0.0]]))
    np.testing.assert_allclose(t, [0.5 / 0.3])
    np.testing.assert_allclose(normals, [[-1.0, 0.0, 0.0]], atol=1e-15)


def test_rays_begin_at_near():
    ball = Sphere((0, 0, -5), 1.0)
    ahead = np.array((0.0, 0.0, 1.0))
    assert np.isinf(ball.intersect(np.zeros(3), ahead)[0])
    assert ball.intersect(np.zeros(3), ahead, near=-np.inf)[0] == -6.0
    assert ball.intersect(np.zeros(3), ahead, near=-5.0)[0] == -4.0


@pytest.mark.parametrize("name", SHAPES)
def test_directions_without_a_value_miss(name):
    t, normals = SHAPES[name][0].intersect(np.zeros(3), np.full((2, 5, 3), np.nan))
    assert t.shape == (2, 5)
    assert np.isinf(t).all()
    assert np.isnan(normals).all()


def test_grazing_rays_never_return_a_normal_that_faces_away():
    offsets = 1.0 + np.linspace(-1e-14, 1e-14, 201)
    origins = np.stack((offsets, np.zeros(201), np.zeros(201)), axis=-1)
    ahead = np.array((0.0, 0.0, 1.0))
    for shape in (
        Sphere((0, 0, 4), 1.0),
        Torus((0, 0, 4), (0, 1, 0), 0.7, 0.3),
        Revolution((0, -1, 4), (0, 1, 0), 2.0, (1.0,)),
        Box((-1, -1, 3), (1, 1, 5)),
    ):
        t, normals = shape.intersect(origins, ahead)
        hit = np.isfinite(t)
        assert (normals[hit] @ ahead < 0).all(), shape
        if not isinstance(shape, Box):
            assert (normals[hit, 0] > 0.99).all(), shape


def test_a_ray_within_the_plane_between_two_steps_sees_the_nearer_one():
    t, _ = Steps((0.0,), (4.0, 3.0)).intersect(np.zeros(3), np.array((0.0, 0.1, 1.0)))
    assert t == 3.0


def test_nearest_of_several_shapes_wins():
    shapes = [shape for shape, _ in SHAPES.values()]
    origins, directions = random_rays(3)
    t, normals = nearest(shapes, origins, directions)
    each = [shape.intersect(origins, directions) for shape in shapes]
    np.testing.assert_array_equal(t, np.min([one for one, _ in each], axis=0))
    winner = np.argmin([one for one, _ in each], axis=0)
    hit = np.isfinite(t)
    expected = np.array([one for _, one in each])[winner, np.arange(len(t))]
    np.testing.assert_array_equal(normals[hit], expected[hit])


@pytest.mark.parametrize(
    "make",
    [
        lambda: Plane((0, 0, 1), (0, 0, 0)),
        lambda: Sphere((0, 0, 1), -1.0),
        lambda: Ellipsoid((0, 0, 1), (1, 0, 1)),
        lambda: Box((0, 0, 1), (1, 1, 1)),
        lambda: Box((0, 0, 1), (1, 1, math.inf), rotation=(0, 10, 0)),
        lambda: Torus((0, 0, 1), (0, 0, 1), 1.0, 1.0),
        lambda: Torus((0, 0, 1), (0, 0, math.nan), 1.0, 0.5),
        lambda: Revolution((0, 0, 1), (0, 0, 1), 1.0, (-1.0,)),
        lambda: Revolution.through((0, 0, 1), (0, 0, 1), (0.0, 1.0), (1.0,)),
        lambda: Tent((0, 0, 1), 0.0),
        lambda: Steps((0.0,), (1.0,)),
        lambda: Steps((1.0, 0.0), (1.0, 2.0, 3.0)),
    ],
)
def test_impossible_shapes_are_refused(make):
    with pytest.raises(InputError):
        make()
