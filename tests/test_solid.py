"""Bodies: manifolds of the right size and volume, for every kind of camera."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import trimesh

import rayrelief
from rayrelief import synthetic
from rayrelief.cameras import Equirectangular, Orthographic
from rayrelief.cameras.view import View
from rayrelief.errors import InputError
from rayrelief.io.meshes import write_mesh
from rayrelief.mesh.borders import is_closed
from rayrelief.solid import solid_mesh
from rayrelief.synthetic.shapes import Plane, Sphere
from rayrelief.synthetic.surroundings import wavy_room

METHOD = rayrelief.RayPlane(max_iterations=15)


def integrate(scene, method=METHOD):
    return rayrelief.integrate(
        scene.normals, scene.camera, mask=scene.mask, method=method, on_failure="return"
    )


def body_of(mesh):
    """The body as a library for solid modelling sees it, from 32-bit floats."""
    manifold3d = pytest.importorskip("manifold3d")
    rounded = mesh.vertices.astype(np.float32).astype(np.float64)
    body = manifold3d.Manifold(manifold3d.Mesh64(rounded, mesh.faces.astype(np.uint64)))
    assert body.status() == manifold3d.Error.NoError
    return body


@pytest.mark.parametrize("name", synthetic.GALLERY)
def test_every_scene_is_a_manifold_of_the_width_asked_for(name):
    mesh = integrate(synthetic.GALLERY[name](48, 64)).solid(width=80.0, base=2.0)
    assert body_of(mesh).volume() > 0
    assert is_closed(mesh.faces, len(mesh.vertices))
    assert np.ptp(mesh.vertices[:, 0]) == pytest.approx(80)
    half = len(mesh.vertices) // 2
    np.testing.assert_allclose(mesh.vertices[half:, 2], 0, atol=1e-9)  # a flat base ...
    assert mesh.vertices[:half, 2].max() == pytest.approx(-2)  # ... below the deepest point


def test_the_volume_of_a_spherical_cap():
    pixel, radius, rim, side = 0.01, 3.0, 1.605, 331
    camera = Orthographic(pixel, (side - 1) / 2, (side - 1) / 2)
    scene = synthetic.render([Sphere((0.0, 0.0, 10.0), radius)], camera, side, side)
    v, u = np.indices((side, side)) - (side - 1) / 2
    scene = replace(scene, mask=np.hypot(u, v) * pixel < rim)
    volume = body_of(integrate(scene).solid(width=100.0, base=3.0)).volume()
    scale, height = 50 / rim, radius - math.sqrt(radius**2 - rim**2)
    cap = math.pi * height**2 * (3 * radius - height) / 3
    assert volume == pytest.approx(scale**3 * cap + math.pi * 50**2 * 3, rel=0.01)


def test_a_plane_before_a_pinhole_is_a_frustum():
    scene = synthetic.render(
        [Plane((0.0, 0.0, 4.0), (0.0, 0.0, -1.0))],
        rayrelief.cameras.Pinhole(40.0, 40.0, 19.5, 14.5),
        30,
        40,
    )
    volume = body_of(integrate(scene).solid(width=100.0, base=30.0)).volume()
    front, back = 100 / 39 * 40 - 30, 100 / 39 * 40  # distances from the camera
    assert volume == pytest.approx((back**3 - front**3) / 3 * (39 / 40) * (29 / 40), rel=1e-6)


@pytest.mark.parametrize("render", [wavy_room, synthetic.GALLERY["room"]])
def test_a_panorama_is_closed_to_the_outside_by_a_wall(render):
    scene = render(32, 64, Equirectangular.full(32, 64))
    mesh = integrate(scene).solid(width=100.0, base=5.0)
    assert mesh.wraps
    assert body_of(mesh).volume() > 0
    half = len(mesh.vertices) // 2
    inner, outer = np.linalg.norm(mesh.vertices.reshape(2, half, 3), axis=2)
    assert (outer - inner).min() > 5 - 1e-9
    assert np.ptp(mesh.vertices[:, 0]) == pytest.approx(100)


class Told:
    """Takes the start for the surface."""

    def solve(self, problem, backend, callback=None):
        return rayrelief.methods.Solution(problem.start)


def test_what_the_mesh_leaves_out_is_filled_from_beside_it():
    scene = synthetic.GALLERY["plane"](30, 40)
    assert scene.depth is not None
    depth = scene.depth.copy()
    depth[10, 10] *= 0.3  # a needle
    result = rayrelief.integrate(scene.normals, scene.camera, start=depth, method=Told())
    left_out = result.mesh().left_out
    assert left_out is not None
    assert left_out.pixels == 1
    mesh = result.solid()
    assert body_of(mesh).genus() == 0
    heights = mesh.vertices[: 30 * 40, 2].reshape(30, 40)
    assert heights[10, 10] == pytest.approx(heights[8:13, 8:13].mean(), rel=0.05)


def test_what_is_left_out_beyond_the_seam_of_a_panorama_is_filled_from_before_it():
    scene = wavy_room(16, 32, Equirectangular.full(16, 32))
    assert scene.depth is not None
    mask = np.zeros((16, 32), bool)
    mask[:, 20:] = mask[7:9, 0] = True  # two pixels whose only neighbours are in the last column
    depth = scene.depth.copy()
    depth[7:9, 0] *= 0.3
    result = rayrelief.integrate(
        scene.normals, scene.camera, mask=mask, start=depth, method=Told(), on_failure="return"
    )
    assert 0 not in result.mesh().known_pixels()[:, 0]
    mesh = result.solid()
    half = len(mesh.vertices) // 2
    distance = np.full((16, 32), np.nan)
    u, v = mesh.known_pixels()[:half].T
    distance[v, u] = np.linalg.norm(mesh.vertices[:half], axis=1)
    np.testing.assert_allclose(distance[7:9, 0], distance[7:9, -1])


def test_files_have_the_face_up_in_their_units(tmp_path):
    mesh = integrate(synthetic.GALLERY["sphere"](40, 40)).solid(width=50.0, base=2.0)
    write_mesh(tmp_path / "m.stl", mesh)
    write_mesh(tmp_path / "m.glb", mesh)
    stl = trimesh.load(tmp_path / "m.stl")
    assert stl.is_watertight
    assert stl.is_winding_consistent
    assert stl.volume > 0
    low, high = stl.bounds
    assert low[2] == 0
    top = stl.vertices[stl.vertices[:, 2].argmax()]
    np.testing.assert_allclose(top[:2], 0, atol=0.1 * 50)  # the middle of the sphere is highest
    glb = trimesh.load(tmp_path / "m.glb", force="mesh")
    np.testing.assert_allclose(glb.extents, (high - low) / 1000, rtol=1e-6)


def test_a_base_wider_than_the_body_is_refused():
    result = integrate(synthetic.GALLERY["plane"](20, 20))
    with pytest.raises(InputError, match="a width of 1 with a base of 100"):
        result.solid(width=1.0, base=100.0)
    with pytest.raises(InputError, match="width is 0"):
        result.solid(width=0.0)


def test_a_unit_that_no_file_knows_is_refused():
    with pytest.raises(InputError, match="unit is 'km'"):
        integrate(synthetic.GALLERY["plane"](20, 20)).solid(unit="km")  # type: ignore[arg-type]


def test_a_pixel_far_below_all_others_makes_the_body_deeper_by_a_tenth_of_its_relief():
    relief = np.tile(0.1 * np.arange(40.0), (40, 1))  # 3.9 from front to back
    relief[20, 20] = 1000.0
    pixels = np.argwhere(np.isfinite(relief))[:, ::-1].astype(np.int32)
    view = View.of(Orthographic(1.0), 40, 40)
    body = solid_mesh(view, 10.0 + relief, pixels, width=39.0, base=2.0, unit="mm", min_part=1)
    assert np.ptp(body.vertices[:, 2]) == pytest.approx(1.1 * 3.9 + 2.0)
