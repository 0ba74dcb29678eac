"""A normal map from an estimator: its axes, its bits, its mask and a camera nobody calibrated.

Run: python examples/02_real_normals.py [folder for the results, default ./out]
"""

import sys
import warnings
from pathlib import Path

import numpy as np

import rayrelief
from rayrelief.conventions import from_opencv
from rayrelief.io.images import write_png
from rayrelief.synthetic import GALLERY

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")

# What an estimator leaves behind, made here so that this runs anywhere: an 8-bit PNG in the axes of
# DSINE (x left, y up, z toward the camera), cut off instead of rounded, and a mask.
height, width = 150, 200
camera = rayrelief.Pinhole.from_fov(60.0, height, width)
truth = GALLERY["overlapping_spheres"](height, width, camera)
vectors = np.nan_to_num(from_opencv(truth.normals, "dsine"))
write_png(out / "normal.png", ((vectors + 1) / 2 * 255).astype(np.uint8))
write_png(out / "mask.png", np.where(truth.mask, 255, 0).astype(np.uint8))

# 1. Read it. A single file does not tell its axes or its camera, so both are asked for; estimators
# that assume a field of view mostly take 60 degrees across the longer side.
scene = rayrelief.read_scene(
    out / "normal.png", convention="dsine", camera="fov:60", mask=out / "mask.png"
)
for note in scene.notes:
    print(f"note: {note}")
result = rayrelief.integrate(scene.normals, scene.camera, mask=scene.mask)
print(result)
rayrelief.write_mesh(out / "mesh.glb", result.mesh())

# 2. Are the axes right? A wrong sign makes a field that no surface has, and the angle between the
# result and the input shows it. (Flipping x and y together only turns the relief inside out.)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", rayrelief.IntegrationWarning)  # of normals that face away
    for convention in ("dsine", "opengl", "directx"):
        normals = rayrelief.to_opencv(vectors, convention)
        guess = rayrelief.integrate(normals, camera, mask=truth.mask, on_failure="return")
        print(f"read as {convention:8} mean angle {guess.mean_angle():5.2f} degrees")

# 3. Writers that cut off instead of rounding shift every component by half a step: a false tilt. If
# yours does (see docs/conventions.md), decode the file yourself and pass the vectors.
exact = vectors[truth.mask]
values = np.floor((exact + 1) / 2 * 255)
for name, half in (("as if rounded", 0.0), ("with half a step", 0.5)):
    decoded = (values + half) / 127.5 - 1
    decoded /= np.linalg.norm(decoded, axis=-1, keepdims=True)
    bias = (decoded - exact).mean(axis=0)
    print(f"decoded {name:16}  mean error of x, y, z:", *(f"{error:+.4f}" for error in bias))
