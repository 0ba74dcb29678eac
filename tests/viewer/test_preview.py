"""The preview: what its panels show, on any size of map."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import label

from profiles import fewer_examples
from rayrelief import RayPlane, integrate
from rayrelief.cameras import Orthographic, Pinhole, RayMap
from rayrelief.errors import InputError
from rayrelief.evaluation.metrics import depth_errors
from rayrelief.io.images import read_image
from rayrelief.mesh import Mesh
from rayrelief.surface import grid_mesh
from rayrelief.synthetic import GALLERY
from rayrelief.viewer.colours import depth_scale, error_scale, jump_scale
from rayrelief.viewer.preview import preview_panels, render_preview, write_preview
from rayrelief.viewer.rasterise import SAMPLES, YAW_DEGREES, oblique_view
from rayrelief.viewer.sheet import (
    PAPER,
    ColourScale,
    Panel,
    colour_table,
    format_range,
    in_rows,
)

HEIGHT = 96
SIZE = 48


@pytest.fixture(scope="module")
def sphere():
    scene = GALLERY["sphere"](SIZE, SIZE)
    method = RayPlane(max_iterations=20, tolerance=None)
    return scene, integrate(scene.normals, scene.camera, mask=scene.mask, method=method)


def panels(result, truth=None, size=HEIGHT):
    """Panels of a result by their names; the error stands in place of the camera's view."""
    names = ["normals", "left", "right", "depth", "jumps", "camera" if truth is None else "error"]
    return dict(zip(names, preview_panels(result, truth, size, size), strict=True))


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
    method = RayPlane(max_iterations=1, tolerance=None)
    camera = Pinhole(20.0, 20.0, 9.5, 9.5)
    return integrate(flat(20, 20), camera, start=depth, method=method)


def test_a_truth_shows_the_error_and_changes_nothing_else(sphere):
    scene, result = sphere
    with_truth, without = panels(result, scene.depth), panels(result)
    assert set(with_truth) ^ set(without) == {"error", "camera"}
    for name in set(with_truth) & set(without):
        np.testing.assert_array_equal(with_truth[name].picture, without[name].picture)


def test_normals_are_shown_in_the_usual_colours():
    normals = flat(4, 5)
    normals[:, :2] = 0.6, 0.0, -0.8
    normals[0, 3] = 0.0, -0.6, -0.8  # up
    result = integrate(normals, Orthographic(), method=RayPlane(max_iterations=1, tolerance=None))
    picture = panels(result)["normals"].picture
    assert picture[2, 3].tolist() == [128, 128, 255]
    assert picture[2, 0].tolist() == [204, 128, 230]
    assert picture[0, 3].tolist() == [128, 204, 230]


@pytest.mark.parametrize("name", ["left", "camera", "right"])
def test_the_middle_of_a_sphere_is_brighter_than_its_rim(sphere, name):
    picture = panels(sphere[1])[name].picture.astype(int).sum(axis=-1)
    inside = picture != sum(PAPER)
    v, u = np.nonzero(inside)
    radius = np.hypot(v - v.mean(), u - u.mean())
    radius /= np.sqrt(inside.sum() / np.pi)
    middle, rim = radius < 0.2, (radius > 0.8) & (radius < 0.95)
    assert picture[inside][middle].mean() > picture[inside][rim].mean() + 60


@pytest.mark.parametrize("side", [-1, 1])
def test_what_is_nearer_moves_away_from_the_side_that_one_looks_from(side):
    """Two small triangles above one another: the upper one is nearer."""
    corners = np.array([[-1.0, -1.0, 0.0], [0.0, 1.0, 0.0], [1.0, -1.0, 0.0]])
    vertices = np.concatenate((corners + np.array([0, -2, 9]), corners + np.array([0, 2, 11])))
    faces = np.array([[0, 1, 2], [3, 4, 5]], np.int32)
    filled = np.isfinite(oblique_view(Mesh(vertices, faces), 64, 64, side * YAW_DEGREES))
    upper, lower = (np.nonzero(half)[1].mean() for half in np.split(filled, 2))
    assert side * (lower - upper) > 0


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


def test_the_near_side_of_a_step_hides_the_gap_from_its_own_side(step):
    """The near part is on the left: one looks into the gap behind it from the right alone."""
    paper = {
        name: (panel.picture[SAMPLES * HEIGHT // 2] == PAPER).all(axis=-1)
        for name, panel in panels(step).items()
        if name in ("left", "right")
    }
    gaps = {name: np.count_nonzero(np.trim_zeros(~each) == 0) for name, each in paper.items()}
    assert gaps["left"] == 0 < gaps["right"]


def test_the_jump_panel_marks_a_known_step_and_nothing_else(step):
    marked = (panels(step)["jumps"].picture != 255).any(axis=-1)
    np.testing.assert_array_equal(marked, np.broadcast_to(np.arange(20) == 7, (20, 20)))


def test_a_jump_survives_subsampling():
    depth = stepped_depth(10, 400, 301)
    method = RayPlane(max_iterations=1, tolerance=None)
    camera = Pinhole(400.0, 400.0, 199.5, 4.5)
    result = integrate(flat(10, 400), camera, start=depth, method=method)
    picture = panels(result, size=32)["jumps"].picture
    assert picture.shape[1] < 80
    marked = (picture != 255).any(axis=-1)
    assert marked.any(axis=1).all()
    assert marked.any(axis=0).sum() == 1


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (2, 2), (1, 700), (700, 1)])
@pytest.mark.parametrize("camera", [Orthographic(), Pinhole(50.0, 50.0, 0.0, 0.0)])
def test_tiny_and_thin_maps_have_a_preview(shape, camera):
    result = integrate(flat(*shape), camera, method=RayPlane(max_iterations=2), on_failure="return")
    sheet = render_preview(result, truth=result.depth, height=HEIGHT)
    assert max(sheet.shape) < 5 * HEIGHT
    assert (sheet != PAPER).any()


