"""Triangles from .ply, .obj, .glb and .stl files: of the file alone, whatever it refers to."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np

from rayrelief.errors import FileError
from rayrelief.io.sources import BROKEN, check_room, read_bytes
from rayrelief.mesh import Mesh

ROOM = 20  # bytes of memory for a byte of the file, at most


def read_triangles(path: Path) -> Mesh:
    """Triangles of a file, in its own frame and unit; none of points alone."""
    import trimesh

    data = read_bytes(path)
    check_room(path, ROOM * len(data))
    try:
        with np.errstate(all="ignore"):
            mesh = trimesh.load(
                BytesIO(data), file_type=path.suffix[1:].lower(), force="mesh", process=False
            )
            vertices = np.asarray(mesh.vertices, dtype=np.float64)
            faces = np.asarray(mesh.faces, dtype=np.int64).reshape(-1, 3)
        if vertices.shape[1:] != (3,):
            raise ValueError(f"vertices of the shape {vertices.shape}")
    except BROKEN as error:
        raise FileError(
            f"{path} is damaged or truncated ({error})",
            expected=f"a complete {path.suffix[1:].upper()} file",
            remedy="Write or download it again",
        ) from error
    least, most = faces.min(initial=0), faces.max(initial=-1)
    if least < 0 or most >= len(vertices) or not np.isfinite(vertices).all():
        raise FileError(
            f"{path} has triangles of vertices that it does not hold, or that are not finite",
            expected="finite vertices, and triangles of them",
            remedy="Write or download it again",
        )
    return Mesh(vertices, faces.astype(np.int32))
