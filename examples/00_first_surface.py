"""From a normal map to depth, a mesh and a picture.

Run: python examples/00_first_surface.py [folder for the results, default ./out]
"""

import sys
from pathlib import Path

import rayrelief

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")

# A scene holds what an integration needs: normals (H, W, 3) in the OpenCV camera frame (x right,
# y down, z forward, facing the camera), a mask (H, W) that is True inside, and a camera. The
# built-in ones also know their true depth. For files, see 02_real_normals.py.
scene = rayrelief.synthetic.GALLERY["tori"](120, 160)

# The first call ever compiles for 20 s to a minute; later runs load what it compiled.
result = rayrelief.integrate(scene.normals, scene.camera, mask=scene.mask)

# Size, depth range, camera, method and how the run ended: five lines worth reading every time.
print(result)
print(f"status ok: {result.status.ok}")

# The angle between the surface and the input normals needs no ground truth.
print(f"mean angle to the input normals: {result.mean_angle():.2f} degrees")

# Normals leave the scale open: the median depth is 1. Multiply to get your unit, for example so
# that the median depth is 4 metres.
metres = 4.0 * result.depth
print(f"depth in metres: {metres[result.mask].min():.2f} to {metres[result.mask].max():.2f}")

rayrelief.write_depth(out / "depth.npz", result.depth, result.depth_kind)
rayrelief.write_depth(out / "depth.exr", result.depth, result.depth_kind)
rayrelief.write_mesh(out / "mesh.ply", result.mesh())  # cut where the surface jumps
rayrelief.write_mesh(out / "mesh.glb", result.mesh())  # stands upright in viewers
rayrelief.write_preview(out / "preview.png", result, truth=scene.depth)
print(f"look at {out / 'preview.png'}: surface, depth, jumps, and the error against the truth")
