"""Quads: the two triangles between four neighbouring pixels as one face."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rayrelief.mesh.base import Faces, Mesh

Quads = npt.NDArray[np.int32]


def quads_of(mesh: Mesh) -> tuple[Quads, Faces]:
    """Quads (Q, 4) of a mesh of pixels, counter-clockwise seen from the camera, and what is left.

    What is left are triangles (T, 3) without a partner.
    """
    pixels = mesh.known_pixels().astype(np.int64)
    last = int(pixels[:, 0].max(initial=0))
    u, v = pixels[mesh.faces].transpose(2, 0, 1)
    wide, high = np.ptp(u, axis=1), np.ptp(v, axis=1)
    around = (wide == last) & (wide > 1) & (mesh.wraps is not False)  # from there to the first
    left = np.where(around, last, u.min(axis=1))
    block = v.min(axis=1) * (last + 1) + left
    block[(high != 1) | ~(around | (wide == 1))] = -1  # of vertices that were moved or joined
    order = np.argsort(block, kind="stable")
    starts, counts = np.unique(block[order], return_index=True, return_counts=True)[1:]
    starts = starts[(counts == 2) & (block[order[starts]] >= 0)]
    first, second = mesh.faces[order[starts]], mesh.faces[order[starts + 1]]
    joined = (first[:, :, None] == second[:, None]).sum(axis=(1, 2)) == 2
    alone = np.ones(len(block), dtype=np.bool_)
    alone[order[starts[joined]]] = alone[order[starts[joined] + 1]] = False
    return _joined(first[joined], second[joined]), mesh.faces[alone]


def _joined(first: Faces, second: Faces) -> Quads:
    """Quads (Q, 4) of triangles (Q, 3) that share an edge."""
    shared = (first[:, :, None] == second[:, None]).any(axis=2)
    own = (second[:, :, None] == first[:, None]).any(axis=2).argmin(axis=1)
    start = shared.argmin(axis=1)  # of the first triangle the corner that is not shared
    rows = np.arange(len(first))
    ring = [first[rows, (start + step) % 3] for step in range(3)]
    return np.stack((ring[0], ring[1], second[rows, own], ring[2]), axis=1)
