"""Triangles from .ply, .obj, .glb and .stl files: of the file alone, whatever it refers to."""

from __future__ import annotations

import struct
from collections import Counter
from io import BytesIO
from pathlib import Path

import numpy as np

from rayrelief.errors import FileError
from rayrelief.io.sources import (
    BROKEN,
    check_entries,
    check_room,
    damaged,
    parse_json,
    read_bytes,
)
from rayrelief.mesh import Mesh

ROOM = 20  # bytes of memory for a byte of the file, at most
MOST_MESHES = 1000  # in a file: ours hold one
MARKS = {".obj": b"usemtl", ".stl": b"endsolid"}  # of a mesh in files of text
MOST_TIMES = 16  # that the parts of a .glb file may be as large as the file: ours are so once
COMPONENTS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}


def read_triangles(path: Path) -> Mesh:
    """Triangles of a file, in its own frame and unit; none of points alone."""
    import trimesh

    data = read_bytes(path)
    try:
        kind = path.suffix.lower()
        used = _bytes_used(data) if kind == ".glb" else 0
        check_entries(data.count(MARKS[kind]) if kind in MARKS else 0, "meshes", MOST_MESHES)
        check_room(path, ROOM * max(used, len(data)))
        with np.errstate(all="ignore"):
            mesh = trimesh.load(BytesIO(data), file_type=kind[1:], force="mesh", process=False)
            vertices = np.asarray(mesh.vertices, dtype=np.float64)
            faces = np.asarray(mesh.faces, dtype=np.int64).reshape(-1, 3)
        if vertices.shape[1:] != (3,):
            raise ValueError(f"vertices of the shape {vertices.shape}")
    except BROKEN as error:
        raise damaged(path, error) from error
    least, most = faces.min(initial=0), faces.max(initial=-1)
    if least < 0 or most >= len(vertices) or not np.isfinite(vertices).all():
        raise FileError(
            f"{path} has triangles of vertices that it does not hold, or that are not finite",
            expected="finite vertices, and triangles of them",
            remedy="Write or download it again",
        )
    if kind == ".stl":  # whose triangles share no vertices
        vertices, number = np.unique(vertices, axis=0, return_inverse=True)
        faces = number.ravel()[faces]
    return Mesh(vertices, faces.astype(np.int32))


def _bytes_used(data: bytes) -> int:
    """Bytes of the parts of a .glb file; ValueError if the file is much smaller.

    Each view, each accessor and each mesh of a node is a copy, however often they share their data.
    """
    (length,) = struct.unpack_from("<I", data, 12)
    tree = parse_json(data[20 : 20 + length])
    views, accessors, meshes, nodes, scenes = (
        tree.get(name, []) for name in ("bufferViews", "accessors", "meshes", "nodes", "scenes")
    )
    check_entries(max(map(len, (nodes, meshes, accessors, views))), "meshes", MOST_MESHES)
    lengths = [view["byteLength"] for view in views]
    sizes = [4 * each["count"] * COMPONENTS[each["type"]] for each in accessors]
    if not all(isinstance(each, int) and each >= 0 for each in (*lengths, *sizes)):
        raise ValueError("sizes of its parts that are no counts")
    placed = Counter(
        number
        for holder, key in ((nodes, "children"), (scenes, "nodes"))
        for each in holder
        for number in each.get(key, [])
    )
    copies = Counter[int]()
    for number, node in enumerate(nodes):
        copies[node.get("mesh", -1)] += placed[number]
    placed_bytes = 0
    for number, mesh in enumerate(meshes):
        for part in mesh["primitives"]:
            used = [*part["attributes"].values(), part.get("indices")]
            size = sum(sizes[each] for each in used if each is not None)
            placed_bytes += size * max(1, copies[number])
    most = max(sum(lengths), sum(sizes), placed_bytes)
    if most > MOST_TIMES * len(data):
        raise ValueError(f"its parts are {most / len(data):,.0f} times as large as the file")
    return int(most)
