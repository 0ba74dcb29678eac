"""An ellipsoid in the layout of DiLiGenT-MV, and what its views show in closed form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.io import loadmat, savemat
from scipy.spatial.transform import Rotation
from trimesh.creation import icosphere

import rayrelief
from rayrelief.conventions import FloatArray, from_opencv
from rayrelief.io.images import write_png
from rayrelief.mesh import Mesh
from rayrelief.synthetic.perturb import with_rotation_noise

HEIGHT, WIDTH = 30, 40
CAMERA = rayrelief.cameras.Pinhole(90.0, 92.0, 20.3, 14.1)
RADII = np.array([40.0, 25.0, 30.0])  # mm
CENTRE = np.array([5.0, -3.0, 8.0])  # in the world
POSES = {  # turned by degrees about x, y and z, then moved by mm
    view: (Rotation.from_euler("xyz", turn, degrees=True).as_matrix(), np.array(move)[:, None])
    for view, (turn, move) in {
        1: ([10, 20, 5], [3.0, -2.0, 250.0]),
        2: ([-30, 140, 0], [0.0, 4.0, 230.0]),
        3: ([75, -60, 20], [-4.0, 0.0, 210.0]),
    }.items()
}


def exact_view(view: int) -> tuple[FloatArray, FloatArray]:
    """Depth (H, W) and normals (H, W, 3) in the OpenCV camera frame, NaN beside the ellipsoid."""
    rotation, translation = POSES[view]
    rays = CAMERA.rays(HEIGHT, WIDTH)
    # The unit sphere, seen from where the camera stands in its frame.
    origin = (-rotation.T @ np.ravel(translation) - CENTRE) / RADII
    directions = rays @ rotation / RADII
    a = np.sum(directions**2, axis=-1)
    b = directions @ origin
    inside = b**2 - a * (origin @ origin - 1)
    depth = (-b - np.sqrt(np.where(inside > 0, inside, np.nan))) / a
    outward = (origin + depth[..., None] * directions) / RADII @ rotation.T
    return depth, outward / np.linalg.norm(outward, axis=-1, keepdims=True)


def write_views(root: Path, item: str) -> Path:
    """Write all views of an object, true normals and noisy ones; the folder of the object."""
    folder = root / "mvpmsData" / f"{item}PNG"
    folder.mkdir(parents=True)
    (root / "estNormal").mkdir(exist_ok=True)
    ball = icosphere(subdivisions=5)
    faces = np.array(ball.faces, dtype=np.int32)
    rayrelief.write_mesh(folder / "mesh_Gt.ply", Mesh(ball.vertices * RADII + CENTRE, faces))
    matrix = [[CAMERA.fx, 0, CAMERA.cx], [0, CAMERA.fy, CAMERA.cy], [0, 0, 1.0]]
    poses = {f"Rc_{view}": rotation for view, (rotation, _) in POSES.items()}
    poses |= {f"Tc_{view}": translation for view, (_, translation) in POSES.items()}
    savemat(folder / "Calib_Results.mat", {"KK": np.array(matrix), "nx": WIDTH, **poses})
    for view in POSES:
        here = folder / f"view_{view:02d}"
        here.mkdir()
        depth, normals = exact_view(view)
        mask = np.isfinite(depth)
        write_png(here / "mask.png", (mask * 255).astype(np.uint8))
        noisy = with_rotation_noise(normals, 2.0, np.random.default_rng(view))
        stored = [np.where(mask[..., None], from_opencv(n, "opengl"), 0) for n in (normals, noisy)]
        savemat(here / "Normal_gt.mat", {"Normal_gt": stored[0]})
        name = f"{item}PNG_Normal_TIP19Li_view{view}.mat"
        savemat(root / "estNormal" / name, {"Normal_est": stored[1]})
    return folder


def change_calibration(folder: Path, **changes: object) -> None:
    """Replace entries of the calibration of an object; None removes one."""
    content = loadmat(folder / "Calib_Results.mat")
    kept = {key: value for key, value in content.items() if not key.startswith("__")}
    for key, value in changes.items():
        kept.pop(key) if value is None else kept.update({key: value})
    savemat(folder / "Calib_Results.mat", kept)
