"""Clean meshes: no needles, no strips across jumps, no specks, and nothing else is lost."""

from __future__ import annotations

import numpy as np
import pytest

import rayrelief
from benchmarks.calibration.edges import jump_images
from benchmarks.meshes import FARTHEST, TRUE_JUMP, over_jumps, run, spread, whole_mesh
from rayrelief import synthetic
from rayrelief.errors import InputError
from rayrelief.meshing import CUT, Cuts, TornEdges, clean_mesh


class Told:
    """A method that returns its start and has found the cuts that it was told."""

    def __init__(self, cuts=None):
        self.cuts = cuts

    def solve(self, problem, backend, callback=None):
        cuts = None
        if self.cuts is not None:
            cuts = np.full((len(problem.graph.steps), problem.graph.size), self.cuts)
        return rayrelief.methods.Solution(problem.start, cuts=cuts)


class Told8(Told):
    """The same, of eight neighbours."""

    connectivity = 8


def plane_result(change, cuts=None, shape=(30, 40)):
    scene = synthetic.GALLERY["plane"](*shape)
    assert scene.depth is not None
    depth = scene.depth.copy()
    change(depth)
    return rayrelief.integrate(scene.normals, scene.camera, start=depth, method=Told(cuts))


def test_a_plane_is_left_whole():
    mesh = plane_result(lambda depth: None).mesh()
    assert len(mesh.faces) == 2 * 29 * 39
    assert mesh.left_out == type(mesh.left_out)()


@pytest.mark.parametrize("cuts", [None, False, True])
def test_a_needle_is_left_out_whoever_found_it(cuts):
    def lift(depth):
        depth[10, 10] *= 0.3

    mesh = plane_result(lift, cuts).mesh()
    assert (mesh.left_out.pixels, mesh.left_out.parts) == (1, 0)
    assert len(mesh.vertices) == 30 * 40 - 1
    assert [10, 10] not in mesh.known_pixels().tolist()
    assert spread(mesh.vertices) < 1


@pytest.mark.parametrize("side", [4, 5])
def test_a_part_that_stands_apart_is_dropped_below_its_size(side):
    def lift(depth):
        depth[10 : 10 + side, 10 : 10 + side] *= 0.3

    result = plane_result(lift)
    mesh = result.mesh()
    assert len(mesh.vertices) == 30 * 40 - (side**2 if side == 4 else 0)
    assert mesh.left_out.parts == (side == 4)
    assert len(result.mesh(min_part=1).vertices) == 30 * 40
    assert len(result.mesh(min_part=10**6).vertices) == 30 * 40 - side**2, "the largest part stays"


def test_pixels_are_those_of_the_vertices():
    def lift(depth):
        depth[3, 7] *= 0.3

    result = plane_result(lift)
    mesh = result.mesh()
    u, v = mesh.known_pixels().T
    np.testing.assert_array_equal(mesh.vertices, result.points()[v, u])


