"""Whether a normal map is in the frame of its camera: no turn makes its normals fit better."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rayrelief.cameras.base import Camera
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.doctor.axes import DECIDED, Reading
from rayrelief.doctor.cues import Curl, curl, smooth_cells
from rayrelief.doctor.windows import FOREIGN, Projection, windows_of

SUSPICIOUS = 0.1  # relative curl: less is that of normals in the right frame
LEAST_TILT = 5.0  # degrees
FIRST_STEP = 15.0  # degrees
STARTS = 30.0 * np.array([[0, 0, 0], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]])
EVALUATIONS = 50  # from each start
PIXELS = 1 << 16  # are enough: this is tried many times


@FOREIGN
def find_tilt(
    vectors: FloatArray, mask: BoolArray, reading: Reading, camera: Camera | None = None
) -> float:
    """Degrees by which normals (H, W, 3), read in some axes, are turned against their camera.

    0 where no turn makes them clearly fit better. World-space normals are turned by the rotation
    of the camera, less what the axes undo.
    """
    from scipy.optimize import minimize
    from scipy.spatial.transform import Rotation

    if reading.curl.mean < SUSPICIOUS:
        return 0.0
    windows = windows_of(vectors, mask, PIXELS)
    cells = [smooth_cells(window) for window in windows]
    projections = [
        Projection.pinhole(reading.widening, window)
        if camera is None
        else Projection.of(camera, window)
        for window in windows
    ]

    def turned(vector: FloatArray) -> Curl:
        rotation = Rotation.from_rotvec(vector, degrees=True).as_matrix()
        parts = [replace(window, vectors=window.vectors @ rotation.T) for window in windows]
        return curl(parts, cells, reading.axes, projections)

    straight = turned(np.zeros(3))
    for start in STARTS:
        simplex = np.vstack([start, start + FIRST_STEP * np.eye(3)])
        options = {"initial_simplex": simplex, "maxfev": EVALUATIONS, "xatol": 1.0, "fatol": 1e-3}
        found = minimize(lambda v: turned(v).mean, start, method="Nelder-Mead", options=options).x
        best, tilt = turned(found), float(np.linalg.norm(found))
        clear = best.mean < 0.5 * straight.mean and best.evidence_against(straight) >= DECIDED
        if clear and tilt > LEAST_TILT:
            return min(tilt, 360.0 - tilt)
    return 0.0
