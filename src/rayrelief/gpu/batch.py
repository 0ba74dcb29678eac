"""Many maps at once: side by side on one canvas, which is integrated as one map of many parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rayrelief.backends.cuda.device import Device
from rayrelief.backends.cuda.machine import Machine
from rayrelief.cameras.base import Camera
from rayrelief.cameras.view import View
from rayrelief.checks import require
from rayrelief.gpu.integrator import Integrator, Recipe, Surface
from rayrelief.gpu.source import Source, in_kind, rays_of

APART = 1  # columns and rows between maps: what is not connected does not mix


class BatchIntegrator(Integrator):
    """Integrates as many maps of one size as there are cameras, all at once.

    Parameters
    ----------
    cameras
        One for each map: all central, or all orthographic.
    height, width
        Size of each map.
    method
        As for ``Integrator``. The iterations of all maps end together.
    """

    def __init__(
        self,
        cameras: Sequence[Camera],
        height: int,
        width: int,
        method: Recipe | None = None,
        *,
        machine: Machine | None = None,
    ) -> None:
        views = [View.of(camera, height, width) for camera in cameras]
        kinds = {(camera.central, view.kind) for camera, view in zip(cameras, views, strict=True)}
        require(
            len(kinds) == 1 and not any(view.wraps for view in views),
            f"{len(cameras)} cameras of {len(kinds)} kinds were given",
            "one or more of one kind: central with z, or with distance, or orthographic; "
            "no panoramas",
            "Integrate maps of other cameras on their own",
        )
        ((central, kind),) = kinds
        self.size = height, width
        self._columns = math.ceil(math.sqrt(len(cameras) * height / width))
        rows = math.ceil(len(cameras) / self._columns)
        shape = rows * (height + APART), self._columns * (width + APART)
        rays: Any = np.full((*shape, 3), np.nan)
        for number, view in enumerate(views):
            rays[self._place(number)] = rays_of(view)
        self._count = len(cameras)
        machine = Device() if machine is None else machine
        settings = {"wraps": False, "logarithmic": central}
        self._source = Source(machine, shape, kind, settings, rays)
        self._prepare(method)

    def _place(self, number: int) -> tuple[slice, slice]:
        """Rows and columns of a map on the canvas."""
        row, column = divmod(number, self._columns)
        top, left = row * (self.size[0] + APART), column * (self.size[1] + APART)
        return slice(top, top + self.size[0]), slice(left, left + self.size[1])

    def integrate(self, normals: Any, *, mask: Any = None, start: Any = None) -> list[Surface]:
        """Integrate maps (M, H, W, 3) with masks and starts (M, H, W), in any kind of array.

        The status and the history are those of all of them together.
        """
        require(
            len(normals) == self._count,
            f"{len(normals)} maps were given",
            f"{self._count}, one for each camera",
            "Make a BatchIntegrator for so many",
        )
        xp = self._source.machine.arrays
        canvas = self._spread(xp.zeros, normals, (3,), np.float32)
        inside = self._spread(xp.zeros, mask, (), np.bool_)
        begun = self._spread(xp.ones, start, (), np.float64)
        whole = self(canvas, mask=inside, start=begun)
        depth = in_kind(normals, whole.depth)
        depths = [depth[self._place(number)] for number in range(self._count)]
        rest = whole.depth_kind, whole.status, whole.history, whole.components
        return [Surface(depth, *rest) for depth in depths]

    def _spread(self, make: Any, maps: Any, last: tuple[int, ...], kind: Any) -> Any:
        """Put maps on a canvas; None where there are none."""
        if maps is None:
            return None
        shape = *self._source.shape, *last
        canvas = make(shape, dtype=kind)
        for number in range(self._count):
            canvas[self._place(number)] = self._source.machine.arrays.asarray(maps[number])
        return canvas
