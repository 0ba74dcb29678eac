"""Methods compared on one scene, and what a result knows about its jumps.

Run: python examples/03_methods_and_jumps.py [folder for the results, default ./out]
"""

import sys
from pathlib import Path

import cv2
import numpy as np

import rayrelief

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")

# Rings that hide one another: depth jumps at every outline.
scene = rayrelief.synthetic.GALLERY["tori"](120, 160)
truth = scene.depth
assert truth is not None  # the scene is rendered, its depth is known
methods = {
    "ordered": rayrelief.Ordered(),  # the default: jumps have an order, and parts touch
    "ray_plane": rayrelief.RayPlane(),  # the paper, with accurate inner solves
    "no_jumps": rayrelief.RayPlane(jumps=False),  # the same without explicit discontinuities
    "bini": rayrelief.BiNI(),  # one normal per equation instead of two
    "smooth": rayrelief.Smooth(),  # one linear solve, no discontinuities
    "published": rayrelief.RayPlane.published(150),  # the paper's own schedule, shortened
}
results = {}
print("method      error %  angle  iterations  seconds")
for name, method in methods.items():
    result = rayrelief.integrate(scene.normals, scene.camera, mask=scene.mask, method=method)
    errors = rayrelief.depth_errors(result.depth, truth, "scale")
    seconds = sum(iteration.seconds for iteration in result.history)
    print(
        f"{name:10} {errors.re:8.3f} {result.mean_angle():6.2f} {len(result.history):11d}"
        f" {seconds:8.2f}"
    )
    rayrelief.write_preview(out / f"{name}.png", result, truth=truth)
    results[name] = result
print("smooth bends the surface to bridge the jumps; compare smooth.png with ray_plane.png")

# Every directed edge b -> a has a bilateral weight (small on a jump, 0.5 on a smooth surface), an
# activation (1 where it was taken for a jump), and the jump itself in the unit of depth.
result = results["ray_plane"]
to_the_right = result.jumps.towards(1, 0)
active = result.activation.towards(1, 0) > 0.5
print(f"{active.sum()} of {np.isfinite(to_the_right).sum()} edges to the right are jumps")
print(f"the largest is {np.nanmax(np.abs(to_the_right[active])):.3f} at a median depth of 1")

weights = np.nan_to_num(result.weights.smallest(), nan=0.5)
cv2.imwrite(str(out / "weights.png"), np.rint(510 * weights.clip(0, 0.5)).astype(np.uint8))
print(f"look at {out / 'weights.png'}: dark lines are where the surface was cut open")

# A mesh has no triangles across jumps; cut is in pixels, and infinity closes every cut.
print(f"cut at jumps: {result.mesh()}, closed: {result.mesh(cut=np.inf)}")
rayrelief.write_mesh(out / "ray_plane.ply", result.mesh())
