"""Textures that repeat, and the height of a surface."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rayrelief import BiNI, Ordered, RayPlane, Smooth, integrate
from rayrelief.cameras import Equirectangular, Orthographic, Pinhole
from rayrelief.cameras.view import View
from rayrelief.errors import InputError
from rayrelief.formulation.ray_plane import two_plane_equations
from rayrelief.formulation.tilt import without_tilt
from rayrelief.graph import pixel_graph
from rayrelief.relief import height_map, seam
from rayrelief.synthetic.gallery import GALLERY, plane, sphere
from reference.textures import in_8_bits, texture

BOTH = (True, True)
METHODS = [RayPlane(), BiNI(), Smooth(), Ordered()]


def steps_off(depth: np.ndarray, true: np.ndarray) -> tuple[float, float]:
    """Root mean square error of the steps to the next pixel: across the seam, and elsewhere."""
    off = depth - true
    across, elsewhere = [], []
    for axis in (0, 1):
        step = np.roll(off, -1, axis) - off
        across.append(np.take(step, -1, axis).ravel())
        elsewhere.append(np.delete(step, -1, axis).ravel())
    one, other = (float(np.sqrt(np.mean(np.concatenate(s) ** 2))) for s in (across, elsewhere))
    return one, other


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("stored", [lambda normals: normals, in_8_bits], ids=["exact", "8 bit"])
def test_the_seam_of_a_texture_is_as_good_as_the_rest(method, stored):
    true, normals = texture(48, 64)
    camera = Orthographic(0.5)
    result = integrate(stored(normals), camera, periodic=BOTH, method=method)
    across, elsewhere = steps_off(result.depth / 0.5, true)
    assert across < 1.3 * elsewhere
    found = seam(result)
    assert found.across < 1.6 * found.elsewhere  # the normals explain steep places less well
    assert found.fits
    open_ended = integrate(stored(normals), camera, method=method)
    assert steps_off(open_ended.depth / 0.5, true)[0] > 2 * across


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_a_tilt_does_not_end_up_in_the_seam(method):
    true, normals = texture(48, 64)
    tilted = normals / -normals[..., 2:] + (0.1, -0.05, 0.0)
    tilted /= np.linalg.norm(tilted, axis=-1, keepdims=True)
    result = integrate(tilted, Orthographic(), periodic=BOTH, method=method)
    across, elsewhere = steps_off(result.depth, true)
    assert across < 1.3 * elsewhere < 0.03
    (note,) = (note for note in result.status.notes if "tilt" in note)
    assert "6.4 degrees" in note  # atan of the length of (0.1, 0.05)
    assert "leave out periodic" in note  # that much is no error of rounding


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_what_does_not_reach_the_seam_may_be_tilted(method):
    scene = plane(40, 50, camera=Orthographic(0.02))
    mask = np.zeros((40, 50), dtype=bool)
    mask[10:30, 10:40] = True
    alone, repeating = (
        integrate(scene.normals, scene.camera, mask=mask, periodic=each, method=method)
        for each in ((False, False), BOTH)
    )
    assert_allclose(repeating.depth, alone.depth)
    assert "nothing repeats" in str(repeating.status)
    assert "no two pixels meet at the seam" in str(seam(repeating))


def test_the_tilt_is_that_of_all_edges_alike():
    rng = np.random.default_rng(0)
    normals = rng.normal(0.0, 0.2, (12, 14, 3)) - [0.0, 0.0, 1.0]
    mask = rng.random((12, 14)) < 0.8
    mask[4:7] = True  # more edges along the rows than across
    graph = pixel_graph(mask, 8, turn=(14.0, 12.0))
    view = View(Orthographic(1.0), 12, 14, BOTH)
    tilted = two_plane_equations(graph, normals, view)
    level, _ = without_tilt(tilted)
    steps, values = [], []
    for d in tilted.directions:
        there = graph.exists[d]
        steps += [graph.steps[d]] * int(there.sum())
        values += tilted.offset[d // 2 if len(tilted.offset) < 8 else d, there].tolist()
    slope = np.linalg.lstsq(np.array(steps, float), np.array(values), rcond=None)[0]
    first = np.flatnonzero(graph.exists[0])[0]
    assert_allclose((tilted.offset - level.offset)[0, first], slope[0])


def test_no_tilt_is_told_where_there_is_none():
    result = integrate(texture(24, 32)[1], Orthographic(), periodic=BOTH, method=Smooth())
    assert not any("tilt" in note for note in result.status.notes)


def test_a_texture_looks_the_same_wherever_it_is_cut():
    _, normals = texture(24, 32)
    shift = (7, 11)
    whole, rolled = (
        integrate(given, Orthographic(), periodic=BOTH, method=Smooth()).depth
        for given in (normals, np.roll(normals, shift, (0, 1)))
    )
    assert_allclose(np.roll(whole, shift, (0, 1)), rolled, atol=1e-6)


def test_columns_alone_may_repeat():
    scene = plane(20, 24, Orthographic(0.1))
    assert scene.depth is not None
    slope = (scene.depth[1] - scene.depth[0])[0]
    result = integrate(scene.normals, scene.camera, periodic=(False, True), method=Smooth())
    assert_allclose(np.diff(result.depth, axis=0), slope)
    assert_allclose(np.diff(result.depth, axis=1), 0, atol=1e-9)
    assert any("tilt" in note for note in result.status.notes)


@pytest.mark.parametrize("connectivity", [4, "diagonal", 8])
def test_every_pixel_of_a_graph_that_repeats_has_all_neighbours(connectivity):
    graph = pixel_graph(np.ones((5, 7), dtype=bool), connectivity, turn=(7.0, 5.0))
    assert graph.exists.all()
    rows, columns = np.divmod(graph.pixels, 7)
    for d, (du, dv) in enumerate(graph.steps):
        turns = graph.turns(d)
        there_row, there_column = np.divmod(graph.pixels[graph.neighbours[d]], 7)
        assert (there_column + 7 * turns[:, 0] == columns + du).all()
        assert (there_row + 5 * turns[:, 1] == rows + dv).all()


def test_digits_of_a_plane_far_from_the_axis_are_not_lost():
    far = Orthographic(0.1, cx=-1e7, cy=-1e7)
    scene = plane(20, 24, far)
    result = integrate(scene.normals, far, method=Smooth())
    assert np.abs(height_map(result, "quadric")).max() < 1e-6


def test_perspective_does_not_repeat():
    scene = sphere(20, 24)
    with pytest.raises(InputError, match="Pinhole"):
        integrate(scene.normals, scene.camera, periodic=BOTH)


def test_a_tile_that_is_steep_at_its_border_repeats():
    v, u = np.mgrid[:48, :64]
    edge = np.minimum(np.minimum(u, 63 - u), np.minimum(v, 47 - v)) / 12
    height = -10 * np.sqrt(np.clip(edge, 0, 1))  # a pillow
    slopes = [(np.roll(height, -1, axis) - np.roll(height, 1, axis)) / 2 for axis in (1, 0)]
    normals = np.stack([*slopes, -np.ones(height.shape)], axis=-1)
    for by in (0, 20):
        assert seam(integrate(np.roll(normals, by, (0, 1)), Orthographic(), periodic=BOTH)).fits


def test_the_sides_of_a_part_of_a_texture_do_not_fit_each_other():
    _, normals = texture(48, 64)
    part = integrate(normals[:40, :50], Orthographic(), periodic=BOTH)
    assert not seam(part).fits


def test_a_map_that_does_not_repeat_has_no_seam():
    scene = plane(20, 24, Orthographic(0.1))
    with pytest.raises(InputError, match="periodic"):
        seam(integrate(scene.normals, scene.camera, method=Smooth()))


@pytest.mark.parametrize("camera", [None, Orthographic(0.1)], ids=["central", "orthographic"])
def test_a_plane_has_no_height_above_the_best_plane(camera):
    scene = plane(20, 24, camera)
    result = integrate(scene.normals, scene.camera, method=Smooth())
    assert np.abs(height_map(result, "plane")).max() < 1e-6 * np.ptp(result.depth)


def test_flattening_by_a_quadric_takes_a_bow_off_and_leaves_the_detail():
    v, u = np.mgrid[-1:1:40j, -1:1:50j]
    detail = 0.02 * np.cos(12 * u) * np.cos(15 * v)
    z = 0.5 * u * u + 0.2 * u * v + 0.1 * v + detail
    dz = np.gradient(z, v[:, 0], u[0])
    normals = np.stack((dz[1], dz[0], -np.ones_like(z)), axis=-1)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    size = u[0, 1] - u[0, 0]
    stretched = normals * (1, (v[1, 0] - v[0, 0]) / size, 1)  # square pixels
    stretched /= np.linalg.norm(stretched, axis=-1, keepdims=True)
    result = integrate(stretched, Orthographic(size), method=Smooth())
    height = height_map(result, "quadric")
    assert np.corrcoef(height.ravel(), -detail.ravel())[0, 1] > 0.99


def test_high_is_near():
    scene = sphere(24, 32)
    result = integrate(scene.normals, scene.camera, mask=scene.mask)
    height = height_map(result)
    assert np.nanargmax(height) == np.nanargmin(result.points()[..., 2])
    assert np.nanmin(height) == 0


@pytest.mark.parametrize("flatten", [None, "plane"])
def test_distances_all_around_have_no_height(flatten):
    scene = GALLERY["room"](16, 32, Equirectangular.full(16, 32))
    result = integrate(scene.normals, scene.camera, method=Smooth())
    with pytest.raises(InputError, match="distances along the rays"):
        height_map(result, flatten)


def test_unknown_bases_and_too_few_pixels_are_refused():
    camera = Pinhole(20, 20, 0.5, 0.5)
    result = integrate(np.full((1, 2, 3), (0.0, 0.0, -1.0)), camera, method=Smooth())
    with pytest.raises(InputError, match="flatten is 'sphere'"):
        height_map(result, "sphere")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="through 2 pixels"):
        height_map(result, "plane")
