"""Many maps at once: side by side on one canvas, which is integrated as one map of many parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from rayrelief.backends.cuda.device import Device
from rayrelief.backends.cuda.machine import Array, Machine
from rayrelief.cameras.base import Camera
from rayrelief.checks import require
from rayrelief.components import free_note
from rayrelief.errors import Status, in_number
from rayrelief.gpu.constants import Parts
from rayrelief.gpu.integrator import Surface
from rayrelief.gpu.resident import Recipe, Resident
from rayrelief.gpu.source import Source, in_kind, normals_on, on_machine, rays_of, view_of

APART = 1  # columns and rows between maps: what is not connected does not mix


class BatchIntegrator:
    """Integrates as many maps of one size as there are cameras, all at once.

    Parameters
    ----------
    cameras
        One for each map: all central, or all orthographic.
    height, width
        Size of each map.
    method
        As for ``Integrator``. The iterations of all maps end together, and ``Ordered`` takes the
        noise of all for that of each.
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
        views = [view_of(camera, height, width) for camera in cameras]
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
        self._resident = Resident(Source(machine, shape, kind, settings, rays), method)

    def _place(self, number: int) -> tuple[slice, slice]:
        """Rows and columns of a map on the canvas."""
        row, column = divmod(number, self._columns)
        top, left = row * (self.size[0] + APART), column * (self.size[1] + APART)
        return slice(top, top + self.size[0]), slice(left, left + self.size[1])

    def integrate(self, normals: Any, *, mask: Any = None, start: Any = None) -> list[Surface]:
        """Integrate maps (M, H, W, 3) with masks and starts (M, H, W), in any kind of array.

        Outcome, history and what is said about normals are those of all maps together.
        """
        resident = self._resident
        source, xp = resident.source, resident.source.machine.arrays
        source.machine.wait()
        take = partial(normals_on, xp, shape=self.size)
        canvas = self._spread(xp.zeros, normals, (3,), np.float32, take)
        # What is between the maps is no part of them: it has no normal that could be missing.
        everywhere = np.broadcast_to(np.bool_(True), (self._count, *self.size))
        inside = self._given(xp.zeros, everywhere if mask is None else mask, np.bool_, "the mask")
        begun = None if start is None else self._given(xp.ones, start, np.float64, "start")
        run = resident.run(canvas, inside, begun)
        depth = in_kind(normals[0], run.depth)
        together = [f"all {self._count} maps together: {note}" for note in run.report.notes()]
        surfaces = []
        for number, components in enumerate(self._components(run.parts)):
            free = free_note(components, source.settings["logarithmic"])
            status = Status(run.solution.outcome, (*together, *run.solution.notes, *free))
            part = depth[self._place(number)]
            history = run.solution.history
            surfaces.append(Surface(part, source.kind, status, history, components))
        return surfaces

    def _components(self, parts: Parts) -> list[int]:
        """How many components each map has."""
        rows, columns = self._resident.first_pixels(parts)
        down, across = (size + APART for size in self.size)
        maps = rows // down * self._columns + columns // across
        return [int(count) for count in np.bincount(maps, minlength=self._count)]

    def _given(self, make: Any, maps: Any, kind: Any, name: str) -> Array:
        xp = self._resident.source.machine.arrays
        take = partial(on_machine, xp, kind=kind, shape=self.size, name=name)
        return self._spread(make, maps, (), kind, take)

    def _spread(
        self, make: Any, maps: Any, last: tuple[int, ...], kind: Any, take: Callable[[Any], Array]
    ) -> Array:
        """Put maps on a canvas, each as it is taken."""
        require(
            len(maps) == self._count,
            f"{in_number(len(maps), 'map was', 'maps were')} given",
            f"{self._count}, one for each camera, and as many masks and starts",
            "Make a BatchIntegrator for so many",
        )
        canvas = make((*self._resident.source.shape, *last), dtype=kind)
        for number in range(self._count):
            canvas[self._place(number)] = take(maps[number])
        return canvas


def integrate_batch(
    normals: Any,
    camera: Camera | Sequence[Camera],
    *,
    mask: Any = None,
    start: Any = None,
    method: Recipe | None = None,
    machine: Machine | None = None,
) -> list[Surface]:
    """Integrate many maps of one size at once, on a GPU.

    Parameters
    ----------
    normals
        (M, H, W, 3), OpenCV camera frame, facing the camera: arrays of numpy or of the GPU, as for
        ``gpu.Integrator``; depths come back in kind.
    camera
        That of all maps, or a list with one for each: all central, or all orthographic.
    mask, start
        (M, H, W): True inside; depths to begin with.
    method
        ``RayPlane()`` by default; ``BiNI()``, ``Smooth()`` or ``Ordered()``. The iterations of all
        maps end together.

    For maps that keep coming, a ``gpu.BatchIntegrator`` keeps its memory between them.
    """
    count = len(normals) if hasattr(normals, "__len__") else 0
    shape = tuple(getattr(normals[0], "shape", ())) if count else ()
    require(
        len(shape) == 3,
        f"{in_number(count, 'map')} of the shape {shape}",
        "one or more of the shape (height, width, 3)",
        "Stack maps of one size: numpy.stack([first, second])",
    )
    cameras = [camera] * count if isinstance(camera, Camera) else list(camera)
    batch = BatchIntegrator(cameras, shape[0], shape[1], method, machine=machine)
    return batch.integrate(normals, mask=mask, start=start)
