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
    "Cahvor": "rayrelief.cameras.cahvor",
    "Camera": "rayrelief.cameras.base",
    "ConjugateGradient": "rayrelief.solvers.conjugate_gradient",
    "Cylindrical": "rayrelief.cameras.cylindrical",
    "Division": "rayrelief.cameras.division",
    "DoubleSphere": "rayrelief.cameras.double_sphere",
    "Equidistant": "rayrelief.cameras.fisheye",
    "Equirectangular": "rayrelief.cameras.equirectangular",
    "Equisolid": "rayrelief.cameras.fisheye",
    "ExtendedUnified": "rayrelief.cameras.extended_unified",
    "FieldOfView": "rayrelief.cameras.field_of_view",
    "Integration": "rayrelief.result",
    "IntegrationWarning": "rayrelief.errors",
    "KannalaBrandt": "rayrelief.cameras.kannala_brandt",
    "Mesh": "rayrelief.mesh",
    "MetashapeEquidistant": "rayrelief.cameras.metashape_lens",
    "MetashapeEquisolid": "rayrelief.cameras.metashape_lens",
    "MetashapeFrame": "rayrelief.cameras.metashape_lens",
    "Multigrid": "rayrelief.solvers.multigrid",
    "Orthographic": "rayrelief.cameras.orthographic",
    "Pinhole": "rayrelief.cameras.pinhole",
    "PolynomialFisheye": "rayrelief.cameras.polynomial_fisheye",
    "Preprocessing": "rayrelief.preprocess",
    "RadTanThinPrismFisheye": "rayrelief.cameras.thin_prism_fisheye",
    "RayMap": "rayrelief.cameras.ray_map",
    "RayPlane": "rayrelief.methods.recipes",
    "RayreliefError": "rayrelief.errors",
    "Scene": "rayrelief.scene",
    "Smooth": "rayrelief.methods.recipes",
    "Stereographic": "rayrelief.cameras.fisheye",
    "ThinPrismFisheye": "rayrelief.cameras.thin_prism_fisheye",
    "TransverseEquirectangular": "rayrelief.cameras.equirectangular",
    "Unified": "rayrelief.cameras.unified",
    "integrate": "rayrelief.integration",
    "read_camera": "rayrelief.cameras.calibration",
    "read_scene": "rayrelief.datasets.folder",
    "to_opencv": "rayrelief.conventions",
    "write_camera": "rayrelief.cameras.calibration",
    "write_depth": "rayrelief.io.depth",
    "write_mesh": "rayrelief.io.meshes",
}

if TYPE_CHECKING:
    from rayrelief.cameras.base import Camera
    from rayrelief.cameras.brown_conrady import BrownConrady
    from rayrelief.cameras.cahvor import Cahvor
    from rayrelief.cameras.calibration import read_camera, write_camera
    from rayrelief.cameras.cylindrical import Cylindrical
    from rayrelief.cameras.division import Division
    from rayrelief.cameras.double_sphere import DoubleSphere
    from rayrelief.cameras.equirectangular import Equirectangular, TransverseEquirectangular
    from rayrelief.cameras.extended_unified import ExtendedUnified
    from rayrelief.cameras.field_of_view import FieldOfView
    from rayrelief.cameras.fisheye import Equidistant, Equisolid, Stereographic
    from rayrelief.cameras.kannala_brandt import KannalaBrandt
    from rayrelief.cameras.metashape_lens import (
        MetashapeEquidistant,
        MetashapeEquisolid,
        MetashapeFrame,
    )
    from rayrelief.cameras.orthographic import Orthographic
    from rayrelief.cameras.pinhole import Pinhole
    from rayrelief.cameras.polynomial_fisheye import PolynomialFisheye
    from rayrelief.cameras.ray_map import RayMap
    from rayrelief.cameras.thin_prism_fisheye import RadTanThinPrismFisheye, ThinPrismFisheye
    from rayrelief.cameras.unified import Unified
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
    "Cahvor",
    "Camera",
    "ConjugateGradient",
    "Cylindrical",
    "Division",
    "DoubleSphere",
    "Equidistant",
    "Equirectangular",
    "Equisolid",
    "ExtendedUnified",
    "FieldOfView",
    "Integration",
    "IntegrationWarning",
    "KannalaBrandt",
    "Mesh",
    "MetashapeEquidistant",
    "MetashapeEquisolid",
    "MetashapeFrame",
    "Multigrid",
    "Orthographic",
    "Pinhole",
    "PolynomialFisheye",
    "Preprocessing",
    "RadTanThinPrismFisheye",
    "RayMap",
    "RayPlane",
    "RayreliefError",
    "Scene",
    "Smooth",
    "Stereographic",
    "ThinPrismFisheye",
    "TransverseEquirectangular",
    "Unified",
    "__version__",
    "integrate",
    "read_camera",
    "read_scene",
    "to_opencv",
    "write_camera",
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
