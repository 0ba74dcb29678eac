"""The field of view of a normal map, found out from the map: which rays leave the least curl."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.doctor.cues import curl, smooth_cells
from rayrelief.doctor.windows import FOREIGN, Projection, windows_of

# Longer side over focal length, from parallel rays to 100 degrees.
WIDENINGS = (0.0, 0.05, *map(float, np.geomspace(0.1, 2.4, 24)))
APART = 3.0  # standard deviations between fields of view that are told apart


@dataclass(frozen=True)
class FocalLength:
    """Which centred pinholes suit a map: the best, and the range that suits it as well.

    In pixels; infinite for parallel rays.
    """

    best: float
    shortest: float
    longest: float
    side: int  # the longer side of the image

    @property
    def told(self) -> bool:
        """Whether the map says anything: the range does not reach from end to end."""
        every = self.side / WIDENINGS[-1]
        return self.shortest > 1.01 * every or math.isfinite(self.longest)

    @property
    def parallel(self) -> bool:
        """Whether parallel rays are among what suits the map."""
        return math.isinf(self.longest)

    def degrees(self, focal: float) -> float:
        """Field of view across the longer side."""
        return math.degrees(2 * math.atan(self.side / 2 / focal))

    def __str__(self) -> str:
        if not self.told:
            return "cannot tell: every focal length fits as well as orthographic, the simplest"
        if self.parallel:
            return (
                f"orthographic, or a focal length above {self.shortest:.0f} px "
                f"({self.degrees(self.shortest):.0f} degrees across the longer side)"
            )
        return (
            f"perspective, focal length about {self.best:.0f} px "
            f"({self.degrees(self.best):.0f} degrees across the longer side; "
            f"{self.shortest:.0f} to {self.longest:.0f} px fit as well)"
        )


@FOREIGN
def find_focal_length(vectors: FloatArray, mask: BoolArray, axes: str) -> FocalLength:
    """Find the focal length of a map (H, W, 3) in known axes, principal point in the centre."""
    windows = windows_of(vectors, mask)
    cells = [smooth_cells(window) for window in windows]
    side = max(mask.shape)
    curls = [
        curl(windows, cells, axes, [Projection.pinhole(w, window) for window in windows])
        for w in WIDENINGS
    ]
    best = min(range(len(curls)), key=lambda k: curls[k].mean)
    fitting = [k for k, each in enumerate(curls) if curls[best].evidence_against(each) < APART]
    ends = max(fitting[0] - 1, 0), best, min(fitting[-1] + 1, len(curls) - 1)
    # What lies between a fitting focal length and the next one tried may fit too.
    longest, middle, shortest = (side / WIDENINGS[k] if WIDENINGS[k] else math.inf for k in ends)
    return FocalLength(middle, shortest, longest, side)
