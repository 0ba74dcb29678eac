"""Normals that are wrong: outliers, noise, and what can be done about them.

Run: python examples/04_noise.py [folder for the results, default ./out]
"""

import sys
from pathlib import Path

import numpy as np

import rayrelief

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
scene = rayrelief.synthetic.GALLERY["sphere"](120, 160)
truth = scene.depth
assert truth is not None  # the scene is rendered, its depth is known
rng = np.random.default_rng(1)

# 10 % of the normals replaced by random directions; or every normal turned by some 5 degrees.
inputs = {
    "clean": scene.normals,
    "outliers": rayrelief.synthetic.with_outliers(scene.normals, 0.1, rng),
    "rotations": rayrelief.synthetic.with_rotation_noise(scene.normals, 5.0, rng),
}

# Choosing facing_away says that such normals are expected; left at None they are averaged, more
# than 1 % of them warn and more than 20 % are refused as wrong axes. The other two options go
# further: outlier_ratio also averages normals that differ from their neighbourhood,
# outlier_threshold moves the point where two planes meet if their depths would differ by more than
# 10 % from one pixel to the next. The default method, Ordered, estimates the noise and replaces
# normals that differ from all around them by itself.
keep = rayrelief.Preprocessing(facing_away="keep")
average = rayrelief.Preprocessing(facing_away="average")
neighbourhood = rayrelief.Preprocessing(facing_away="average", outlier_ratio=0.75)
remedies = {
    "nothing": rayrelief.RayPlane(preprocessing=keep),
    "average": rayrelief.RayPlane(preprocessing=average),
    "and threshold": rayrelief.RayPlane(preprocessing=average, outlier_threshold=0.1),
    "and ratio": rayrelief.RayPlane(preprocessing=neighbourhood),
    "Ordered": rayrelief.Ordered(preprocessing=average),
}

print("mean depth error in percent (one draw: change the seed to see how much is chance)")
print(" " * 14 + "".join(f"{name:>12}" for name in inputs))
for remedy, method in remedies.items():
    row = []
    for name, normals in inputs.items():
        result = rayrelief.integrate(
            normals, scene.camera, mask=scene.mask, method=method, on_failure="return"
        )
        row.append(rayrelief.depth_errors(result.depth, truth, "scale").re)
        if remedy in ("nothing", "and ratio"):
            stem = f"{name}_{'raw' if remedy == 'nothing' else 'repaired'}"
            rayrelief.write_preview(out / f"{stem}.png", result, truth=truth)
    print(f"{remedy:14}" + "".join(f"{error:12.3f}" for error in row))

# What was found and done is in the result.
result = rayrelief.integrate(
    inputs["outliers"], scene.camera, mask=scene.mask, method=remedies["and ratio"]
)
print(result.preprocessing)
print(f"compare {out / 'outliers_raw.png'} with {out / 'outliers_repaired.png'}: the spikes")
