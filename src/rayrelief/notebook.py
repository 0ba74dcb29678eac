"""A result as notebooks show it: pictures beside its lines."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping

import numpy as np

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.io.images import encode_png
from rayrelief.mesh.normals import vertex_normals
from rayrelief.shading import Image, paint_clay, shade_from_camera
from rayrelief.surface import grid_faces

SIDE = 200  # pixels of the longer side of a picture, at most


def lit_surface(points: FloatArray, inside: BoolArray, *, central: bool) -> Image:
    """Picture of the surface of some of the pixels (h, w, 3) as the camera sees it."""
    no_cut = np.zeros(inside.shape, dtype=np.bool_)
    vertices = points[inside]
    normals = vertex_normals(vertices, grid_faces(vertices, inside, no_cut, no_cut))
    brightness = np.full(inside.shape, np.nan)
    brightness[inside] = shade_from_camera(vertices, normals, central=central)
    return paint_clay(brightness)


def card(text: str, pictures: Mapping[str, Image]) -> str:
    """HTML of a text and pictures by their titles, in one piece."""
    shown = "".join(
        f'<img title="{html.escape(title)}" alt="{html.escape(title)}" style="height: 10em; '
        f'margin-right: 0.5em" src="{data_url(encode_png(picture))}">'
        for title, picture in pictures.items()
    )
    lines = f'<pre style="margin: 0; line-height: 1.4">{html.escape(text)}</pre>'
    return f'<div style="display: flex; align-items: center">{shown}{lines}</div>'


def data_url(png: bytes) -> str:
    """A picture as an address that holds it."""
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")
