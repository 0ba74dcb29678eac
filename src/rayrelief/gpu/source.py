"""Where maps on a GPU come from: their size, rays and machine, and the part that has normals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rayrelief.backends.cuda.engine import Engine
from rayrelief.backends.cuda.layout import Workspace
from rayrelief.backends.cuda.machine import Array, Machine
from rayrelief.cameras.base import Camera
from rayrelief.cameras.intrinsics import check_against_image
from rayrelief.cameras.view import View
from rayrelief.checks import require
from rayrelief.conventions import DepthKind, FloatArray
from rayrelief.formulation.confidence import check_any

ROUND = 24  # pixels: boxes of maps are rounded up to multiples
WASTE = 1.5  # of the pixels that a box needs: a larger workspace is replaced


@dataclass(frozen=True, eq=False)
class Source:
    """What images come from: their size and rays, and the machine that they are on.

    What a method needs of them: how many directions, and whether its equations have intervals.
    """

    machine: Machine
    shape: tuple[int, int]
    kind: DepthKind
    settings: dict[str, Any]
    rays: Array | None
    directions: int = 4
    intervals: bool = False

    def __post_init__(self) -> None:
        if self.rays is not None:
            object.__setattr__(self, "rays", self.machine.put(self.rays.ravel()))

    def engine(self, height: int, width: int, *, trusts: bool) -> Engine:
        """Make room for a part of the image, and compile what it needs.

        ``trusts`` says whether each normal has a confidence.
        """
        work = Workspace(self.machine, height, width, self.directions)
        for name, value in self.settings.items():
            work.grid[name] = value
        work.grid["source_width"] = self.shape[1]
        if self.rays is not None:
            work.point("rays", self.rays)
        step = 2 if self.intervals else 1  # one equation with an interval serves both directions
        for d in range(0, self.directions, step):
            work.place(f"offset{d}", work.pixels, np.float32)
            work.place(f"gamma{d}", work.pixels, np.float32)
        for pair in range(self.directions // 2 if self.intervals else 0):
            for name in ("half_width", "sigma", "lead"):
                work.place(f"{name}{pair}", work.pixels, np.float32)
        if trusts and not self.intervals:  # confidence is not for weights, which decide on jumps
            for d in range(self.directions):
                work.place(f"gamma_weight{d}", work.pixels, np.float32)
        else:
            work.grid["gamma_weight"] = work.grid["gamma"]
        work.place("component", work.pixels, np.int32)
        work.place("bins", 2 * 256, np.int32)
        work.place("median", 2, np.float64)
        return Engine.of(self.machine, work)


@dataclass(frozen=True)
class Box:
    """A part of an image."""

    top: int
    left: int
    size: tuple[int, int]


def box_of(machine: Machine, normals: Array, mask: Array | None) -> Box:
    """Smallest box that holds a mask, or all normals."""
    xp = machine.arrays
    inside = xp.isfinite(normals[..., 0]) if mask is None else mask
    height = len(inside)
    used = machine.get(xp.concatenate((inside.any(axis=1), inside.any(axis=0))))
    rows, columns = np.flatnonzero(used[:height]), np.flatnonzero(used[height:])
    if not rows.size:
        return Box(0, 0, (1, 1))
    (top, bottom), (left, right) = rows[[0, -1]].tolist(), columns[[0, -1]].tolist()
    return Box(top, left, (bottom + 1 - top, right + 1 - left))


def fits(box: Box, work: Workspace) -> bool:
    """Whether a workspace has room for a box, and not far more."""
    height, width = box.size
    larger = work.pixels > WASTE * (height + ROUND) * (width + ROUND)
    return height <= work.height and width <= work.width and not larger


def view_of(camera: Camera, height: int, width: int) -> View:
    """Rays of a camera that can have taken an image of this size, or a CameraError."""
    if camera.resolution is None:  # a camera that says what it is for has been looked at, or cut
        check_against_image(camera, height, width)
    return View.of(camera, height, width)


def rays_of(view: View) -> FloatArray:
    """Rays (H, W, 3) of a view, or the origins of parallel ones."""
    rays = view.rays if view.origins is None else view.origins
    return np.ascontiguousarray(rays, np.float64)


def normals_on(xp: Any, normals: Any, shape: tuple[int, int]) -> Array:
    """Normals (H, W, 3) in the memory of the GPU, in single precision, or an InputError."""
    found = _taken(xp, normals)
    require(
        found.dtype.kind == "f",
        f"normals have the dtype {found.dtype}",
        "floating-point vectors",
        "Decode image values first: rayrelief.read_scene does it",
    )
    return on_machine(xp, found, np.float32, (*shape, 3), "normals")


def confidence_on(xp: Any, confidence: Any, shape: tuple[int, int]) -> Array:
    """Confidence (H, W) from 0 to 1 in the memory of the GPU, 0 where it is NaN; or InputError."""
    found = xp.nan_to_num(on_machine(xp, confidence, np.float32, shape, "the confidence"))
    low, high = float(found.min()), float(found.max())
    require(
        low >= 0 and high <= 1,
        f"the confidence has values from {low:g} to {high:g}",
        "from 0 for none to 1 for full",
        "Divide it by its largest value; of an uncertainty s take min(s) ** 2 / s ** 2",
    )
    check_any(high)
    return found


def _taken(xp: Any, array: Any) -> Array:
    foreign = hasattr(array, "__dlpack__") and not hasattr(array, "__cuda_array_interface__")
    given = xp.from_dlpack(array) if foreign and not hasattr(array, "__array__") else array
    return xp.asarray(given)


def on_machine(xp: Any, array: Any, kind: Any, shape: tuple[int, ...], name: str) -> Array:
    """Array in the memory of the GPU, copied only where it must be."""
    found = _taken(xp, array)
    require(
        found.shape == shape,
        f"the shape of {name} is {tuple(found.shape)}",
        f"{shape}, the size that the integrator was made for",
        "Make an Integrator for this size",
    )
    return xp.ascontiguousarray(found, dtype=kind)


def in_kind(given: Any, depth: Array) -> Any:
    """Depth in the kind of array that was given."""
    family = type(given).__module__.partition(".")[0]
    if family == "torch":
        import torch

        return torch.from_dlpack(depth)
    return depth.get() if family == "numpy" and hasattr(depth, "get") else depth
