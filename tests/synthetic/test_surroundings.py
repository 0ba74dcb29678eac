"""Surroundings in closed form: the normals are those of the depth."""

from __future__ import annotations

import numpy as np
import pytest

from rayrelief.cameras.equirectangular import Equirectangular
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.view import View
from rayrelief.scene import Scene
from rayrelief.synthetic.surroundings import wavy_relief, wavy_room

HEIGHT, WIDTH = 31, 41


def worst_angle(scene: Scene) -> float:
    """Largest sine between a chord over two tiny pixels and the tangent plane in its middle."""
    assert scene.depth is not None
    points = View.of(scene.camera, *scene.mask.shape).points(scene.depth)
    worst = 0.0
    for axis in (0, 1):
        chord = np.take(points, range(2, points.shape[axis]), axis) - np.take(
            points, range(points.shape[axis] - 2), axis
        )
        middle = np.take(scene.normals, range(1, points.shape[axis] - 1), axis)
        sine = np.sum(chord * middle, axis=-1) / np.linalg.norm(chord, axis=-1)
        worst = max(worst, float(np.abs(sine).max()))
    return worst


@pytest.mark.parametrize("turn", range(6))
def test_the_normals_of_the_room_are_those_of_its_walls(turn):
    # Narrow views in six directions of a panorama: pixels are small, chords are tangents.
    whole = Equirectangular(3000.0, 3000.0, WIDTH / 2 + 3000.0 * turn, HEIGHT / 2 - 900.0)
    scene = wavy_room(HEIGHT, WIDTH, whole)
    assert worst_angle(scene) < 2e-5
    assert (np.sum(scene.normals * whole.rays(HEIGHT, WIDTH), axis=-1) < 0).all()


def test_the_normals_of_the_relief_are_those_of_its_plate():
    scene = wavy_relief(HEIGHT, WIDTH, Orthographic(1e-3, 20, 15))
    assert worst_angle(scene) < 1e-4
    assert (scene.normals[..., 2] < 0).all()


def test_the_room_is_the_same_through_any_camera():
    camera = Pinhole.from_fov(70.0, HEIGHT, WIDTH)
    scene, whole = wavy_room(HEIGHT, WIDTH, camera), Equirectangular.full(4, 8)
    rays = camera.rays(HEIGHT, WIDTH)
    pixels = whole.project(rays)
    one = Equirectangular(
        whole.fx, whole.fy, whole.cx - pixels[5, 7, 0], whole.cy - pixels[5, 7, 1]
    )
    seen = wavy_room(1, 1, one)
    assert scene.depth is not None
    assert seen.depth is not None
    distance = scene.depth[5, 7] * np.linalg.norm(rays[5, 7])
    assert np.linalg.norm(one.rays(1, 1)) * seen.depth[0, 0] == pytest.approx(distance, rel=1e-12)
