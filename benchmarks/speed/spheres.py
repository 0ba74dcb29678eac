"""Spheres in front of one another and of a plane, rendered on a GPU: at any size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rayrelief.cameras import Pinhole

PIXELS_APART = 100.0
DEGREES = 24.0
KERNEL = r"""
__device__ double uniform(unsigned u, unsigned v, unsigned k) {
  unsigned h = (u * 2654435761u) ^ (v * 2246822519u) ^ (k * 3266489917u);
  h = (h ^ (h >> 15)) * 2246822519u;
  h = (h ^ (h >> 13)) * 3266489917u;
  return (h ^ (h >> 16)) / 4294967296.;
}
extern "C" __global__ void spheres(float* normals, float* depth, int height, int width, double f,
                                   double apart) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= (long long)height * width) return;
  // Before a plane at the depth 1 there is one sphere to each cell of a lattice, moved at random.
  double x = (i % width - .5 * (width - 1)) / f, y = (i / width - .5 * (height - 1)) / f;
  double nearest = 1., nx = 0., ny = 0., nz = -1.;
  int column = (int)floor(x / apart), row = (int)floor(y / apart);
  for (int k = 0; k < 25; k++) {
    int u = column + k % 5 - 2, v = row + k / 5 - 2;
    double r = apart * (.35 + .35 * uniform(u, v, 1));
    double cx = apart * (u + uniform(u, v, 2)), cy = apart * (v + uniform(u, v, 3));
    double cz = 1. - r * (.2 + .6 * uniform(u, v, 4));
    double a = x * x + y * y + 1., b = x * cx + y * cy + cz;
    double c = cx * cx + cy * cy + cz * cz - r * r;
    double root = b * b - a * c;
    if (root <= 0.) continue;
    double z = (b - sqrt(root)) / a;
    if (z >= nearest) continue;
    nearest = z;
    nx = (z * x - cx) / r, ny = (z * y - cy) / r, nz = (z - cz) / r;
  }
  normals[3 * i] = (float)nx, normals[3 * i + 1] = (float)ny, normals[3 * i + 2] = (float)nz;
  depth[i] = (float)nearest;
}
"""


@dataclass(frozen=True, eq=False)
class SphereScene:
    """Normals (H, W, 3) and true depth (H, W) on the GPU."""

    normals: Any
    depth: Any
    camera: Pinhole


def spheres(height: int, width: int) -> SphereScene:
    """One sphere to every hundred pixels along a side, at any size."""
    import cupy

    focal = 0.5 * max(height, width) / math.tan(math.radians(DEGREES / 2))
    camera = Pinhole(focal, focal, (width - 1) / 2, (height - 1) / 2)
    normals = cupy.empty((height, width, 3), np.float32)
    depth = cupy.empty((height, width), np.float32)
    size = np.int32(height), np.int32(width), focal, PIXELS_APART / focal
    blocks = -(-height * width // 256)
    cupy.RawKernel(KERNEL, "spheres")((blocks,), (256,), (normals, depth, *size))
    return SphereScene(normals, depth, camera)


def relative_error(depth: Any, truth: Any) -> float:
    """Mean absolute error over the mean depth, after alignment by the median ratio."""
    import cupy

    ratio = cupy.nanmedian(truth / depth)
    return float(cupy.nanmean(cupy.abs(ratio * depth - truth)) / cupy.nanmean(truth))
