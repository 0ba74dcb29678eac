"""Integrator: maps of one size and camera, from normals to depth without leaving the GPU."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from rayrelief.backends.base import Final
from rayrelief.backends.cuda.computation import GridComputation
from rayrelief.backends.cuda.device import Device
from rayrelief.backends.cuda.engine import Engine
from rayrelief.backends.cuda.equations import put_components
from rayrelief.backends.cuda.layout import Struct, Workspace
from rayrelief.backends.cuda.machine import Array, Machine
from rayrelief.cameras.base import Camera
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.view import View
from rayrelief.checks import require
from rayrelief.components import free_note
from rayrelief.conventions import DepthKind, FloatArray
from rayrelief.errors import InputError, IntegrationWarning, Status
from rayrelief.gpu.constants import Parts
from rayrelief.methods.base import Iteration, Solution
from rayrelief.methods.recipes import BiNI, RayPlane, Smooth
from rayrelief.preprocess import (
    ERROR_FRACTION,
    WARN_FRACTION,
    Preprocessing,
    PreprocessReport,
)

Recipe = RayPlane | BiNI | Smooth


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
        ``RayPlane()`` by default; ``BiNI()`` or ``Smooth()``. Four neighbours, and the paper's
        equations and preprocessing: for other settings use ``integrate(..., device="cuda")``.
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
        view = View.of(camera, height, width)
        self._kind = view.kind
        self._make(view.wraps and width > 2, camera.central, (height, width), method, machine)
        if isinstance(camera, Pinhole) and not camera.skew:
            self._work.grid["pinhole"] = camera.fx, camera.fy, camera.cx, camera.cy
        else:
            self._put_rays(rays_of(view))

    def _make(
        self,
        wraps: bool,
        central: bool,
        shape: tuple[int, int],
        method: Recipe | None,
        machine: Machine | None,
    ) -> None:
        """Make room for maps of a size, and compile what they need."""
        self.method: Recipe = RayPlane() if method is None else method
        _check_method(self.method)
        self._machine = Device() if machine is None else machine
        self._work = work = Workspace(self._machine, *shape)
        grid = work.grid
        grid["wraps"], grid["logarithmic"] = wraps, central
        grid["first_order"] = isinstance(self.method, BiNI)
        for d in range(4):
            work.place(f"offset{d}", work.pixels, np.float32)
            work.place(f"gamma{d}", work.pixels, np.float32)
        grid["gamma_weight"] = grid["gamma"]
        work.place("component", work.pixels, np.int32)
        self._engine = Engine.of(self._machine, work)

    def _put_rays(self, rays: FloatArray) -> None:
        self._work.point("rays", self._machine.put(rays.ravel()))

    def __call__(self, normals: Any, *, mask: Any = None, start: Any = None) -> Surface:
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
        """
        self._engine.queue.begin()
        with self._engine.queue.arrays():
            return self._integrated(normals, mask, start)

    def _integrated(self, normals: Any, mask: Any, start: Any) -> Surface:
        xp, work, shape = self._machine.arrays, self._work, (self._work.height, self._work.width)
        work.point("normals", _on_machine(xp, normals, np.float32, (*shape, 3), "normals"))
        work.grid["mask"] = 0
        if mask is not None:
            inside = _on_machine(xp, mask, np.bool_, shape, "the mask")
            work.point("mask", inside.view(np.uint8))
        self._engine.schedule.formulate()
        self._engine.queue.mark()
        found = self._engine.scalars()
        report = _judged(found)
        parts = Parts(xp, work.arrays["component"], int(found["nodes"]), int(found["components"]))
        if parts.count > 1:
            put_components(work, parts.segments())
            work.point("part", parts.numbers())
        constants = self._begin(parts, start)
        solution = self._iterate(parts, is_flat=start is None)
        depth = self._depth(parts, constants).reshape(shape)
        return Surface(
            _in_kind(normals, xp, depth),
            self._kind,
            Status(solution.outcome, (*report.notes(), *solution.notes, *self._notes(parts))),
            solution.history,
            parts.count,
        )

    def _begin(self, parts: Parts, start: Any) -> Array:
        """Set the first surface; the constant (C,) that each component shall have."""
        xp, work = parts.arrays, self._work
        x = work.arrays["x"]
        if start is None:
            x[...] = 0.0
            return 0.0
        depth = _on_machine(xp, start, np.float64, (work.height, work.width), "start")
        inside = parts.component >= 0
        log = bool(work.grid["logarithmic"][0])
        values = xp.where(inside, depth, 1.0 if log else 0.0)
        bad = int(xp.count_nonzero(~(xp.isfinite(values) & ((values > 0) | (not log)))))
        if bad:
            raise InputError(
                f"start has no depth at {bad:,} of {parts.nodes:,} pixels",
                expected="a finite depth, positive for central cameras, inside the whole mask",
                remedy="Fill the gaps, or leave these pixels out of the mask",
            )
        x[...] = xp.log(values) if log else values
        medians = parts.medians(x)
        shift = medians if parts.count == 1 else medians[work.arrays["part"]]
        x[...] = xp.where(inside, x - shift, 0.0)
        return medians

    def _iterate(self, parts: Parts, *, is_flat: bool) -> Solution:
        engine, solver = self._engine, self.method.solver

        def finish(law: Any, image: Any) -> Final:
            return Final(image, None, None, None)  # type: ignore[arg-type]

        assembled = _Assembled(parts.count < parts.nodes, None if is_flat else parts)
        running = GridComputation(engine, solver, parts.nodes, parts.count, is_flat, finish)
        return self.method.solve(assembled, _Running(running))  # type: ignore[arg-type]

    def _depth(self, parts: Parts, constants: Array) -> Array:
        """Depth (H * W,) with the constants that the components shall have."""
        work, queue = self._work, self._engine.queue
        work.point("shift", constants - parts.medians(work.arrays["x"]))
        depth = work.place("depth", work.pixels, np.float64)
        queue.launch("depth_of", self._engine.schedule.spread, 256)
        queue.finish()
        del work.arrays["depth"]
        return depth

    def _notes(self, parts: Parts) -> tuple[str, ...]:
        return free_note(parts.count, bool(self._work.grid["logarithmic"][0]))


