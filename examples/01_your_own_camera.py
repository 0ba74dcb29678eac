"""Any camera: a lens that distorts, a fisheye as one ray per pixel, and cameras in files.

Run: python examples/01_your_own_camera.py [folder for the results, default ./out]
"""

import sys
from pathlib import Path

import numpy as np

import rayrelief

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")

# 1. OpenCV's lens distortion. The normal map keeps its pixels: nothing is undistorted or resampled.
height, width = 120, 160
lens = rayrelief.cameras.BrownConrady(
    fx=140.0, fy=140.0, cx=79.5, cy=59.5, k1=-0.25, k2=0.05, p1=1e-3, size=(width, height)
)
scene = rayrelief.synthetic.GALLERY["ellipsoid_inside"](height, width, lens)
truth = scene.depth
assert truth is not None  # the scene is rendered, its depth is known
ignored = rayrelief.cameras.Pinhole(lens.fx, lens.fy, lens.cx, lens.cy)
for name, camera in (("with the distortion", lens), ("distortion ignored", ignored)):
    result = rayrelief.integrate(scene.normals, camera, mask=scene.mask, method=rayrelief.Smooth())
    errors = rayrelief.depth_errors(result.depth, truth, "scale")
    print(f"{name:20} error {errors.re:.3f} %, angle {result.mean_angle():.3f} degrees")

# 2. Any central camera as a ray map: here a fisheye that sees 100 degrees off its axis. Rays may
# have any length; NaN means that a pixel sees nothing.
side = 120
u, v = np.meshgrid(np.arange(side) - 59.5, np.arange(side) - 59.5)
radius = np.hypot(u, v)
angle = np.radians(100.0) * radius / 59.5
rays = np.stack((u / radius * np.sin(angle), v / radius * np.sin(angle), np.cos(angle)), axis=-1)
rays[angle > np.radians(100.0)] = np.nan
fisheye = rayrelief.cameras.RayMap(rays)
scene = rayrelief.synthetic.GALLERY["ellipsoid_inside"](side, side, fisheye)
truth = scene.depth
assert truth is not None
result = rayrelief.integrate(scene.normals, fisheye, mask=scene.mask, method=rayrelief.Smooth())
errors = rayrelief.depth_errors(result.depth, truth, "scale")
# Behind the camera z is negative: depth is then the distance along the ray.
print(f"fisheye: depth is {result.depth_kind!r}, error {errors.re:.3f} %")
print(f"z of the points: {np.nanmin(result.points()[..., 2]):.2f} and up")
rayrelief.write_mesh(out / "fisheye.ply", result.mesh())

# 3. Cameras in files: parameters as .json, bit for bit; rays as .npy.
rayrelief.cameras.write_camera(out / "camera.json", lens)
rayrelief.cameras.write_camera(out / "rays.npy", fisheye)
again = rayrelief.read_camera(out / "camera.json")
print(f"camera.json reads back equal: {again == lens}")
print(f"on the command line: --camera {out / 'camera.json'} or --camera {out / 'rays.npy'}")
