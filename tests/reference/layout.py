"""Scenes as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rayrelief.cameras.pinhole import Pinhole
from rayrelief.conventions import from_opencv
from rayrelief.io.images import write_png
from rayrelief.scene import Scene


def write_layout(folder: Path, scene: Scene) -> Path:
    """Write a scene of a pinhole in the layout of DiLiGenT: OpenGL axes, 16 bits."""
    camera = scene.camera
    assert isinstance(camera, Pinhole)
    assert scene.depth is not None
    folder.mkdir(parents=True)
    vectors = np.where(scene.mask[..., None], from_opencv(scene.normals, "opengl"), 0.0)
    write_png(folder / "normal_map.png", np.rint((vectors + 1) / 2 * 65535).astype(np.uint16))
    write_png(folder / "mask.png", (scene.mask * 255).astype(np.uint8))
    K = [[camera.fx, 0, camera.cx], [0, camera.fy, camera.cy], [0, 0, 1]]
    np.savetxt(folder / "K.txt", np.array(K))
    np.savez(folder / "depth_gt.npz", depth_gt=scene.depth)
    return folder
