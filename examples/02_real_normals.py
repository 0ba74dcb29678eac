"""A normal map from an estimator: its axes, its bits, its mask and a camera nobody calibrated.

Run: python examples/02_real_normals.py [folder for the results, default ./out]
"""

import sys
import warnings
from pathlib import Path

import cv2
import numpy as np

import rayrelief

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")

# What an estimator leaves behind, made here so that this runs anywhere: an 8-bit PNG in the axes of
# DSINE (x left, y up, z toward the camera), truncated instead of rounded, and a mask.
height, width = 150, 200
camera = rayrelief.cameras.Pinhole.from_fov(60.0, height, width)
truth = rayrelief.synthetic.GALLERY["overlapping_spheres"](height, width, camera)
vectors = np.nan_to_num(rayrelief.from_opencv(truth.normals, "dsine"))
colours = ((vectors + 1) / 2 * 255).astype(np.uint8)
out.mkdir(parents=True, exist_ok=True)
cv2.imwrite(str(out / "normal.png"), cv2.cvtColor(colours, cv2.COLOR_RGB2BGR))
cv2.imwrite(str(out / "mask.png"), np.where(truth.mask, 255, 0).astype(np.uint8))

# 1. Read it. The file stores neither its axes nor its camera: give both. Estimators that assume a
# field of view mostly take 60 degrees across the longer side.
scene = rayrelief.read_scene(
    out / "normal.png", convention="dsine", camera="fov:60", mask=out / "mask.png"
)
for note in scene.notes:
    print(f"note: {note}")
result = rayrelief.integrate(
    scene.normals, scene.camera, mask=scene.mask, confidence=scene.confidence
)
print(result)
rayrelief.write_mesh(out / "mesh.glb", result.mesh())

# 2. Are the axes right? read_scene refuses axes that the map speaks clearly against, and "auto"
# finds them out, as does the command "rayrelief doctor".
found = rayrelief.read_scene(out / "normal.png", convention="auto", camera="fov:60")
print("found out:", *(note for note in found.notes if "axes of" in note))
try:
    rayrelief.read_scene(out / "normal.png", convention="opengl", camera="fov:60")
except rayrelief.RayreliefError as error:
    print(f"refused: {error}")

# Why: a wrong sign of x or y makes normals that no surface has, and the angle between result and
# input shows it. (Flipping x and y together only turns the relief inside out.)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", rayrelief.IntegrationWarning)  # of normals that face away
    for convention in ("dsine", "opengl", "directx"):
        normals = rayrelief.to_opencv(vectors, convention)
        guess = rayrelief.integrate(normals, camera, mask=truth.mask, on_failure="return")
        print(f"read as {convention:8} mean angle {guess.mean_angle():5.2f} degrees")

# 3. Writers that truncate instead of rounding shift every component by half a step: a false tilt.
# read_scene recognises them by the lengths of the vectors; this is what it corrects.
exact = vectors[truth.mask]
values = np.floor((exact + 1) / 2 * 255)
for name, half in (("as if rounded", 0.0), ("with half a step", 0.5)):
    decoded = (values + half) / 127.5 - 1
    decoded /= np.linalg.norm(decoded, axis=-1, keepdims=True)
    bias = (decoded - exact).mean(axis=0)
    print(f"decoded {name:16}  mean error of x, y, z:", *(f"{error:+.4f}" for error in bias))
