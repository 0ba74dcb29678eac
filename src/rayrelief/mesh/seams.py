"""Seams: where a picture that goes all around the camera ends, and begins again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rayrelief.mesh.base import Mesh
from rayrelief.mesh.texture import Texture


def without_seam(mesh: Mesh) -> Mesh:
    """Mesh with a texture whose faces over the seam have vertices of their own, beyond its end.

    Between a vertex at the end of the picture and one at its beginning a viewer would squeeze all
    of it. Pictures repeat: beyond the end is the beginning. A face over more than half of a picture
    crosses its seam, unless the picture is known to have none: large faces are so wide, too.
    """
    if mesh.texture is None or mesh.wraps is False:
        return mesh
    places = mesh.texture.places
    across = places[mesh.faces, 0]
    over = (np.ptp(across, axis=1) > 0.5)[:, None] & (across < 0.5)
    if not over.any():
        return mesh
    first, number = np.unique(mesh.faces[over], return_inverse=True)
    faces = mesh.faces.copy()
    faces[over] = len(places) + number
    both = np.concatenate((np.arange(len(places)), first))
    texture = Texture(mesh.texture.picture, places[both])
    texture.places[len(places) :, 0] += 1
    return replace(
        mesh,
        vertices=mesh.vertices[both],
        faces=faces,
        normals=None if mesh.normals is None else mesh.normals[both],
        pixels=None if mesh.pixels is None else mesh.pixels[both],
        texture=texture,
    )
