"""Whether a normal map is in the frame of its camera: no turn makes its normals fit better."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Self

import numpy as np

from rayrelief.cameras.base import Camera
from rayrelief.conventions import CONVENTIONS, BoolArray, FloatArray, to_opencv
from rayrelief.doctor.axes import DECIDED, Reading
from rayrelief.doctor.cues import Curl, curl, smooth_cells
from rayrelief.doctor.windows import FOREIGN, Projection, Window, windows_of

SUSPICIOUS = 0.1  # relative curl: less is that of normals in the right frame
LEAST_TILT = 5.0  # degrees
GRID = 25.0 * np.array([*product((0, 1, -1), repeat=3)])  # degrees: turns that are tried first
FIRST_STEP = 15.0  # degrees
EVALUATIONS = 50  # from the best of them
PROMISING = 0.75  # of the curl is left where it is worth to look at more pixels
# Pixels, and the squares they come in: a turn is searched on few, and judged on many.
FEW, MANY = (1 << 14, 64), (1 << 16, 128)


@FOREIGN
def find_tilt(
    vectors: FloatArray, mask: BoolArray, reading: Reading, camera: Camera | None = None
) -> float:
    """Degrees by which normals (H, W, 3), read in some axes, are turned against their camera.

    0 where no turn makes them clearly fit better. World-space normals are turned by the rotation
    of the camera, less what the axes undo.
    """
    if reading.curl.mean < SUSPICIOUS:
        return 0.0
    few = _Turning.of(vectors, mask, reading, camera, FEW)
    found = few.best_from(min(GRID, key=few.curl_mean), FIRST_STEP, EVALUATIONS)
    if few.curl_mean(found) > PROMISING * few.curl_mean(np.zeros(3)):
        return 0.0
    many = _Turning.of(vectors, mask, reading, camera, MANY)
    found = many.best_from(found, LEAST_TILT, EVALUATIONS // 2)
    turned, straight, tilt = many.curl(found), many.curl(np.zeros(3)), float(np.linalg.norm(found))
    clear = turned.mean < 0.5 * straight.mean and turned.evidence_against(straight) >= DECIDED
    return tilt if clear and tilt > LEAST_TILT else 0.0


@dataclass(frozen=True, eq=False)
class _Turning:
    """Parts of a map in the camera frame, to be turned."""

    windows: list[Window]
    cells: list[BoolArray]
    projections: list[Projection]

    @classmethod
    def of(
        cls,
        vectors: FloatArray,
        mask: BoolArray,
        reading: Reading,
        camera: Camera | None,
        size: tuple[int, int],
    ) -> Self:
        windows = [
            replace(window, vectors=to_opencv(window.vectors, reading.axes))
            for window in windows_of(vectors, mask, *size)
        ]
        projections = [
            Projection.pinhole(reading.widening, window)
            if camera is None
            else Projection.of(camera, window)
            for window in windows
        ]
        return cls(windows, [smooth_cells(window) for window in windows], projections)

    def curl(self, turn: FloatArray) -> Curl:
        """Curl of the normals after a turn: an axis as long as its angle in degrees."""
        from scipy.spatial.transform import Rotation

        back = Rotation.from_rotvec(turn, degrees=True).as_matrix()
        # n turned, times a ray, is n times the ray turned back: of parallel rays there is one.
        turned = [
            Projection(each.rays @ back, each.right @ back, each.down @ back)
            for each in self.projections
        ]
        return curl(self.windows, self.cells, CONVENTIONS["opencv"], turned)

    def curl_mean(self, turn: FloatArray) -> float:
        """Of what it could be, after a turn."""
        return self.curl(turn).mean

    def best_from(self, turn: FloatArray, step: float, evaluations: int) -> FloatArray:
        """Turn that leaves the least curl, near another one."""
        from scipy.optimize import minimize

        simplex = np.vstack([turn, turn + step * np.eye(3)])
        options = {"initial_simplex": simplex, "maxfev": evaluations, "xatol": 1.0, "fatol": 1e-3}
        best: FloatArray = minimize(self.curl_mean, turn, method="Nelder-Mead", options=options).x
        return best
