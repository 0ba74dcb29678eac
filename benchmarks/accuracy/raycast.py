"""Maps of triangle meshes: embree finds the triangle, double precision says where."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import rayrelief
from benchmarks.report import UnavailableError
from rayrelief.cameras.base import depth_kind
from rayrelief.conventions import BoolArray, FloatArray

# How far outside of its triangle, in barycentric coordinates, a hit may lie: embree works in single
# precision, and where a ray only grazes a plane, a tiny error moves their intersection far away.
SLACK = 0.01


def render(
    mesh: rayrelief.Mesh, camera: rayrelief.Camera, height: int, width: int, name: str = "mesh"
) -> rayrelief.Scene:
    """Face normals and depth of a mesh, both in the OpenCV camera frame, seen by a central camera.

    The depth is measured along ``camera.rays(height, width)``; the mask is True where a ray meets
    the mesh.
    """
    image = camera.rays(height, width)
    rays = image.reshape(-1, 3)
    depth = np.full(len(rays), np.nan)
    normals = np.full((len(rays), 3), np.nan)
    (valid,) = np.nonzero(np.isfinite(rays).all(axis=1))
    found = _first_triangles(mesh, rays[valid])
    hit, chosen = valid[found >= 0], found[found >= 0]

    corners = mesh.vertices[mesh.faces[chosen]]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    along = _dot(across, rays[hit])
    with np.errstate(divide="ignore", invalid="ignore"):
        t = _dot(across, corners[:, 0]) / along
        inside = _within(corners, across, t[:, None] * rays[hit]) & (t > 0)
        facing = across * (-np.sign(along) / np.sqrt(_dot(across, across)))[:, None]
    depth[hit[inside]], normals[hit[inside]] = t[inside], facing[inside]
    return rayrelief.Scene(
        normals=normals.reshape(height, width, 3),
        mask=np.isfinite(depth).reshape(height, width),
        camera=camera,
        depth=depth.reshape(height, width),
        depth_kind=depth_kind(image),
        name=name,
    )


def _first_triangles(mesh: rayrelief.Mesh, rays: FloatArray) -> npt.NDArray[np.int64]:
    """Index of the first face that each ray meets, by embree; -1 for none."""
    try:
        from trimesh import Trimesh
        from trimesh.ray.ray_pyembree import RayMeshIntersector
    except ModuleNotFoundError as error:
        raise UnavailableError(f"{error.name} is not there: pip install embreex") from error
    embree = RayMeshIntersector(Trimesh(mesh.vertices, mesh.faces, process=False))
    found = embree.intersects_first(np.zeros_like(rays), rays)
    return np.asarray(found, np.int64)


def _within(corners: FloatArray, across: FloatArray, points: FloatArray) -> BoolArray:
    """Whether points (n, 3) in the planes of triangles (n, 3, 3) lie in them, but for the slack."""
    inside = np.ones(len(points), dtype=np.bool_)
    for first, second in ((0, 1), (1, 2), (2, 0)):
        a, b = corners[:, first], corners[:, second]
        inside &= _dot(np.cross(b - a, points - a), across) >= -SLACK * _dot(across, across)
    return inside


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    product: FloatArray = np.einsum("ni,ni->n", a, b)
    return product
