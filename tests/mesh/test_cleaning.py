"""Shreds and specks: what is no surface is told from what is."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras import Orthographic, Pinhole
from rayrelief.cameras.view import View
from rayrelief.formulation.intervals import interval_equations
from rayrelief.graph import pixel_graph
from rayrelief.mesh.cleaning import (
    FOOT,
    _behind,
    _slower_recession,
    around,
    rims,
    shreds,
    used_vertices,
)
from rayrelief.mesh.parts import specks
from rayrelief.methods.ordered.evidence import COSTS
from rayrelief.surface import grid_faces

NOWHERE = np.zeros(48, bool)
SEED = st.integers(0, 2**32 - 1)


def sheet(height, width, depth):
    """Vertices and faces of a depth (H, W) seen by parallel rays, without any cut."""
    v, u = np.indices((height, width)).astype(float)
    vertices = np.stack((u, v, np.broadcast_to(depth, (height, width))), axis=-1).reshape(-1, 3)
    inside, none = np.ones((height, width), bool), np.zeros((height, width), bool)
    return vertices, grid_faces(vertices, inside, none, none)


def facing(count):
    return np.tile((0.0, 0.0, -1.0), (count, 1))


def sloping(slopes):
    """Normals of a sheet of 6 rows whose columns fall away from the camera to the right."""
    normals = np.stack((slopes, np.zeros(len(slopes)), np.full(len(slopes), -1.0)), axis=1)
    return np.tile(normals / np.hypot(1, slopes)[:, None], (6, 1))


def test_a_strip_beside_a_jump_is_a_shred_and_the_rest_is_not():
    vertices, faces = sheet(6, 8, np.where(np.arange(8) < 4, 0.0, 5.0))
    torn = np.zeros((6, 8), bool)
    torn[:, 3] = True
    found = shreds(vertices, faces, facing(48), torn.ravel(), NOWHERE, NOWHERE, parallel=True)
    across = np.ptp(vertices[faces, 2], axis=1) > 0
    assert across.sum() == 2 * 5
    np.testing.assert_array_equal(found, across)
    nothing = shreds(vertices, faces, facing(48), NOWHERE, NOWHERE, NOWHERE, parallel=True)
    assert not nothing.any(), "without a jump beside it a steep face may be a crease"


@given(SEED)
def test_noise_of_the_normals_makes_no_shreds(seed):
    rng = np.random.default_rng(seed)
    vertices, faces = sheet(12, 12, 0.0)
    normals = facing(144) + 0.2 * rng.normal(size=(144, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    everywhere = np.ones(144, bool)
    assert (
        shreds(vertices, faces, normals, everywhere, everywhere, everywhere, parallel=True).mean()
        < 0.05
    )


@pytest.mark.parametrize(
    ("wrong", "faces"), [(5, 0), (1, 6)], ids=["many are wrong", "one that may be at a jump"]
)
def test_where_normals_are_wrong_those_around_them_judge(wrong, faces):
    across = np.where(np.arange(40) < 35, 0.0, 5.0)
    vertices, every = sheet(40, 40, across)
    normals = facing(1600)
    normals[820 : 820 + 3 * wrong : 3] = (0.8, 0.0, -0.6)
    everywhere = np.ones(1600, bool)
    found = shreds(vertices, every, normals, everywhere, everywhere, everywhere, parallel=True)
    assert np.count_nonzero(found) == faces + 2 * 39
    assert found[np.ptp(vertices[every, 2], axis=1) > 0].all(), "a jump is one nevertheless"


def test_a_normal_that_one_face_fits_is_not_wrong():
    depth = np.zeros((40, 40))
    depth[20, 5:35:6] = 5.0
    vertices, every = sheet(40, 40, depth)
    normals = facing(1600)
    beside = 40 * 20 + np.arange(5, 35, 6) + 1
    steep = next(face for face in every if {805, 806} <= set(face.tolist()))
    a, b, c = vertices[steep]
    across = np.cross(b - a, c - a)
    normals[beside] = across / np.linalg.norm(across)
    everywhere = np.ones(1600, bool)
    found = shreds(vertices, every, normals, everywhere, everywhere, everywhere, parallel=True)
    assert found[np.isin(every, beside).any(axis=1)].all()


@pytest.mark.parametrize(
    ("left", "right", "near", "count"),
    [
        (1.0, 0.0, True, 2 * 5),
        (0.5, 0.5, True, 0),
        (3.0, 3.0, True, 2 * 5),
        (-0.5, -0.5, True, 0),
        (1.0, 0.0, False, 0),
    ],
    ids=[
        "a valley near a jump",
        "a foot: both sides recede",
        "a wide one",
        "a ridge near a jump",
        "a valley elsewhere",
    ],
)
def test_a_jump_may_hide_in_a_valley(left, right, near, count):
    """The sides recede by so many pixels per pixel on the way to each other."""
    columns = np.arange(8)
    across = -left * np.maximum(3.5 - columns, 0.0) - right * np.maximum(columns - 3.5, 0.0)
    vertices, faces = sheet(6, 8, across)
    normals = sloping(np.where(columns < 4, left, -right))
    near_all = np.full(48, near)
    found = shreds(vertices, faces, normals, NOWHERE, near_all, NOWHERE, parallel=True)
    assert found.sum() == count


@pytest.mark.parametrize(
    ("slope", "beside", "left_out"),
    [(11.0, True, True), (7.5, True, False), (11.0, False, False)],
    ids=["wide, beside a jump", "narrow, beside a jump", "wide, near a jump"],
)
def test_nothing_is_known_of_a_wide_ridge_beside_a_jump(slope, beside, left_out):
    """A surface that turns away between two columns, by more than 7 and less than 20 degrees."""
    side = np.arange(8) - 3.5
    vertices, faces = sheet(6, 8, np.where(side < 0, 3.0, slope) * side)
    normals = sloping(np.where(side < 0, 3.0, slope))
    torn, near = np.full(48, beside), np.ones(48, bool)
    found = shreds(vertices, faces, normals, torn, near, NOWHERE, parallel=True)
    assert found.any() == left_out


@pytest.mark.parametrize("beside", [True, False])
def test_what_a_method_tore_without_a_jump_is_no_surface_beside_one(beside):
    """Further off it is as far apart as ``cut`` allows a surface to be."""
    vertices, faces = sheet(6, 8, np.where(np.arange(8) < 4, 0.0, 0.3))
    torn, near = np.full(48, beside), np.ones(48, bool)
    found = shreds(vertices, faces, facing(48), torn, near, NOWHERE, parallel=True)
    across = np.ptp(vertices[faces, 2], axis=1) > 0
    np.testing.assert_array_equal(found, across & beside)


@pytest.mark.parametrize(
    "camera",
    [Pinhole(60.0, 60.0, 15.5, 11.5), Orthographic(0.05, 15.5, 11.5)],
    ids=["central", "parallel"],
)
def test_valleys_are_as_deep_as_the_intervals_of_the_edges(camera):
    normals = np.random.default_rng(0).normal((0, 0, -3), 1, (24, 32, 3))
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    view, inside = View.of(camera, 24, 32), np.ones((24, 32), bool)
    equations = interval_equations(pixel_graph(inside), normals, view, noise=0.0)
    # The same for all depths up to the perspective of a pixel.
    flat, normals, parallel = np.ones((24, 32)), normals.reshape(-1, 3), view.origins is not None
    vertices = view.points(flat).reshape(-1, 3)
    for d, a, b in equations.graph.edges():
        if d % 2 == 0:
            edges = zip(a, b, strict=True)
            found = [sum(_behind(vertices, normals, i, j, parallel)) / 2 for i, j in edges]
            expected = equations.half_width[d // 2, a]
            widened = expected > np.abs(found) + 0.001  # where loops say that a jump grows
            assert widened.mean() < 0.1
            np.testing.assert_allclose(
                np.array(found)[~widened], expected[~widened], rtol=0.1, atol=0.02
            )


@pytest.mark.parametrize("depth", [1.0, 7.0])
def test_the_slower_side_recedes_as_the_equations_have_it(depth):
    """Whatever the depth of what it recedes towards."""
    normals = np.random.default_rng(0).normal((0, 0, -3), 1, (24, 32, 3))
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    view, inside = View.of(Pinhole(60.0, 60.0, 15.5, 11.5), 24, 32), np.ones((24, 32), bool)
    equations = interval_equations(pixel_graph(inside), normals, view, noise=0.0)
    checkered = np.where(np.indices((24, 32)).sum(axis=0) % 2, depth, 1.0)
    vertices, normals = view.points(checkered).reshape(-1, 3), normals.reshape(-1, 3)
    points = view.points(np.ones((24, 32))).reshape(-1, 3)
    for d, a, b in equations.graph.edges():
        if d % 2 == 0:
            edges = list(zip(a, b, strict=True))
            width = [sum(_behind(points, normals, i, j, False)) / 2 for i, j in edges]
            expected = np.array(width) - 0.5 * np.abs(equations.lead[d // 2, a])
            found = [_slower_recession(vertices, normals, i, j, False) for i, j in edges]
            np.testing.assert_allclose(found, expected, rtol=0.1, atol=0.05)


@given(SEED, st.integers(2, 12), st.integers(2, 12), st.integers(1, 30))
def test_specks_are_the_small_parts_that_a_search_along_edges_finds(seed, height, width, min_part):
    rng = np.random.default_rng(seed)
    vertices, faces = sheet(height, width, 0.0)
    faces = faces[rng.random(len(faces)) < 0.5]
    small, parts = specks(faces, len(vertices), min_part)
    edges = [{frozenset(pair) for pair in combinations(face, 2)} for face in faces.tolist()]
    groups, left = [], set(range(len(faces)))
    while left:
        group = set()
        found = {min(left)}
        while found:
            group |= found
            left -= found
            found = {f for f in left if any(edges[f] & edges[g] for g in found)}
        groups.append(group)
    sizes = [len(set(faces[list(group)].ravel().tolist())) for group in groups]
    limit = min(min_part, max(sizes, default=0))
    expected = np.zeros(len(faces), bool)
    for group, size in zip(groups, sizes, strict=True):
        expected[list(group)] = size < limit
    np.testing.assert_array_equal(small, expected)
    assert parts == sum(size < limit for size in sizes)


def test_parts_that_touch_in_one_point_are_several():
    around_4 = np.array([[4, 0, 1], [4, 2, 5], [4, 8, 7], [4, 6, 3]])
    larger = sheet(3, 3, 0.0)[1] + 9
    faces = np.concatenate((around_4, larger)).astype(np.int32)
    for least, gone in ((3, 0), (4, 4)):
        small, parts = specks(faces, 18, least)
        assert (small[:4].sum(), small[4:].any(), parts) == (gone, False, gone)


@pytest.mark.parametrize("camera", [Orthographic(0.01, 2, 2), Pinhole(100.0, 100.0, 2, 2)])
def test_a_pixel_seen_edge_on_far_behind_at_a_rim_is_a_needle(camera):
    depth, at_rim, nowhere = np.ones((5, 5)), np.zeros(25, bool), np.zeros(25, bool)
    depth[2, 2] = 1.3  # 30 pixels
    at_rim[12] = True
    vertices, every = View.of(camera, 5, 5).points(depth).reshape(-1, 3), sheet(5, 5, depth)[1]
    normals = facing(25)
    normals[12] = (0.99995, 0.0, -0.01)
    surface = vertices, every, normals, nowhere, nowhere
    found = shreds(*surface, at_rim, parallel=not camera.central)
    np.testing.assert_array_equal(found, (every == 12).any(axis=1))
    assert not shreds(*surface, ~at_rim, parallel=not camera.central).any(), "not the end of one"


@pytest.mark.parametrize("noise", [0.0, 1.0, 3.0])
def test_a_floor_up_to_the_horizon_has_no_needles(noise):
    camera = Pinhole(300.0, 300.0, 79.5, -8.0)
    inside, none = np.ones((120, 160), bool), np.zeros((120, 160))
    rays = camera.rays(120, 160)
    vertices = (rays / rays[..., 1:2]).reshape(-1, 3)  # up to 40 times its height away
    rng = np.random.default_rng(0)
    normals = np.array((0.0, -1.0, 0.0)) + np.radians(noise) * rng.normal(size=vertices.shape)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    faces = grid_faces(vertices, inside, none > 0, none > 0)
    nowhere = none.ravel() > 0
    rim = rims(inside, nowhere.reshape(inside.shape)).ravel()
    assert not shreds(vertices, faces, normals, nowhere, nowhere, rim, parallel=False).any()


def test_rims_are_beside_jumps_and_beside_what_is_outside_of_a_body():
    inside, torn = np.ones((6, 7), bool), np.zeros((6, 7), bool)
    inside[2, 3], torn[5, 6] = False, True
    assert {tuple(at) for at in np.argwhere(rims(inside, torn))} == {
        *((1, 3), (3, 3), (2, 2), (2, 4), (5, 6))
    }


@given(SEED)
def test_used_vertices_keep_every_triangle(seed):
    rng = np.random.default_rng(seed)
    vertices = rng.normal(size=(20, 3))
    faces = rng.integers(0, 20, (rng.integers(0, 9), 3)).astype(np.int32)
    used, numbered = used_vertices(faces, 20)
    np.testing.assert_array_equal(vertices[used][numbered], vertices[faces])
    assert set(used.tolist()) == set(faces.ravel().tolist())


def test_around_reaches_six_pixels_across_and_along():
    torn = np.zeros((12, 18), bool)
    torn[2, 9] = True
    v, u = np.indices(torn.shape)
    np.testing.assert_array_equal(around(torn), (abs(v - 2) <= 6) & (abs(u - 9) <= 6))
    for turn in (7, -7):
        beyond = around(np.roll(torn, turn, axis=1), wraps=True)
        np.testing.assert_array_equal(beyond, np.roll(around(torn), turn, axis=1))


def test_feet_count_as_they_do_in_the_odds_of_jumps():
    assert COSTS.foot == FOOT
