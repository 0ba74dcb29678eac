"""The benchmark of meshes, on less."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import meshes
from benchmarks.calibration import edges
from rayrelief import synthetic
from rayrelief.mesh import Mesh


def test_the_limits_hold_on_small_scenes(monkeypatch):
    pytest.importorskip("manifold3d")
    monkeypatch.setattr(meshes, "scenes", lambda: [synthetic.GALLERY["tori"](60, 80)])
    table = meshes.maps()
    assert [row[:2] for row in table.rows] == [("tori", "RayPlane"), ("tori", "Ordered")]
    assert all(check.holds for check in table.checks)
    only = {"tori": synthetic.GALLERY["tori"]}
    monkeypatch.setattr(meshes, "renderers", lambda *size: only)
    monkeypatch.setattr(meshes, "SIZE", (120, 160))
    assert len(meshes.jumps().rows) == 2
    edges.jump_images.cache_clear()


def test_a_face_over_a_jump_is_counted_by_its_sides():
    pixels = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], np.int32)
    faces = np.array([[0, 2, 1], [1, 2, 3]], np.int32)
    mesh = Mesh(np.zeros((4, 3)), faces, pixels=pixels)
    right, down = np.zeros((2, 2, 2), bool)
    assert meshes.over_jumps(mesh, right, down) == 0
    right[0, 0] = True
    assert meshes.over_jumps(mesh, right, down) == 1
    down[0, 1] = True
    assert meshes.over_jumps(mesh, right, down) == 2


def test_a_needle_is_far():
    vertices = np.random.default_rng(0).uniform(size=(1000, 3))
    assert meshes.spread(vertices) < 1
    assert meshes.spread(np.vstack((vertices, [[9.0, 0, 0]]))) > 8