def test_a_mask_that_falls_between_the_samples_has_a_preview():
    mask = np.zeros((200, 200), dtype=bool)
    mask[[20, 180], [20, 180]] = True
    result = integrate(flat(200, 200), Orthographic(), mask=mask, on_failure="return")
    assert render_preview(result, truth=result.depth, height=32).size


def test_only_the_surroundings_of_the_mask_are_shown():
    mask = np.zeros((60, 80), dtype=bool)
    mask[41, 7] = True
    result = integrate(flat(60, 80), Orthographic(), mask=mask, on_failure="return")
    for panel in preview_panels(result, None, HEIGHT, HEIGHT):
        assert panel.picture.shape == (1, 1, 3)


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


@pytest.mark.parametrize(
    ("camera", "unit", "shift", "of"),
    [(Pinhole(50.0, 50.0, 9.5, 9.5), 7.0, 0.0, "depth"), (Orthographic(), 1.0, 5.0, "range")],
    ids=["central", "orthographic"],
)
def test_the_error_is_in_the_unit_of_the_truth_as_in_a_summary(camera, unit, shift, of):
    """A truth in another unit that is 3 % of the depth, or of its range, off in one of ten rows."""
    normals = np.broadcast_to(np.array([0.3, 0.2, -1.0]) / np.sqrt(1.13), (20, 20, 3))
    result = integrate(normals, camera, method=RayPlane(max_iterations=2), on_failure="return")
    whole = unit * (result.depth if camera.central else np.ptp(result.depth))
    wrong = np.arange(20)[:, None] % 10 == 0
    truth = unit * (result.depth + shift) + 0.03 * whole * wrong
    depth, error = (panels(result, truth)[name] for name in ("depth", "error"))
    assert depth.scale is not None
    assert error.scale is not None
    assert error.scale.high == pytest.approx(0.03 * np.max(whole), rel=0.2)
    mean, percent = (float(text) for text in re.findall(r"[0-9.]+(?:e-\d+)?", error.caption))
    assert percent == pytest.approx(0.3, rel=0.05)
    made = depth_errors(result.depth, truth, "scale" if camera.central else "shift").made
    assert mean == pytest.approx(made, rel=0.05)
    assert of in error.caption
    plain = (error.picture == error.scale.colours[0]).all(axis=-1)
    np.testing.assert_array_equal(plain, np.broadcast_to(~wrong, plain.shape))


def test_ends_beyond_which_there_are_values_say_so():
    errors = np.append(np.zeros(990), np.full(10, 0.3))[None]
    assert error_scale(errors).ends == ("0", "\u2265 0.003")
    assert error_scale(errors, np.full((2, 2), 0.3)).ends == ("0", "0.3")
    jumps = np.append(np.ones(99), 2.0)[None]
    scale = jump_scale(jumps)
    assert scale is not None
    assert scale.ends == ("0", "\u2265 1")
    depth = np.append(np.arange(1.0, 100.0), 500.0)[None]
    far = depth_scale(SimpleNamespace(depth=depth, mask=np.ones((1, 100), bool)))
    assert far.ends == ("\u2264 1.99", "\u2265 103")


def test_the_sign_of_a_clipped_end_is_drawn():
    def sheet(clipped):
        scale = ColourScale(colour_table("magma"), 1.0, 2.0, clipped=(False, clipped))
        return in_rows([Panel("", np.full((9, 9, 3), PAPER, np.uint8), scale)], 96, 96)

    changed = (sheet(True) != sheet(False)).any(axis=(0, 2))
    assert changed.any(), "at one end"
    assert np.flatnonzero(changed).min() > len(changed) / 2, "the right one"


def test_the_depth_says_which_end_is_near(sphere):
    scale = panels(sphere[1])["depth"].scale
    assert scale is not None
    assert scale.low < scale.high
    assert scale.words == ("near", "far")


# The sheet


@pytest.mark.parametrize("count", range(1, 8))
def test_every_panel_is_on_the_sheet_whole(count):
    colours = colour_table("viridis", 0, 200)[:: 255 // count][:count]
    pictures = [np.full((20, 30, 3), colour) for colour in colours]
    scales = [None, ColourScale(colour_table("magma"), 1.0, 2.0, ("near", "far"))]
    sheet = in_rows([Panel("", each, scales[n % 2]) for n, each in enumerate(pictures)], 40, 60)
    boxes = []
    for colour in colours:
        v, u = np.nonzero((sheet == colour).all(axis=-1))
        boxes.append((v.min(), v.max(), u.min(), u.max()))
        assert (np.ptp(v) + 1, np.ptp(u) + 1, len(v)) == (40, 60, 40 * 60)
    assert boxes == sorted(boxes), "in the order of reading"


def test_captions_and_words_are_written():
    def ink(caption, *words):
        scale = ColourScale(colour_table("magma"), 1.0, 2.0, words or ("", ""))
        sheet = in_rows([Panel(caption, np.full((9, 9, 3), PAPER, np.uint8), scale)], 96, 96)
        return (np.array(PAPER) - sheet).sum()

    assert ink("") < ink("depth") < ink("depth", "near", "far")


def test_bad_input_is_named(sphere):
    _, result = sphere
    with pytest.raises(InputError, match="shape"):
        render_preview(result, truth=np.ones((2, 3)))
    with pytest.raises(InputError, match="height is 8 pixels"):
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
