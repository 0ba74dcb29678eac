"""Views in the layout of DiLiGenT-MV, whole and broken."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import rayrelief
from rayrelief.datasets.diligent_mv import Normals, read_mesh, read_view, views_of
from rayrelief.mesh import Mesh
from reference.views import (
    CAMERA,
    CENTRE,
    POSES,
    RADII,
    change_calibration,
    exact_view,
    write_views,
)


@pytest.fixture
def bear(tmp_path: Path) -> Path:
    """Folder of the object bear."""
    return write_views(tmp_path / "data", "bear")


@pytest.mark.parametrize("view", POSES)
def test_view_is_that_of_the_closed_form(bear: Path, view: int) -> None:
    depth, normals = exact_view(view)
    scene = read_view(bear.parents[1], "bear", view)
    assert (scene.name, scene.camera, scene.depth) == (f"bear view {view}", CAMERA, None)
    np.testing.assert_array_equal(scene.mask, np.isfinite(depth))
    inside = scene.mask
    np.testing.assert_allclose(scene.normals[inside], normals[inside], atol=1e-12)
    estimated = read_view(bear.parents[1], "bear", view, "photometric_stereo")
    cosines = np.einsum("ni,ni->n", estimated.normals[inside], normals[inside])
    assert 0.5 < np.degrees(np.arccos(cosines.mean())) < 5.0


@pytest.mark.parametrize("view", POSES)
def test_mesh_is_in_the_frame_of_the_view(bear: Path, view: int) -> None:
    vertices = read_mesh(bear.parents[1], "bear", view).vertices
    rotation, translation = POSES[view]
    world = (vertices - translation[:, 0]) @ rotation
    np.testing.assert_allclose(np.sum(((world - CENTRE) / RADII) ** 2, axis=1), 1.0, atol=1e-4)
    pixels = vertices[:, :2] / vertices[:, 2:] * [CAMERA.fx, CAMERA.fy] + [CAMERA.cx, CAMERA.cy]
    columns = np.flatnonzero(np.isfinite(exact_view(view)[0]).any(axis=0))
    assert np.all(np.abs([pixels[:, 0].min(), pixels[:, 0].max()] - columns[[0, -1]]) < 1.5)


def test_views_are_those_that_are_there(bear: Path) -> None:
    assert views_of(bear) == [1, 2, 3]
    shutil.rmtree(bear / "view_02")
    assert views_of(bear) == [1, 3]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def without_faces(folder: Path) -> None:
    points = Mesh(np.eye(3), np.empty((0, 3), dtype=np.int32))
    rayrelief.write_mesh(folder / "mesh_Gt.ply", points)


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "no object": (shutil.rmtree, "bearPNG has no view"),
    "no calibration": (lambda f: (f / "Calib_Results.mat").unlink(), "Calib_Results.mat does not"),
    "no pose": (
        lambda f: change_calibration(f, Rc_2=None),
        "expected one array, or one named Rc_2",
    ),
    "shape": (lambda f: change_calibration(f, Tc_1=np.ones(4)), r"Tc_1 of .*the shape \(1, 4\)"),
    "skew": (lambda f: change_calibration(f, KK=np.triu(np.ones((3, 3)))), "has the skew 1"),
    "rotation": (
        lambda f: change_calibration(f, Rc_1=2 * np.eye(3)),
        "Rc_1 of .*is not a rotation",
    ),
    "no mesh": (lambda f: (f / "mesh_Gt.ply").unlink(), "mesh_Gt.ply does not exist"),
    "cut mesh": (lambda f: cut(f / "mesh_Gt.ply"), "mesh_Gt.ply is damaged or truncated"),
    "no PLY": (lambda f: (f / "mesh_Gt.ply").write_text("solid"), "mesh_Gt.ply is damaged"),
    "points": (without_faces, "mesh_Gt.ply has no faces"),
    "no mask": (lambda f: (f / "view_01" / "mask.png").unlink(), "mask.png does not exist"),
    "cut normals": (lambda f: cut(f / "view_02" / "Normal_gt.mat"), "Normal_gt.mat is damaged"),
    "no estimate": (
        lambda f: shutil.rmtree(f.parents[1] / "estNormal"),
        "bearPNG_Normal_TIP19Li_view1.mat does not exist",
    ),
}


def read_all(folder: Path) -> None:
    for view in views_of(folder):
        read_mesh(folder.parents[1], "bear", view)
        for normals in get_args(Normals):
            read_view(folder.parents[1], "bear", view, normals)


@pytest.mark.parametrize(("damage", "message"), DAMAGE.values(), ids=DAMAGE)
def test_broken_folder_is_refused(
    bear: Path, damage: Callable[[Path], object], message: str
) -> None:
    damage(bear)
    with pytest.raises(rayrelief.RayreliefError, match=message):
        read_all(bear)
