"""rayrelief: depth and a 3D surface from a normal map and any camera.

Everything public lives here and loads at use: importing the package imports nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "AdaptiveMidpoint": "rayrelief.formulation.ray_plane",
    "BiNI": "rayrelief.methods.recipes",
    "BrownConrady": "rayrelief.cameras.brown_conrady",
    "Camera": "rayrelief.cameras.base",
    "ConjugateGradient": "rayrelief.solvers.conjugate_gradient",
    "Integration": "rayrelief.result",
    "IntegrationWarning": "rayrelief.errors",
    "Mesh": "rayrelief.mesh",
    "Multigrid": "rayrelief.solvers.multigrid",
    "Orthographic": "rayrelief.cameras.orthographic",
    "Pinhole": "rayrelief.cameras.pinhole",
    "Preprocessing": "rayrelief.preprocess",
    "RayMap": "rayrelief.cameras.ray_map",
    "RayPlane": "rayrelief.methods.recipes",
    "RayreliefError": "rayrelief.errors",
    "Scene": "rayrelief.scene",
    "Smooth": "rayrelief.methods.recipes",
    "integrate": "rayrelief.integration",
    "read_scene": "rayrelief.datasets.folder",
    "to_opencv": "rayrelief.conventions",
    "write_depth": "rayrelief.io.depth",
    "write_mesh": "rayrelief.io.meshes",
}

if TYPE_CHECKING:
    from rayrelief.cameras.base import Camera
    from rayrelief.cameras.brown_conrady import BrownConrady
    from rayrelief.cameras.orthographic import Orthographic
    from rayrelief.cameras.pinhole import Pinhole
    from rayrelief.cameras.ray_map import RayMap
    from rayrelief.conventions import to_opencv
    from rayrelief.datasets.folder import read_scene
    from rayrelief.errors import IntegrationWarning, RayreliefError
    from rayrelief.formulation.ray_plane import AdaptiveMidpoint
    from rayrelief.integration import integrate
    from rayrelief.io.depth import write_depth
    from rayrelief.io.meshes import write_mesh
    from rayrelief.mesh import Mesh
    from rayrelief.methods.recipes import BiNI, RayPlane, Smooth
    from rayrelief.preprocess import Preprocessing
    from rayrelief.result import Integration
    from rayrelief.scene import Scene
    from rayrelief.solvers.conjugate_gradient import ConjugateGradient
    from rayrelief.solvers.multigrid import Multigrid

__all__ = [
    "AdaptiveMidpoint",
    "BiNI",
    "BrownConrady",
    "Camera",
    "ConjugateGradient",
    "Integration",
    "IntegrationWarning",
    "Mesh",
    "Multigrid",
    "Orthographic",
    "Pinhole",
    "Preprocessing",
    "RayMap",
    "RayPlane",
    "RayreliefError",
    "Scene",
    "Smooth",
    "__version__",
    "integrate",
    "read_scene",
    "to_opencv",
    "write_depth",
    "write_mesh",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rayrelief' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