def rays_of(view: View) -> FloatArray:
    """Rays (H, W, 3) of a view, or the origins of parallel ones."""
    rays = view.rays if view.origins is None else view.origins
    return np.ascontiguousarray(rays, np.float64)


@dataclass(frozen=True)
class _Assembled:
    """What the loop asks about a problem that is on the GPU."""

    has_equations: bool
    start: object


@dataclass(frozen=True, eq=False)
class _Running:
    """A backend that has begun already."""

    computation: GridComputation

    @contextmanager
    def compute(self, problem: object, solver: object) -> Iterator[GridComputation]:
        """Go on with it."""
        yield self.computation


def _check_method(method: Recipe) -> None:
    """Raise InputError for settings whose equations are set up on the CPU alone."""
    plain = isinstance(method, RayPlane | BiNI | Smooth) and method.connectivity == 4
    plain = plain and method.preprocessing in (Preprocessing(), Preprocessing("keep"))
    if isinstance(method, BiNI):
        plain = plain and method.form == "rays"
    elif plain:
        ours = method.midpoint, method.outlier_threshold, method.cost_factor, method.weight_gamma
        plain = ours == (0.5, None, "full", None)
    require(
        plain,
        f"the method {method} was asked for",
        "RayPlane, BiNI or Smooth with the paper's equations, four neighbours and plain normals",
        "Leave its other settings out, or use integrate(..., device='cuda')",
    )


def _judged(found: Struct) -> PreprocessReport:
    """What was found in the normals; an InputError or a warning if too many face away."""
    nodes, away = int(found["nodes"]), int(found["facing_away"])
    without_normal, without_ray = int(found["without_normal"]), int(found["without_ray"])
    if nodes == 0:
        raise InputError(
            f"no pixel is left to integrate: {without_normal:,} have no normal and "
            f"{without_ray:,} no ray",
            expected="a finite, non-zero normal and a ray at some pixel of the mask",
            remedy="Check that the mask matches the map, and that the map holds normals",
        )
    words = f"{100 * away / nodes:.0f} % of the normals face away from the camera"
    if away > ERROR_FRACTION * nodes:
        raise InputError(
            words,
            expected="less than 1 %",
            remedy="Check the convention: rayrelief.to_opencv converts others",
        )
    if away > WARN_FRACTION * nodes:
        text = f"{words}; expected less than 1 %. Check the convention."
        warnings.warn(text, IntegrationWarning, stacklevel=5)
    return PreprocessReport(
        pixels=nodes + without_normal + without_ray,
        without_normal=without_normal,
        without_ray=without_ray,
        facing_away=away,
        averaged=0,
        dropped=0,
        outliers=0,
    )


def _on_machine(xp: Any, array: Any, kind: Any, shape: tuple[int, ...], name: str) -> Array:
    """Flat array in the memory of the GPU, copied only where it must be."""
    foreign = hasattr(array, "__dlpack__") and not hasattr(array, "__cuda_array_interface__")
    given = xp.from_dlpack(array) if foreign and not hasattr(array, "__array__") else array
    found = xp.asarray(given)
    require(
        found.shape == shape,
        f"the shape of {name} is {tuple(found.shape)}",
        f"{shape}, the size that the integrator was made for",
        "Make an Integrator for this size",
    )
    return xp.ascontiguousarray(found, dtype=kind).ravel()


def _in_kind(given: Any, xp: Any, depth: Array) -> Any:
    """Depth in the kind of array that was given."""
    family = type(given).__module__.partition(".")[0]
    if family == "torch":
        import torch

        return torch.from_dlpack(depth)
    return depth.get() if family == "numpy" and hasattr(depth, "get") else depth
