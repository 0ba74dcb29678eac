"""A shaded picture of a mesh, seen slightly from one side: a small z-buffer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rayrelief.compiled import njit
from rayrelief.conventions import FloatArray
from rayrelief.mesh import Mesh
from rayrelief.mesh.normals import vertex_normals
from rayrelief.shading import shade

YAW_DEGREES = 25.0  # around the vertical axis; a positive angle looks from the right
SAMPLES = 2  # per side of a pixel, for smooth outlines

# The eye of the oblique view stands so many radii away: outside the surface, also where this goes
# all around the camera, and far enough for a mild perspective.
_EYE_DISTANCE = 4.0
_FRAME = 0.96  # part of the picture that the surface fills


def oblique_view(mesh: Mesh, height: int, width: int, yaw: float = YAW_DEGREES) -> FloatArray:
    """Brightness (SAMPLES * height, SAMPLES * width) of a mesh in the camera frame; NaN beside it.

    The eye turns around the vertical axis through the middle of the surface. Faces that it sees
    from behind are left out, so that one looks into rooms from outside.
    """
    pivot = np.median(mesh.vertices, axis=0)
    offsets = mesh.vertices - pivot
    radius = float(np.percentile(np.linalg.norm(offsets, axis=-1), 99))
    turn = _turn_around_y(math.radians(yaw))
    seen = offsets @ turn.T + (0.0, 0.0, _EYE_DISTANCE * radius)
    towards_eye = -seen / np.linalg.norm(seen, axis=-1, keepdims=True)
    brightness = shade(normals_of(mesh) @ turn.T, towards_eye)

    # 1 / z is linear across a triangle in the picture, z is not.
    nearness = np.divide(1.0, seen[:, 2], out=np.full(len(seen), np.nan), where=seen[:, 2] > 0)
    flat = seen[:, :2] * nearness[:, None]
    shape = (SAMPLES * height, SAMPLES * width)
    on_screen = np.column_stack((_framed(flat, *shape), nearness))
    image = np.full(shape, np.nan)
    _fill(on_screen, mesh.faces, brightness, np.zeros(shape), image)
    return image


def normals_of(mesh: Mesh) -> FloatArray:
    """Unit normals (V, 3) that a mesh brings along, or else those of its faces."""
    return vertex_normals(mesh.vertices, mesh.faces) if mesh.normals is None else mesh.normals


def _turn_around_y(angle: float) -> FloatArray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def _framed(flat: FloatArray, height: int, width: int) -> FloatArray:
    """Scale and shift plane points (N, 2) into the picture; far outliers may fall outside."""
    low, high = np.nanpercentile(flat, (1, 99), axis=0)
    reach = 0.3 * (high - low)
    low = np.maximum(np.nanmin(flat, axis=0), low - reach)
    high = np.minimum(np.nanmax(flat, axis=0), high + reach)
    size = np.array([width, height])
    scale = _FRAME * np.min(size / np.maximum(high - low, np.finfo(float).tiny))
    framed: FloatArray = (flat - (low + high) / 2) * scale + (size - 1) / 2
    return framed


@njit(cache=True, error_model="numpy")
def _fill(screen: Any, faces: Any, values: Any, nearest: Any, image: Any) -> None:
    """Draw triangles given by (x, y, nearness) at their corners; the nearest wins."""
    height, width = image.shape
    for f in range(len(faces)):
        i, j, k = faces[f]
        xi, yi, xj, yj, xk, yk = (
            screen[i, 0],
            screen[i, 1],
            screen[j, 0],
            screen[j, 1],
            screen[k, 0],
            screen[k, 1],
        )
        area = (xj - xi) * (yk - yi) - (xk - xi) * (yj - yi)
        if not area < 0.0:  # seen from behind, edge-on, or not a number
            continue
        left = int(max(0.0, math.ceil(min(xi, xj, xk))))
        right = int(min(width - 1.0, math.floor(max(xi, xj, xk))))
        top = int(max(0.0, math.ceil(min(yi, yj, yk))))
        bottom = int(min(height - 1.0, math.floor(max(yi, yj, yk))))
        for y in range(top, bottom + 1):
            for x in range(left, right + 1):
                wi = ((xj - x) * (yk - y) - (xk - x) * (yj - y)) / area
                wj = ((xk - x) * (yi - y) - (xi - x) * (yk - y)) / area
                wk = 1.0 - wi - wj
                # A little more than the triangle: rounding must not leave holes along its sides.
                if not min(wi, wj, wk) >= -1e-6:
                    continue
                near = wi * screen[i, 2] + wj * screen[j, 2] + wk * screen[k, 2]
                if near > nearest[y, x]:
                    nearest[y, x] = near
                    image[y, x] = wi * values[i] + wj * values[j] + wk * values[k]