def test_no_face_spans_a_jump_that_the_method_found():
    result = run(synthetic.GALLERY["tori"](120, 160), rayrelief.Ordered())
    u, v = result.mesh().known_pixels()[result.mesh().faces].transpose(2, 0, 1)
    footprint = result._problem.view.footprint(result.depth)
    spanned = 0
    for step in result.cuts.steps[::2]:
        large = np.abs(result.jumps.towards(*step)) > CUT * footprint
        cut = (result.cuts.towards(*step) > 0) & large
        for i in range(6):
            a, b = i % 3, (i % 3 + 1 + i // 3) % 3
            along = (u[:, b] - u[:, a] == step[0]) & (v[:, b] - v[:, a] == step[1])
            spanned += int(np.count_nonzero(along & cut[v[:, a], u[:, a]]))
    assert spanned == 0


@pytest.mark.parametrize("min_part", [0, -1, 2.5])
def test_a_size_of_parts_that_makes_no_sense_is_refused(min_part):
    with pytest.raises(InputError, match="min_part"):
        plane_result(lambda depth: None).mesh(min_part=min_part)


@pytest.mark.parametrize("method", [rayrelief.RayPlane(), rayrelief.Ordered()])
@pytest.mark.parametrize("name", ["overlapping_spheres", "tori"])
def test_few_faces_cross_true_jumps(name, method):
    """Jumps of the exact depth that neither pixel's slope explains, of neighbours that both see."""
    scene = synthetic.GALLERY[name](120, 160)
    result = run(scene, method)
    truth = run_at_truth(scene)
    steps, footprint = ((1, 0), (0, 1)), truth._problem.view.footprint(truth.depth)
    right, down = (np.abs(truth.jumps.towards(*step)) > 8 * footprint for step in steps)
    before, after = (over_jumps(mesh, right, down) for mesh in (whole_mesh(result), result.mesh()))
    assert before >= 8
    assert after <= 0.5 * before
    footprint = result._problem.view.footprint(result.depth)
    torn = (np.abs(result.jumps.towards(*step)) > 3 * footprint for step in steps)
    right, down = (jump & each for jump, each in zip((right, down), torn, strict=True))
    assert over_jumps(result.mesh(), right, down) <= 6, "where the result itself jumps"
    assert spread(result.mesh().vertices) < FARTHEST
    assert len(result.mesh().faces) > 0.97 * len(whole_mesh(result).faces)


@pytest.mark.slow
def test_no_face_crosses_a_true_jump_at_a_grazing_rim():
    """Its edge lies a fifth of a pixel outside of its interval."""
    render, size = synthetic.GALLERY["overlapping_spheres"], (240, 320)
    right, down = (np.abs(image) > TRUE_JUMP for image in jump_images(render, size)[:2])
    mesh = run(render(*size), rayrelief.Ordered()).mesh()
    assert over_jumps(mesh, right, down) == 0


def run_at_truth(scene):
    return rayrelief.integrate(
        scene.normals, scene.camera, mask=scene.mask, start=scene.depth, method=Told()
    )


@pytest.mark.data
def test_the_cat_has_no_needles(data_root):
    result = run(rayrelief.read_scene(data_root / "diligent" / "cat"), rayrelief.RayPlane())
    assert spread(result.points()[result.mask]) > FARTHEST
    assert spread(result.mesh().vertices) < 1
    assert len(result.mesh().faces) > 0.99 * len(whole_mesh(result).faces)


def test_what_is_left_out_of_a_panorama_does_not_hang_on_its_seam():
    camera = rayrelief.cameras.Equirectangular.full(48, 96)
    scene = synthetic.GALLERY["room"](48, 96, camera=camera)
    method = rayrelief.RayPlane(max_iterations=10)
    result = rayrelief.integrate(scene.normals, camera, method=method, on_failure="return")
    cuts = result.torn_edges().cuts(CUT, wraps=True)

    def left_out(turn):
        def turned(image):
            return np.roll(image, turn, axis=1)

        inside = turned(result.mask)
        sides = turned(cuts.right), turned(cuts.down)
        mesh = clean_mesh(
            turned(result.points())[inside],
            inside,
            turned(scene.normals),
            Cuts(*sides, None, turned(cuts.torn)),
            1,
            parallel=False,
            wraps=True,
        )
        assert mesh.left_out is not None
        return mesh.left_out.faces

    assert left_out(0) > 0
    assert {left_out(turn) for turn in range(0, 96, 7)} == {left_out(0)}


def test_torn_edges_of_a_panorama_turn_with_it():
    height, width = 24, 48
    camera = rayrelief.cameras.Equirectangular.full(height, width)
    rays = camera.rays(height, width)
    angle = np.radians(88.0)  # of a normal that faces its own ray, and not that of the next pixel
    turn = np.array(
        [[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]]
    )
    aside, behind = np.zeros((2, height, width), dtype=bool)
    aside[10:14, 20], behind[4:9, 25:31] = True, True
    behind[9, 26:30] = True  # so that some diagonals are torn alone

    def images(by):
        normals = np.where(np.roll(aside, by, axis=1)[..., None], -rays @ turn.T, -rays)
        depth = np.where(np.roll(behind, by, axis=1), 2.0, 1.0)
        result = rayrelief.integrate(
            normals, camera, start=depth, method=Told8(True), on_failure="return"
        )
        cuts = result.torn_edges().cuts(CUT, wraps=True)
        assert cuts.diagonals is not None
        return np.stack([cuts.right, cuts.down, *cuts.diagonals, cuts.torn])

    still = images(0)
    assert still.any(axis=(1, 2)).all()
    for by in range(1, width):
        np.testing.assert_array_equal(np.roll(images(by), -by, axis=2), still)


def test_between_samples_there_is_the_largest_jump_on_the_way_and_no_other():
    shape, start, step = (9, 12), (1, 2), 2
    sizes = np.random.default_rng(0).permutation(4 * 9 * 12).astype(np.float64)
    torn = TornEdges(shape, np.arange(sizes.size), sizes)
    sampled = torn.sampled(slice(start[0], 9, step), slice(start[1], 12, step))
    right, down = sizes.reshape(4, *shape)[:2, start[0] :, start[1] :]
    expected = np.zeros((4, 4, 5))
    expected[0] = np.maximum(right[::2, ::2], right[::2, 1::2])
    expected[1] = np.maximum(down[::2, ::2], down[1::2, ::2])
    found = np.zeros_like(expected)
    found.ravel()[sampled.places] = sampled.sizes
    np.testing.assert_array_equal(found, expected)
