"""Faces that do not belong to a surface: shreds beside its jumps, and needles at its rims."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.compiled import njit
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.mesh.base import Faces
from rayrelief.mesh.normals import face_normal

# Degrees between a face and the normals of its pixels. Of the faces that join the two sides of a
# true jump 19 out of 20 differ by more (python -m benchmarks meshes), of others few but at creases.
SHRED = 20.0
NOISE = 3.0  # so many times as much as half of all faces differ, where normals are noisy
# A jump that a method has closed on a part of its way looks like a valley there: one that bends by
# so many degrees, or twice as much noise, and so many half-widths in pixels, near another jump.
BENT, DEEP, REACH = 7.0, 0.35, 6
# Both sides recede where things stand on one another, and jumps are rarer there: by how much the
# logarithm of the width falls with each pixel of it, up to one (methods/ordered/evidence.py). What
# comes nearer counts as level, which changes nothing.
FOOT = 1.5
# Beside a jump, where a body turns away, an interval of so many pixels to either side says nothing,
# and what is so far outside of one, three times what exact equations are off, is no surface.
WIDE, LOOSE = 3.0, 0.1
STEEPEST = 1e-3  # cosine: beyond it a plane is seen edge-on
# An edge that leads back to a rim by so many pixels, with an interval as wide to either side, is a
# needle: a normal seen edge-on says no more than that it may be long.
NEEDLE = 10.0
# A normal against which so many faces speak, each of which has the others of its pixels for it, and
# none for it, is wrong. If there are fewer than one in a thousand, they may as well be at jumps.
FACES, FEWEST = 4, 1e-3


def shreds(
    vertices: FloatArray,
    faces: Faces,
    normals: FloatArray,
    torn: BoolArray,
    near: BoolArray,
    rim: BoolArray,
    *,
    parallel: bool,
) -> BoolArray:
    """Which faces (F,) contradict their normals (V, 3), wrong ones apart, where there is a jump.

    A method may put the place of a jump a pixel off, or close it on a part of its way: then faces
    lead over it that are no surface, though no edge of theirs may jump itself. Needles count, too.

    Parameters
    ----------
    torn
        (V,) beside a jump: faces with such a vertex are left out where they contradict a normal,
        and less is enough where its interval does not bind them.
    near
        (V,) near a jump: where they lie in a valley, in which a jump can hide, less is enough.
    rim
        (V,) at the rim of a body, where a needle can end.
    parallel
        Whether the rays are parallel, or go through the origin.
    """
    differs = np.empty(len(faces), dtype=np.float32)
    hiding, loose, needle = np.empty((3, len(faces)), dtype=np.bool_)
    is_wrong = np.zeros(len(vertices), dtype=np.bool_)
    _judge(vertices, faces, normals, is_wrong, rim, parallel, differs, hiding, loose, needle)
    noise = NOISE * float(np.nanmedian(differs)) if len(faces) else 0.0
    most = max(SHRED, noise)
    _find_wrong(vertices, faces, normals, most, is_wrong)
    if np.count_nonzero(is_wrong) > FEWEST * len(vertices):
        _judge(vertices, faces, normals, is_wrong, rim, parallel, differs, hiding, loose, needle)
    bent = differs > max(BENT, 2 * noise)
    shred: BoolArray = (differs > most) | (loose & bent)
    shred[shred] = torn[faces[shred]].any(axis=1)
    hiding &= bent
    hiding[hiding] = near[faces[hiding]].any(axis=1)
    shred |= hiding
    shred |= needle
    return shred


def around(torn: BoolArray, *, wraps: bool = False) -> BoolArray:
    """Pixels (H, W) that are near to some, across and along; rows may wrap around."""
    near = torn.copy()
    for axis in (0, 1):
        image = np.moveaxis(near, axis, 0)  # a view: what is written there is in the result
        source = image.copy()
        for step in range(1, REACH + 1):
            image[step:] |= source[:-step]
            image[:-step] |= source[step:]
            if axis == 1 and wraps:
                image[:step] |= source[-step:]
                image[-step:] |= source[:step]
    return near


def rims(inside: BoolArray, torn: BoolArray) -> BoolArray:
    """Pixels (H, W) at the rim of a body: beside a jump, or beside one that is not inside."""
    beside = np.pad(inside, 1, constant_values=True)  # a body goes on beyond the image
    whole = beside[:-2, 1:-1] & beside[2:, 1:-1] & beside[1:-1, :-2] & beside[1:-1, 2:]
    return torn | (inside & ~whole)


def used_vertices(faces: Faces, vertex_count: int) -> tuple[npt.NDArray[np.int64], Faces]:
    """Vertices (U,) that have a face, and the faces with these numbered anew."""
    used = np.zeros(vertex_count, dtype=np.bool_)
    used[faces] = True
    number = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(used), number[faces]


@njit(cache=True, error_model="numpy")
def _judge(
    vertices: Any,
    faces: Any,
    normals: Any,
    is_wrong: Any,
    rim: Any,
    parallel: bool,
    degrees: Any,
    hiding: Any,
    loose: Any,
    needle: Any,
) -> None:
    """Largest angle between each face and the normals of its vertices, and what its edges say.

    Whether a jump can hide in a valley, whether an interval does not bind the face, and whether one
    lets it be a needle.
    """
    for f in range(len(faces)):
        a, b, c = faces[f]
        x, y, z = face_normal(vertices, a, b, c)
        length = math.sqrt(x * x + y * y + z * z)
        degrees[f], hiding[f], loose[f], needle[f] = 0.0, False, False, False
        if length == 0.0:  # what has no area contradicts nothing
            continue
        least = 1.0
        for vertex in (a, b, c):
            if is_wrong[vertex]:
                continue
            n = normals[vertex]
            least = min(least, (n[0] * x + n[1] * y + n[2] * z) / length)
        degrees[f] = math.degrees(math.acos(min(1.0, max(-1.0, least))))
        for i, j in ((a, b), (b, c), (c, a)):
            if is_wrong[i] or is_wrong[j]:
                continue
            behind_i, behind_j = _behind(vertices, normals, i, j, parallel)
            half_width = 0.5 * (behind_i + behind_j)
            outside = behind_i * behind_j < 0.0 and min(abs(behind_i), abs(behind_j)) > LOOSE
            if outside or half_width < -WIDE:
                loose[f] = True
            if abs(half_width) > NEEDLE:
                back = _leads_back(vertices, i, j, parallel)
                needle[f] |= (back > NEEDLE and rim[j]) or (back < -NEEDLE and rim[i])
            if half_width > DEEP and not hiding[f]:
                recession = _slower_recession(vertices, normals, i, j, parallel)
                foot = math.exp(-FOOT * min(max(recession, 0.0), 1.0))
                hiding[f] = half_width * foot > DEEP


@njit(cache=True)
def _find_wrong(vertices: Any, faces: Any, normals: Any, most: float, is_wrong: Any) -> None:
    least = math.cos(math.radians(most))
    speak_against = np.zeros(len(vertices), dtype=np.int32)
    has_one_for = np.zeros(len(vertices), dtype=np.bool_)
    for f in range(len(faces)):
        a, b, c = faces[f]
        x, y, z = face_normal(vertices, a, b, c)
        length = math.sqrt(x * x + y * y + z * z)
        contradicted, one = 0, 0
        for vertex in (a, b, c):
            n = normals[vertex]
            if n[0] * x + n[1] * y + n[2] * z < least * length:
                contradicted, one = contradicted + 1, vertex
            else:
                has_one_for[vertex] = True
        if contradicted == 1:
            speak_against[one] += 1
    for vertex in range(len(vertices)):
        is_wrong[vertex] = speak_against[vertex] >= FACES and not has_one_for[vertex]


@njit(inline="always", error_model="numpy")
def _behind(vertices: Any, normals: Any, i: int, j: int, parallel: bool) -> Any:
    """By how many pixels the plane at j lies behind i, along its ray, and that at i behind j.

    Half of their sum is the half-width of formulation.intervals, which does not depend on a jump
    between them. If one is behind and one in front, both points lie outside of the interval.
    """
    p, q, n, m = vertices[i], vertices[j], normals[i], normals[j]
    x, y, z = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    far = 1.0 if parallel else math.sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2])
    other = 1.0 if parallel else math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2])
    if parallel:
        along, facing_i, facing_j = z, n[2], m[2]
    else:
        along = (p[0] * x + p[1] * y + p[2] * z) / far
        facing_i = (n[0] * q[0] + n[1] * q[1] + n[2] * q[2]) / other
        facing_j = (m[0] * p[0] + m[1] * p[1] + m[2] * p[2]) / far
    behind_j = -(n[0] * x + n[1] * y + n[2] * z) / min(facing_i, -STEEPEST)
    behind_i = (m[0] * x + m[1] * y + m[2] * z) / min(facing_j, -STEEPEST)
    beside = math.sqrt(max(x * x + y * y + z * z - along * along, 0.0))
    if beside == 0.0:
        return 0.0, 0.0
    return behind_i / beside, behind_j / beside


@njit(inline="always", error_model="numpy")
def _leads_back(vertices: Any, i: int, j: int, parallel: bool) -> Any:
    """How far j is behind i along the ray of i, in the distance between the two across it."""
    p, q = vertices[i], vertices[j]
    x, y, z = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    along = z
    if not parallel:
        far = math.sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2])
        along = (p[0] * x + p[1] * y + p[2] * z) / far
    return along / math.sqrt(max(x * x + y * y + z * z - along * along, 0.0))


@njit(inline="always", error_model="numpy")
def _slower_recession(vertices: Any, normals: Any, i: int, j: int, parallel: bool) -> Any:
    """How far the planes at i and j recede towards one another, the slower one of them.

    In pixels per pixel, as in formulation.intervals, whatever the depths of i and j.
    """
    p, q, n, m = vertices[i], vertices[j], normals[i], normals[j]
    if parallel:
        x, y, z = q[0] - p[0], q[1] - p[1], 0.0
        facing_i, facing_j = n[2], m[2]
    else:
        far = math.sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2])
        other = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2])
        x, y, z = q[0] / other - p[0] / far, q[1] / other - p[1] / far, q[2] / other - p[2] / far
        facing_i = (n[0] * p[0] + n[1] * p[1] + n[2] * p[2]) / far
        facing_j = (m[0] * q[0] + m[1] * q[1] + m[2] * q[2]) / other
    step = math.sqrt(x * x + y * y + z * z)
    if step == 0.0:
        return 0.0
    facing_i = facing_i if abs(facing_i) > STEEPEST else -STEEPEST
    facing_j = facing_j if abs(facing_j) > STEEPEST else -STEEPEST
    towards_j = -(n[0] * x + n[1] * y + n[2] * z) / facing_i
    towards_i = (m[0] * x + m[1] * y + m[2] * z) / facing_j
    return min(towards_i, towards_j) / step
