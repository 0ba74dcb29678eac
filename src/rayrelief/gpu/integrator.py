"""Integrator: maps of one size and camera, from normals to depth without leaving the GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rayrelief.backends.cuda.device import Device
from rayrelief.backends.cuda.machine import Machine
from rayrelief.cameras.base import Camera
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.components import free_note
from rayrelief.conventions import DepthKind
from rayrelief.errors import Status
from rayrelief.gpu.resident import Recipe, Resident
from rayrelief.gpu.source import (
    Source,
    confidence_on,
    in_kind,
    normals_on,
    on_machine,
    rays_of,
    view_of,
)
from rayrelief.methods.base import Iteration


@dataclass(frozen=True, eq=False)
class Surface:
    """Depth of one map, and how its run ended.

    Attributes
    ----------
    depth
        (H, W) in double precision, NaN outside, in the kind of array that the normals were in.
    depth_kind
        "z", or "distance" along the ray.
    status
        How the run ended: cause, remedy and notes.
    history
        All iterations.
    components
        How many parts of the mask are not connected; each has its own scale (or shift).
    """

    depth: Any
    depth_kind: DepthKind
    status: Status
    history: tuple[Iteration, ...]
    components: int


class Integrator:
    """Integrates maps of one camera and size; memory and compiled work are kept between them.

    Parameters
    ----------
    camera
        Gives the ray of every pixel.
    height, width
        Size of the maps.
    method
        ``RayPlane()`` by default; ``BiNI()``, ``Smooth()`` or ``Ordered()``. The paper's equations,
        with four or eight neighbours; normals that face away are used as they are, and not
        averaged. For other settings, and for the segments of ``Ordered``, use
        ``integrate(..., device="cuda")``.
    """

    def __init__(
        self,
        camera: Camera,
        height: int,
        width: int,
        method: Recipe | None = None,
        *,
        machine: Machine | None = None,
    ) -> None:
        view = view_of(camera, height, width)
        machine = Device() if machine is None else machine
        settings: dict[str, Any] = {
            "wraps": view.wraps and width > 2,
            "logarithmic": camera.central,
        }
        if isinstance(camera, Pinhole) and not camera.skew:
            settings["pinhole"] = camera.fx, camera.fy, camera.cx, camera.cy
        rays = None if "pinhole" in settings else rays_of(view)
        source = Source(machine, (height, width), view.kind, settings, rays)
        self._resident = Resident(source, method)

    def __call__(
        self, normals: Any, *, mask: Any = None, start: Any = None, confidence: Any = None
    ) -> Surface:
        """Integrate one map.

        Parameters
        ----------
        normals
            (H, W, 3), OpenCV camera frame, facing the camera: an array of numpy, or of the GPU
            (CuPy, torch, anything with ``__cuda_array_interface__`` or DLPack), which is not
            copied if it is in single precision and contiguous.
        mask
            (H, W), True inside; None uses every pixel that has a normal.
        start
            (H, W) depth to begin with, such as that of the last frame; also fixes the scale.
        confidence
            (H, W) how far each normal is to be trusted, from 0 to 1.
        """
        source = self._resident.source
        source.machine.wait()
        xp, shape = source.machine.arrays, source.shape
        given = normals_on(xp, normals, shape)
        inside = None if mask is None else on_machine(xp, mask, np.bool_, shape, "the mask")
        begun = None if start is None else on_machine(xp, start, np.float64, shape, "start")
        trusted = None if confidence is None else confidence_on(xp, confidence, shape)
        run = self._resident.run(given, inside, begun, trusted)
        free = free_note(run.parts.count, source.settings["logarithmic"])
        notes = *run.report.notes(), *run.solution.notes, *free
        return Surface(
            in_kind(normals, run.depth),
            source.kind,
            Status(run.solution.outcome, notes),
            run.solution.history,
            run.parts.count,
        )
