"""Meshes to .ply, .obj, .glb and .stl files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from rayrelief.conventions import from_opencv
from rayrelief.errors import FileError, InputError
from rayrelief.io.atomic import atomic_write
from rayrelief.mesh import Mesh

SUFFIXES = (".ply", ".obj", ".glb", ".stl")
NEED_FACES = (".glb", ".stl")


def write_mesh(path: str | os.PathLike[str], mesh: Mesh) -> None:
    """Write a mesh in the OpenCV camera frame; a .glb file is in the OpenGL frame of glTF.

    glTF fixes y up and z towards the viewer, so y and z change sign there and the surface stands
    upright in viewers. The other formats fix no axes and keep x right, y down, z forward. All
    formats store 32-bit floats or their equal in text, and all but .stl the vertex normals.

    Parameters
    ----------
    path
        The suffix chooses the format: .ply (binary), .obj, .glb or .stl (binary).
    mesh
        A mesh without faces is written as points to .ply and .obj, and refused for the others.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    check_mesh(path, suffix, mesh)
    exported = to_trimesh(mesh, "opengl" if suffix == ".glb" else "opencv").export(
        file_type=suffix[1:]
    )
    data = exported.encode("ascii") if isinstance(exported, str) else exported
    with atomic_write(path) as temporary:
        temporary.write_bytes(data)


def check_mesh(path: Path, suffix: str, mesh: Mesh) -> None:
    """Raise unless the mesh can be written to a file with this suffix."""
    if suffix not in SUFFIXES:
        raise FileError(
            f"{path} is to hold a mesh",
            expected="the suffix " + ", ".join(SUFFIXES),
            remedy="Choose one of these formats",
        )
    if len(mesh.vertices) == 0:
        raise InputError(
            "the mesh has no vertices",
            expected="at least one",
            remedy="Check that the depth is finite somewhere inside the mask",
        )
    if len(mesh.faces) == 0 and suffix in NEED_FACES:
        raise InputError(
            f"the mesh has no faces, which {suffix} cannot store",
            expected="at least one triangle",
            remedy="Write the points to .ply or .obj, or check the mask",
        )
    if not np.isfinite(mesh.vertices).all():
        raise InputError(
            "the mesh has vertices that are not finite",
            expected="finite coordinates",
            remedy="Leave pixels without depth out of the mesh",
        )


def to_trimesh(mesh: Mesh, convention: str) -> Any:
    """Turn a mesh (or its points alone) into an object of trimesh, in the axes of a convention."""
    import trimesh

    vertices = from_opencv(mesh.vertices, convention)
    if len(mesh.faces) == 0:
        return trimesh.PointCloud(vertices)
    normals = None if mesh.normals is None else from_opencv(mesh.normals, convention)
    return trimesh.Trimesh(vertices, mesh.faces, vertex_normals=normals, process=False)
