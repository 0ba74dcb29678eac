"""DiLiGenT-MV: five objects of DiLiGenT from twenty views each, with a mesh instead of depth.

    mvpmsData/<object>PNG/mesh_Gt.ply                          in the frame of the world, in mm
    mvpmsData/<object>PNG/Calib_Results.mat                    KK; Rc_<i> and Tc_<i> of view i
    mvpmsData/<object>PNG/view_<ii>/mask.png, Normal_gt.mat
    estNormal/<object>PNG_Normal_TIP19Li_view<i>.mat           photometric stereo, Normal_est

The names of meshes, normals and folders are those that public code uses. Not verified against a
copy of the data: the keys of the calibration, with camera = Rc world + Tc and pixels that count
from 0, the masks, the unit, and that the normals have OpenGL axes in the frame of the camera, as
those of DiLiGenT. If one of them were very different, the true normals would not be those of the
mesh: compare them. A lens distortion (kc) of the calibration is not read.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from rayrelief.cameras.pinhole import Pinhole
from rayrelief.conventions import FloatArray
from rayrelief.datasets.folder import read_scene
from rayrelief.datasets.masks import MASK_NAME
from rayrelief.errors import FileError
from rayrelief.io.matlab import read_mat
from rayrelief.io.mesh_reading import read_triangles
from rayrelief.mesh import Mesh
from rayrelief.scene import Scene

Normals = Literal["true_normals", "photometric_stereo"]
VIEWS = 20
MAPS = "mvpmsData"
ESTIMATES = "estNormal"


def read_view(
    root: str | os.PathLike[str], item: str, view: int, normals: Normals = "true_normals"
) -> Scene:
    """Read a view of an object, counted from 1, in the OpenCV frame of its camera; without depth.

    Parameters
    ----------
    root
        Folder that holds ``mvpmsData`` and ``estNormal``.
    item
        Name of the object, such as ``"bear"``.
    normals
        Those of the mesh, or those that photometric stereo estimated.
    """
    folder = object_folder(root, item)
    here = folder / f"view_{view:02d}"
    path = here / "Normal_gt.mat"
    if normals == "photometric_stereo":
        path = Path(root) / ESTIMATES / f"{item}PNG_Normal_TIP19Li_view{view}.mat"
    scene = read_scene(path, convention="opengl", camera=read_camera(folder), mask=here / MASK_NAME)
    return replace(scene, name=f"{item} view {view}")


def read_mesh(root: str | os.PathLike[str], item: str, view: int) -> Mesh:
    """Read the mesh of an object, in the OpenCV frame of the camera of a view."""
    folder = object_folder(root, item)
    rotation, translation = read_pose(folder, view)
    path = folder / "mesh_Gt.ply"
    mesh = read_triangles(path)
    if not len(mesh.faces):
        raise FileError(
            f"{path} has no faces",
            expected="a mesh of triangles",
            remedy="Check that this is the mesh, not its points",
        )
    return replace(mesh, vertices=mesh.vertices @ rotation.T + translation)


def object_folder(root: str | os.PathLike[str], item: str) -> Path:
    """Folder of one object."""
    return Path(root) / MAPS / f"{item}PNG"


def views_of(folder: Path) -> list[int]:
    """Numbers of the views that the folder of an object holds."""
    names = [path.name for path in folder.glob("view_[0-9][0-9]")]
    if not names:
        raise FileError(
            f"{folder} has no view",
            expected=f"folders view_01 to view_{VIEWS}",
            remedy="Leave this object out, or download it again",
        )
    return sorted(int(name.removeprefix("view_")) for name in names)


def read_camera(folder: Path) -> Pinhole:
    """Camera of all views of an object."""
    path = folder / "Calib_Results.mat"
    matrix = read_array(path, "KK", (3, 3))
    if matrix[0, 1] != 0.0:
        raise FileError(
            f"{path} has the skew {matrix[0, 1]:g}",
            expected="0, as for a pinhole with rectangular pixels",
            remedy="Check that KK is a camera matrix",
        )
    return Pinhole(matrix[0, 0], matrix[1, 1], matrix[0, 2], matrix[1, 2])


def read_pose(folder: Path, view: int) -> tuple[FloatArray, FloatArray]:
    """Rotation (3, 3) and translation (3,) from the frame of the world to that of a view."""
    path = folder / "Calib_Results.mat"
    rotation = read_array(path, f"Rc_{view}", (3, 3))
    translation = read_array(path, f"Tc_{view}", (3, 1))
    if not np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-6):
        raise FileError(
            f"Rc_{view} of {path} is not a rotation",
            expected="columns at right angles, of unit length",
            remedy="Download the file again",
        )
    return rotation, translation[:, 0]


def read_array(path: Path, key: str, shape: tuple[int, ...]) -> FloatArray:
    """Finite numbers of a known name and shape from a MATLAB file."""
    array = read_mat(path, (key,))
    if array.shape != shape or not np.isfinite(array).all():
        raise FileError(
            f"{key} of {path} has the shape {array.shape}",
            expected=f"finite numbers of the shape {shape}",
            remedy="Check that this is the calibration of DiLiGenT-MV",
        )
    return array.astype(np.float64)
