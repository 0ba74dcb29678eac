"""The preview: what its panels show, on any size of map."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import label

from profiles import fewer_examples
from rayrelief import Orthographic, Pinhole, RayMap, RayPlane, integrate
from rayrelief.errors import InputError
from rayrelief.io.images import read_image
from rayrelief.mesh import Mesh
from rayrelief.surface import grid_mesh
from rayrelief.synthetic import GALLERY
from rayrelief.viewer.preview import WIDEST, render_preview, write_preview
from rayrelief.viewer.rasterise import SAMPLES, oblique_view
from rayrelief.viewer.sheet import PAPER, format_range

HEIGHT = 96
SIZE = 48


@pytest.fixture(scope="module")
def sphere():
    scene = GALLERY["sphere"](SIZE, SIZE)
    method = RayPlane(max_iterations=20, tolerance=None)
    return scene, integrate(scene.normals, scene.camera, mask=scene.mask, method=method)


def panels(sheet, count, height=HEIGHT, width=HEIGHT):
    """Pictures of the panels of a sheet, which must hold just so many."""
    margin = (sheet.shape[1] - count * width) // (count + 1)
    assert sheet.shape[1] == margin + count * (width + margin)
    top = margin + 2 * max(8, height // 20)
    lefts = [margin + number * (width + margin) for number in range(count)]
    return [sheet[top : top + height, left : left + width].astype(int) for left in lefts]


def flat(height, width):
    normals = np.zeros((height, width, 3))
    normals[..., 2] = -1.0
    return normals


def stepped_depth(height, width, column):
    """Fronto-parallel planes at depth 1 and 2, meeting between column - 1 and column."""
    return np.where(np.arange(width) < column, 1.0, 2.0) * np.ones((height, 1))


@pytest.fixture(scope="module")
def step():
    """A step whose depth is known from the start: its jump is active, and nothing else is."""
    depth = stepped_depth(20, 20, 8)
    method = RayPlane(initial_depth=depth, max_iterations=1, tolerance=None)
    return integrate(flat(20, 20), Pinhole(20.0, 20.0, 9.5, 9.5), method=method)


def test_a_truth_adds_one_panel_to_four(sphere):
    scene, result = sphere
    without = render_preview(result, height=HEIGHT)
    with_truth = render_preview(result, truth=scene.depth, height=HEIGHT)
    assert without.dtype == with_truth.dtype == np.uint8
    assert without.shape[0] == with_truth.shape[0] > HEIGHT
    panels(without, 4)
    panels(with_truth, 5)
    np.testing.assert_array_equal(without, with_truth[:, : without.shape[1]])


@pytest.mark.parametrize("panel", [0, 1], ids=["oblique", "frontal"])
def test_the_middle_of_a_sphere_is_brighter_than_its_rim(sphere, panel):
    picture = panels(render_preview(sphere[1], height=HEIGHT), 4)[panel].sum(axis=-1)
    inside = picture != sum(PAPER)
    v, u = np.nonzero(inside)
    radius = np.hypot(v - v.mean(), u - u.mean())
    radius /= np.sqrt(inside.sum() / np.pi)
    middle, rim = radius < 0.2, (radius > 0.8) & (radius < 0.95)
    assert picture[inside][middle].mean() > picture[inside][rim].mean() + 60


@given(seed=st.integers(0, 2**32 - 1))
@fewer_examples(2)
def test_the_oblique_view_of_a_whole_relief_has_no_holes(seed):
    side = 30
    v, u = np.indices((side, side), dtype=float)
    relief = 0.8 * np.random.default_rng(seed).random((side, side))  # too gentle to hide anything
    whole = np.zeros((side, side), dtype=bool)
    mesh = grid_mesh(np.stack((u, v, 100 + relief), axis=-1), ~whole, whole, whole)
    filled = np.isfinite(oblique_view(mesh, 150, 150))
    assert label(~filled)[1] == 1  # all that is empty hangs together around the surface


def test_the_nearer_of_two_triangles_hides_the_other():
    corners = np.array([[-1.0, -1.0, 4.0], [0.0, 1.0, 4.0], [1.0, -1.0, 4.0]])
    tilted = np.array([[0.6, 0.0, -0.8]] * 3)
    facing = np.array([[0.0, 0.0, -1.0]] * 3)
    vertices = np.concatenate((corners, corners + np.array([0.0, 0.0, 0.5])))
    normals = np.concatenate((tilted, facing))
    near, far = np.array([[0, 1, 2], [3, 4, 5]], np.int32)
    first, second, alone = (
        oblique_view(Mesh(vertices, np.array(faces), normals), 64, 64)
        for faces in ([near, far], [far, near], [near])
    )
    np.testing.assert_array_equal(first, second)
    drawn = np.isfinite(alone)
    assert drawn.sum() > 1000
    np.testing.assert_array_equal(first[drawn], alone[drawn])


def test_faces_seen_from_behind_are_left_out():
    corners = np.array([[-1.0, -1.0, 4.0], [0.0, 1.0, 4.0], [1.0, -1.0, 4.0]])
    faces = np.array([[0, 1, 2]], np.int32)
    assert np.isfinite(oblique_view(Mesh(corners, faces), 32, 32)).any()
    assert np.isnan(oblique_view(Mesh(corners, faces[:, ::-1].copy()), 32, 32)).all()


def test_the_surface_is_open_at_a_jump(step):
    filled = np.isfinite(oblique_view(step.mesh(), HEIGHT, HEIGHT))[SAMPLES * HEIGHT // 2]
    changes = np.flatnonzero(np.diff(filled.astype(int)))
    assert len(changes) == 4  # two stretches of surface with a gap between them


def test_the_jump_panel_marks_a_known_step_and_nothing_else(step):
    picture = panels(render_preview(step, height=HEIGHT), 4)[3]
    marked = (picture < 200).any(axis=-1)
    edges = HEIGHT / 20 * np.array([7, 8])
    columns = np.arange(HEIGHT)
    np.testing.assert_array_equal(
        marked, np.broadcast_to((columns >= edges[0]) & (columns < edges[1]), marked.shape)
    )
    assert (picture[~marked] == 255).all()


def test_a_jump_survives_subsampling():
    depth = stepped_depth(10, 400, 301)
    method = RayPlane(initial_depth=depth, max_iterations=1, tolerance=None)
    result = integrate(flat(10, 400), Pinhole(400.0, 400.0, 199.5, 4.5), method=method)
    picture = panels(render_preview(result, height=32), 4, 32, round(WIDEST * 32))[3]
    assert (picture < 200).any(axis=-1).any(axis=0).sum() in (1, 2)


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (2, 2), (1, 700), (700, 1)])
@pytest.mark.parametrize("camera", [Orthographic(), Pinhole(50.0, 50.0, 0.0, 0.0)])
def test_tiny_and_thin_maps_have_a_preview(shape, camera):
    result = integrate(flat(*shape), camera, method=RayPlane(max_iterations=2), on_failure="return")
    sheet = render_preview(result, truth=result.depth, height=HEIGHT)
    assert sheet.shape[1] < 5 * 1.5 * HEIGHT + 6 * 20
    assert (sheet != PAPER).any()


def test_a_mask_that_falls_between_the_samples_has_a_preview():
    mask = np.zeros((200, 200), dtype=bool)
    mask[[20, 180], [20, 180]] = True
    result = integrate(flat(200, 200), Orthographic(), mask=mask, on_failure="return")
    sheet = render_preview(result, truth=result.depth, height=32)
    assert len(panels(sheet, 5, 32, 32)) == 5


def test_only_the_surroundings_of_the_mask_are_shown():
    mask = np.zeros((60, 80), dtype=bool)
    mask[41, 7] = True
    result = integrate(flat(60, 80), Orthographic(), mask=mask, on_failure="return")
    for picture in panels(render_preview(result, height=HEIGHT), 4):
        assert (picture == picture[0, 0]).all()  # the one pixel fills the whole panel
        assert (picture[0, 0] != PAPER).any()


def test_a_surface_all_around_the_camera_has_a_preview():
    longitude = np.linspace(-np.pi, np.pi, 40, endpoint=False) + np.pi / 40
    latitude = (np.linspace(-np.pi / 2, np.pi / 2, 20, endpoint=False) + np.pi / 40)[:, None]
    rays = np.stack(
        np.broadcast_arrays(
            np.cos(latitude) * np.sin(longitude),
            np.sin(latitude),
            np.cos(latitude) * np.cos(longitude),
        ),
        axis=-1,
    )
    scene = GALLERY["ellipsoid_inside"](20, 40, RayMap(rays))
    method = RayPlane(max_iterations=3, tolerance=None)
    result = integrate(scene.normals, scene.camera, method=method)
    filled = np.isfinite(oblique_view(result.mesh(), HEIGHT, HEIGHT))
    assert filled.mean() > 0.4  # one looks into the far half


def test_a_wild_outlier_does_not_shrink_the_surface(sphere):
    mesh = sphere[1].mesh()
    vertices = mesh.vertices.copy()
    loose = len(vertices) // 2
    vertices[loose] = (1e6, -1e9, 1e12)
    whole = np.isfinite(oblique_view(mesh, HEIGHT, HEIGHT)).mean()
    spoilt = np.isfinite(oblique_view(Mesh(vertices, mesh.faces), HEIGHT, HEIGHT)).mean()
    assert spoilt > 0.5 * whole


def test_the_same_result_gives_the_same_file(tmp_path, sphere):
    scene, result = sphere
    for name in ("first.png", "second.png"):
        write_preview(tmp_path / name, result, truth=scene.depth)
    assert (tmp_path / "first.png").read_bytes() == (tmp_path / "second.png").read_bytes()
    np.testing.assert_array_equal(
        read_image(tmp_path / "first.png"), render_preview(result, truth=scene.depth)
    )


def test_the_error_panel_is_plain_where_the_depth_is_a_multiple_of_the_truth(sphere):
    _, result = sphere
    picture = panels(render_preview(result, truth=7 * result.depth, height=HEIGHT), 5)[4]
    quarter = HEIGHT // 4
    middle = picture[quarter:-quarter, quarter:-quarter]
    assert (middle == middle[0, 0]).all()


def test_bad_input_is_named(sphere):
    _, result = sphere
    with pytest.raises(InputError, match="shape"):
        render_preview(result, truth=np.ones((2, 3)))
    with pytest.raises(InputError, match="8 pixels high"):
        render_preview(result, height=8)


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0.0, 0.123456, ("0", "0.123")),
        (1.00001, 1.00003, ("1.00001", "1.00003")),
        (2.0, 2.0, ("2", "2")),
    ],
)
def test_the_numbers_of_a_colour_bar_can_be_told_apart(low, high, texts):
    assert format_range(low, high) == texts
