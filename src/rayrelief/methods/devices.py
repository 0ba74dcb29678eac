"""Devices by name: which backend computes a method."""

from __future__ import annotations

from typing import Literal, get_args

from rayrelief.backends.base import Backend
from rayrelief.backends.cpu import CPU
from rayrelief.checks import one_of
from rayrelief.errors import InputError
from rayrelief.methods.base import Method
from rayrelief.methods.ordered.recipe import Ordered
from rayrelief.methods.recipes import BiNI, RayPlane, Smooth
from rayrelief.solvers.multigrid import Multigrid

DeviceName = Literal["auto", "cpu", "cuda"]
DEVICES = one_of(get_args(DeviceName), "Leave it out for the CPU")


def backend_for(
    device: DeviceName, method: Method, threads: int | None = None, *, repeats: bool = False
) -> Backend:
    """Backend of a device; "auto" is a GPU where there is one that can compute the method.

    Images that repeat are for the CPU. An InputError says what is missing for the GPU that was
    asked for.
    """
    DEVICES.check("device", device)
    if device == "cpu" or (device == "auto" and (repeats or not runs_on_gpu(method))):
        return CPU(threads)
    if repeats:
        raise InputError(
            "a GPU was asked for, and an image that repeats was given",
            expected="the CPU for these",
            remedy="Leave the device out (--device)",
        )
    from rayrelief.backends.cuda.backend import CUDA
    from rayrelief.backends.cuda.device import cupy, is_available

    if device == "auto" and not is_available():
        return CPU(threads)
    cupy()  # or an error, before any work
    return CUDA(threads)


def runs_on_gpu(method: Method) -> bool:
    """Whether the GPU knows the law and the solver of a method."""
    if not isinstance(method, RayPlane | BiNI | Smooth | Ordered):
        return False
    return isinstance(method.solver, Multigrid)
