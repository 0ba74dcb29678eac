"""Meshes to .ply, .obj, .glb and .stl files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rayrelief.checks import as_array
from rayrelief.conventions import FloatArray, from_opencv
from rayrelief.errors import FileError, InputError
from rayrelief.io.atomic import atomic_write, write_whole
from rayrelief.io.glb import glb_of
from rayrelief.io.sources import as_path, check_suffix
from rayrelief.mesh import Mesh
from rayrelief.mesh.base import Faces
from rayrelief.mesh.quads import quads_of
from rayrelief.mesh.texture import Texture
from rayrelief.mesh.units import METRES

SUFFIXES = (".ply", ".obj", ".glb", ".stl")
NEED_FACES = (".glb", ".stl")
BLOCK = 1 << 16  # vertices or faces written at a time


def write_mesh(path: str | os.PathLike[str], mesh: Mesh, *, quads: bool = False) -> None:
    """Write a mesh in the OpenCV camera frame; a .glb file is in the OpenGL frame of glTF.

    glTF prescribes y up, z towards the viewer and metres, so y and z change sign there, the surface
    is upright in viewers, and a mesh whose unit is known is scaled. The other formats prescribe
    nothing and keep unit and axes: x right, y down, z forward; but a solid has its face up in all
    of them: x right, y up, z away from its base. All formats store 32-bit floats or the equivalent
    text, and all but .stl store vertex normals and colours: .glb the whole picture.

    Parameters
    ----------
    path
        The suffix chooses the format: .ply (binary), .obj, .glb or .stl (binary).
    mesh
        A mesh without faces is written as points to .ply and .obj, and refused for the others.
    quads
        Join the two triangles between four pixels to one face, in .obj.
    """
    path = as_path(path)
    suffix = path.suffix.lower()
    check_mesh(path, suffix, mesh)
    if quads and suffix != ".obj":  # readers of binary .ply expect faces of one kind
        raise FileError(
            f"{path} cannot store quads",
            expected="the suffix .obj",
            remedy="Choose it, or triangles",
        )
    frame = "opengl" if mesh.solid else "opencv"
    if suffix in (".ply", ".obj"):
        polygons = quads_of(mesh) if quads else (mesh.faces,)
        with atomic_write(path) as temporary:
            if suffix == ".ply":
                _write_ply(temporary, _turned(mesh, frame))
            else:
                _write_obj(temporary, _turned(mesh, frame), polygons)
        return
    if suffix == ".glb":
        in_metres = mesh if mesh.unit is None else mesh.scaled(METRES[mesh.unit], "m")
        write_whole(path, glb_of(in_metres))
        return
    import trimesh

    turned = _turned(mesh, frame)
    surface = trimesh.Trimesh(turned.vertices, turned.faces, process=False)
    write_whole(path, surface.export(file_type="stl"))


def check_mesh(path: Path, suffix: str, mesh: Mesh) -> None:
    """Raise unless the mesh can be written to a file with this suffix."""
    if not isinstance(mesh, Mesh):
        raise InputError(
            f"a mesh of the type {type(mesh).__name__}",
            expected="a rayrelief.Mesh",
            remedy="Write that of a result: write_mesh(path, result.mesh())",
        )
    check_suffix(path, SUFFIXES, "a mesh")
    _check_arrays(mesh)
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


def _check_arrays(mesh: Mesh) -> None:
    """Raise InputError unless the arrays of a mesh belong together."""
    vertices, faces = as_array(mesh.vertices, "vertices"), as_array(mesh.faces, "faces")
    shapes = {"vertices": vertices.shape, "faces": faces.shape}
    fits = vertices.ndim == faces.ndim == 2 and vertices.shape[1] == faces.shape[1] == 3
    fits = fits and faces.dtype.kind in "iu"
    if mesh.normals is not None:
        shapes["normals"] = as_array(mesh.normals, "normals").shape
        fits = fits and shapes["normals"] == vertices.shape
    if not fits or faces.min(initial=0) < 0 or faces.max(initial=-1) >= len(vertices):
        raise InputError(
            f"a mesh of {', '.join(f'{name} {shape}' for name, shape in shapes.items())}",
            expected="vertices (V, 3), faces (F, 3) of integers below V, and normals (V, 3)",
            remedy="Write that of a result: write_mesh(path, result.mesh())",
        )
    if mesh.texture is not None and not isinstance(mesh.texture, Texture):
        raise InputError(
            f"a texture of the type {type(mesh.texture).__name__}",
            expected="none, or a picture that mesh.coloured has put on it",
            remedy="Leave it out",
        )


def _turned(mesh: Mesh, convention: str) -> Mesh:
    """Mesh with vertices and normals in the axes of a convention."""
    if convention == "opencv":
        return mesh  # itself: a copy takes as much memory again
    normals = None if mesh.normals is None else from_opencv(mesh.normals, convention)
    return replace(mesh, vertices=from_opencv(mesh.vertices, convention), normals=normals)


def _write_ply(path: Path, mesh: Mesh) -> None:
    """Write binary PLY, a block at a time: no copy of the mesh is held."""
    columns: list[tuple[str, str, str, Any]] = [("float", "x y z", "<f4", mesh.vertices)]
    if (normals := _normals(mesh)) is not None:
        columns.append(("float", "nx ny nz", "<f4", normals))
    if mesh.texture is not None:
        columns.append(("uchar", "red green blue", "u1", mesh.texture.colours()))
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {len(mesh.vertices)}"]
    header += [f"property {kind} {name}" for kind, names, *_ in columns for name in names.split()]
    if len(mesh.faces):
        header += [f"element face {len(mesh.faces)}", "property list uchar int vertex_indices"]
    with path.open("wb") as file:
        file.write("\n".join((*header, "end_header", "")).encode("ascii"))
        for rows in _blocks(len(mesh.vertices)):
            block = np.empty(
                len(mesh.vertices[rows]), [(names, t, 3) for _, names, t, _ in columns]
            )
            for _, names, _, values in columns:
                block[names] = values[rows]
            file.write(block.tobytes())
        for rows in _blocks(len(mesh.faces)):
            triangles = np.empty(len(mesh.faces[rows]), [("corners", "u1"), ("index", "<i4", 3)])
            triangles["corners"], triangles["index"] = 3, mesh.faces[rows]
            file.write(triangles.tobytes())


def _write_obj(path: Path, mesh: Mesh, polygons: Iterable[Faces]) -> None:
    """Write Wavefront OBJ, a block at a time; its numbers are those of 32-bit floats.

    Not by trimesh's exporter, which holds the whole text, and keeps eight digits after the point,
    however small the unit. Colours follow the coordinates, as most programs read them.
    """
    normals = _normals(mesh)
    vectors: dict[str, list[Any]] = {"v": [mesh.vertices]}
    if mesh.texture is not None:
        vectors["v"].append(mesh.texture.colours() / np.float32(255))
    if normals is not None:
        vectors["vn"] = [normals]
    with path.open("w", encoding="ascii", newline="\n") as file:
        for name, columns in vectors.items():
            line = name + 3 * len(columns) * " %.9g" + "\n"
            for rows in _blocks(len(mesh.vertices)):
                block = np.hstack([values[rows] for values in columns]).astype("<f4").tolist()
                file.writelines(line % tuple(row) for row in block)
        corner = " %d" if normals is None else " %d//%d"
        for each in polygons:
            line = "f" + each.shape[1] * corner + "\n"
            for rows in _blocks(len(each)):
                numbers = np.repeat(each[rows].astype(np.int64) + 1, corner.count("%"), axis=1)
                file.writelines(line % tuple(row) for row in numbers.tolist())


def _normals(mesh: Mesh) -> FloatArray | None:
    """Normals of the vertices, where there are any: points that never had a face have none."""
    known = mesh.normals is not None and not np.isnan(mesh.normals).all()
    return mesh.normals if known else None


def _blocks(length: int) -> Iterator[slice]:
    return (slice(start, start + BLOCK) for start in range(0, length, BLOCK))
