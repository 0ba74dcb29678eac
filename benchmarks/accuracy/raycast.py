"""Ray casting of triangle meshes: embree finds the triangle, double precision says where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import rayrelief
from benchmarks.report import UnavailableError
from rayrelief.cameras.base import Camera, depth_kind
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.errors import CameraError, InputError
from rayrelief.mesh import Mesh

# How far outside of its triangle, in barycentric coordinates, a hit may lie: embree works in single
# precision, and where a ray only grazes a plane, a tiny error moves their intersection far away.
SLACK = 0.01


@dataclass(frozen=True, eq=False)
class Hits:
    """Where n rays first meet a mesh.

    Attributes
    ----------
    triangles
        (n,) indices of faces, -1 where a ray meets nothing.
    distances
        (n,) in lengths of the ray; NaN where it meets nothing.
    normals
        (n, 3) unit normals of the faces, turned against the ray; NaN where it meets nothing.
    """

    triangles: npt.NDArray[np.int64]
    distances: FloatArray
    normals: FloatArray


def cast(
    mesh: Mesh, rays: FloatArray, origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
) -> Hits:
    """First hits of rays (n, 3) of any length that leave one point; a NaN ray meets nothing."""
    triangles = np.full(len(rays), -1, dtype=np.int64)
    distances = np.full(len(rays), np.nan)
    normals = np.full((len(rays), 3), np.nan)
    (valid,) = np.nonzero(np.isfinite(rays).all(axis=1))
    found = _first_triangles(mesh, rays[valid], origin)
    hit, chosen = valid[found >= 0], found[found >= 0]

    corners = mesh.vertices[mesh.faces[chosen]] - np.asarray(origin)
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    along = _dot(across, rays[hit])
    with np.errstate(divide="ignore", invalid="ignore"):
        t = _dot(across, corners[:, 0]) / along
        inside = _within(corners, across, t[:, None] * rays[hit]) & (t > 0)
        facing = across * (-np.sign(along) / np.sqrt(_dot(across, across)))[:, None]
    kept = hit[inside]
    triangles[kept], distances[kept], normals[kept] = chosen[inside], t[inside], facing[inside]
    return Hits(triangles, distances, normals)


def render(
    mesh: Mesh, camera: Camera, height: int, width: int, name: str = "mesh"
) -> rayrelief.Scene:
    """Face normals and depth of a mesh, both in the OpenCV camera frame, seen by a central camera.

    The depth is measured along ``camera.rays(height, width)``; the mask is True where a ray meets
    the mesh.
    """
    if not camera.central:
        raise CameraError(
            f"{type(camera).__name__} has no single centre",
            expected="a central camera",
            remedy="Render through one of these",
        )
    rays = camera.rays(height, width)
    hits = cast(mesh, rays.reshape(-1, 3))
    return rayrelief.Scene(
        normals=hits.normals.reshape(height, width, 3),
        mask=(hits.triangles >= 0).reshape(height, width),
        camera=camera,
        depth=hits.distances.reshape(height, width),
        depth_kind=depth_kind(rays),
        name=name,
    )


def _first_triangles(
    mesh: Mesh, rays: FloatArray, origin: tuple[float, float, float]
) -> npt.NDArray[np.int64]:
    """Index of the first face that each ray meets, by embree; -1 for none."""
    if len(mesh.faces) == 0:
        raise InputError(
            "the mesh has no faces", expected="triangles", remedy="Check that it is no point cloud"
        )
    try:
        from trimesh import Trimesh
        from trimesh.ray.ray_pyembree import RayMeshIntersector
    except ModuleNotFoundError as error:
        raise UnavailableError(f"{error.name} is not there: pip install embreex") from error
    if len(rays) == 0:
        return np.empty(0, dtype=np.int64)
    embree = RayMeshIntersector(Trimesh(mesh.vertices, mesh.faces, process=False))
    origins = np.broadcast_to(np.asarray(origin), rays.shape)
    found: npt.NDArray[np.int64] = np.asarray(embree.intersects_first(origins, rays), np.int64)
    return found


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
