"""Coarse depth and fine normals, fused: what either says alone, and both together.

Run: python examples/05_known_depth.py [folder for the results, default ./out]
"""

import sys
from pathlib import Path

import cv2
import numpy as np

import rayrelief

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)
scene = rayrelief.synthetic.GALLERY["room"](240, 320)
truth = scene.depth
assert truth is not None  # the scene is rendered, its depth is known
rng = np.random.default_rng(0)

# A depth sensor: blocks of 8 pixels, 1 % noise, holes, and 2 % of the blocks entirely wrong.
blocks = truth[4::8, 4::8] * (1 + rng.normal(0, 0.01, (30, 40)))
blocks *= np.where(rng.random(blocks.shape) < 0.02, 1.3, 1.0)
blocks[rng.random(blocks.shape) < 0.1] = np.nan
coarse = np.kron(blocks, np.ones((8, 8)))

# Or just twenty points whose depth was measured, as (column, row, depth).
columns, rows = rng.integers(0, 320, 20), rng.integers(0, 240, 20)
points = [(u, v, truth[v, u]) for u, v in zip(columns, rows, strict=True)]

priors = {
    "normals alone": None,
    "twenty points": rayrelief.DepthPrior.at(points, 240, 320),
    "coarse depth": rayrelief.DepthPrior(coarse),
}
depths = {"the coarse depth itself": coarse}
for name, prior in priors.items():
    result = rayrelief.integrate(scene.normals, scene.camera, mask=scene.mask, prior=prior)
    depths[name] = result.depth
    if prior is None:  # normals do not know the scale: be kind to them
        depths[name] = result.depth * np.median(truth / result.depth)
    if result.prior is not None:
        print(f"{name}: {result.prior}")
rayrelief.write_mesh(out / "fused.ply", result.mesh())

# Above the depths, below their errors up to 5 %: bright is wrong.
print("mean depth error in percent")
upper, lower = [], []
for name, depth in depths.items():
    error = 100 * np.abs(depth / truth - 1)
    print(f"{name:24}{np.nanmean(error):8.3f}")
    grey = 255 * (1 - np.nan_to_num(depth, nan=truth.max()) / truth.max())
    upper.append(cv2.cvtColor(np.clip(1.4 * grey, 0, 255).astype(np.uint8), cv2.COLOR_GRAY2BGR))
    heat = np.clip(51 * np.nan_to_num(error), 0, 255).astype(np.uint8)
    lower.append(cv2.applyColorMap(heat, cv2.COLORMAP_INFERNO))
cv2.imwrite(str(out / "fusion.png"), np.vstack((np.hstack(upper), np.hstack(lower))))
print(f"see {out / 'fusion.png'}: depth above, error below, in the order of this table")
