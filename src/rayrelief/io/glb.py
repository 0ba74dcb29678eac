"""Meshes as glTF in one piece, .glb."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import from_opencv
from rayrelief.errors import InputError
from rayrelief.io.images import encode_png
from rayrelief.memory import in_words
from rayrelief.mesh import Mesh
from rayrelief.mesh.seams import without_seam

MAGIC, VERSION, JSON, BINARY = b"glTF", 2, b"JSON", b"BIN\0"
FLOAT, UNSIGNED = 5126, 5125  # types of numbers
LARGEST = 2**32 - 1  # bytes of a file
VERTICES, INDICES = 34962, 34963  # what a graphics chip reads them as
MATT = {"metallicFactor": 0.0, "roughnessFactor": 1.0}


def glb_of(mesh: Mesh) -> bytes:
    """File of a mesh in the OpenCV camera frame: y up, z towards the viewer, its picture inside.

    Written here since a page waits for it: to import trimesh takes longer than all of the rest.
    """
    mesh = without_seam(mesh)
    file = _File()
    vertices = from_opencv(mesh.vertices, "opengl").astype("<f4")
    attributes = {"POSITION": file.array(vertices, "VEC3", VERTICES, bounds=True)}
    if mesh.normals is not None:
        normals = from_opencv(mesh.normals, "opengl").astype("<f4")
        normals[np.isnan(normals[:, 0])] = 0.0, 0.0, 1.0  # vertices without a face
        attributes["NORMAL"] = file.array(normals, "VEC3", VERTICES)
    material: dict[str, Any] = {"pbrMetallicRoughness": MATT}
    pictures: dict[str, Any] = {}
    if mesh.texture is not None:
        places = mesh.texture.places.astype("<f4")
        attributes["TEXCOORD_0"] = file.array(places, "VEC2", VERTICES)
        picture = {"bufferView": file.view(encode_png(mesh.texture.picture))}
        pictures = {"images": [picture | {"mimeType": "image/png"}], "textures": [{"source": 0}]}
        material = {"pbrMetallicRoughness": MATT | {"baseColorTexture": {"index": 0}}}
    indices = file.array(mesh.faces.astype("<u4").reshape(-1), "SCALAR", INDICES)
    part = {"attributes": attributes, "indices": indices, "material": 0}
    return file.finished(
        {
            "asset": {"version": "2.0", "generator": "rayrelief"},
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            "nodes": [{"mesh": 0}],
            "meshes": [{"primitives": [part]}],
            "materials": [material],
            **pictures,
        }
    )


class _File:
    """A file that is put together: its data, and what describes them."""

    def __init__(self) -> None:
        self._data: list[bytes] = []
        self._views: list[dict[str, Any]] = []
        self._arrays: list[dict[str, Any]] = []

    def view(self, data: bytes, **target: int) -> int:
        """Add data; their number."""
        start = sum(map(len, self._data))
        self._views.append({"buffer": 0, "byteOffset": start, "byteLength": len(data), **target})
        self._data.append(_padded(data, b"\0"))
        return len(self._views) - 1

    def array(
        self, values: npt.NDArray[Any], kind: str, target: int, *, bounds: bool = False
    ) -> int:
        """Add numbers (N,) or (N, n); their number."""
        self._arrays.append(
            {
                "bufferView": self.view(values.tobytes(), target=target),
                "componentType": FLOAT if values.dtype.kind == "f" else UNSIGNED,
                "count": len(values),
                "type": kind,
            }
        )
        if bounds:
            low, high = values.min(axis=0).tolist(), values.max(axis=0).tolist()
            self._arrays[-1] |= {"min": low, "max": high}
        return len(self._arrays) - 1

    def finished(self, tree: dict[str, Any]) -> bytes:
        """Bytes of the whole file; InputError if it says in 32 bits no more how long it is."""
        size = sum(map(len, self._data))
        tree |= {"accessors": self._arrays, "bufferViews": self._views}
        tree |= {"buffers": [{"byteLength": size}]}
        head = _padded(json.dumps(tree).encode("ascii"), b" ")
        length = 12 + 8 + len(head) + 8 + size
        if length > LARGEST:
            raise InputError(
                f"the mesh takes {in_words(length)} as .glb",
                expected=f"at most {in_words(LARGEST)}, which the format can hold",
                remedy="Write it to .ply, or with fewer faces (--max-error)",
            )
        chunks = (
            struct.pack("<4sII", MAGIC, VERSION, length),
            *(struct.pack("<I4s", len(head), JSON), head),
            *(struct.pack("<I4s", size, BINARY), *self._data),
        )
        return b"".join(chunks)


def _padded(data: bytes, filling: bytes) -> bytes:
    """Data that end at a multiple of four bytes."""
    return data + -len(data) % 4 * filling
