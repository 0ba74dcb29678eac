"""integrate(...) -> Integration: the one function that most people call."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rayrelief.cameras.base import Camera
from rayrelief.cameras.plane import check_against_image
from rayrelief.cameras.view import View
from rayrelief.components import Components, fix_constants
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.errors import InputError, IntegrationError, IntegrationWarning, Outcome, Status
from rayrelief.estimate import check_memory
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.graph import pixel_graph
from rayrelief.methods.base import Method, depth_image
from rayrelief.methods.irls import Callback, LoopResult, iterate
from rayrelief.methods.recipes import RayPlane
from rayrelief.preprocess import PreprocessReport, prepare_normals
from rayrelief.result import Integration, SolvedState
from rayrelief.threads import kernel_threads

OnFailure = Literal["raise", "warn", "return"]


def integrate(
    normals: npt.ArrayLike,
    camera: Camera,
    *,
    mask: npt.ArrayLike | None = None,
    method: Method | None = None,
    threads: int | None = None,
    callback: Callback | None = None,
    on_failure: OnFailure = "warn",
) -> Integration:
    """Turn a normal map (OpenCV camera frame, facing the camera) into depth and a surface.

    Parameters
    ----------
    normals
        (H, W, 3): x right, y down, z forward, n . ray < 0; ``to_opencv`` converts other
        conventions. Any real dtype, stride or flag; never modified.
    camera
        Gives the ray of every pixel.
    mask
        (H, W), True inside; None takes every pixel that has a normal and a ray.
    method
        ``RayPlane()`` by default; ``BiNI()``, ``Smooth()``, ``RayPlane.published()`` ...
    threads
        Number of threads; all cores by default. The result does not depend on it.
    callback
        Sees each outer iteration and stops the run by returning True.
    on_failure
        What to do when the run did not end as it should: "raise", "warn" or "return".

    Returns
    -------
    Integration
        Depth, mesh, weights, jumps, history and an honest status.
    """
    if on_failure not in ("raise", "warn", "return"):
        raise InputError(
            f"on_failure is {on_failure!r}",
            expected="'raise', 'warn' or 'return'",
            remedy="Leave it out to be warned",
        )
    if not isinstance(camera, Camera):
        raise InputError(
            f"the camera is a {type(camera).__name__}",
            expected="one of rayrelief.cameras",
            remedy="Use rayrelief.cameras.Pinhole(fx, fy, cx, cy), Orthographic() or RayMap(rays)",
        )
    method = RayPlane() if method is None else method
    if not isinstance(method, Method):
        raise InputError(
            f"the method is {method!r}",
            expected="a recipe such as RayPlane(), BiNI() or Smooth()",
            remedy="Leave it out for RayPlane()",
        )
    if callback is not None and not callable(callback):
        raise InputError(
            f"the callback is {callback!r}",
            expected="a function of an Iteration",
            remedy="Leave it out, or return True from it to stop",
        )
    array = _checked_normals(normals)
    inside = _checked_mask(mask, array.shape[:2])
    check_memory(inside.size, int(np.count_nonzero(inside)), method)
    if camera.resolution is None:  # a camera that says what it is for has been looked at, or cut
        check_against_image(camera, *inside.shape)
    view = View.of(camera, *inside.shape)
    unit, inside, report = prepare_normals(array, inside, view.rays, method.preprocessing)
    graph = pixel_graph(inside, method.connectivity, wraps=view.wraps)
    equations = method.equations(graph, unit, view)
    kind, view = view.kind, view.unused()  # the iterations need no rays, but the memory
    if array.dtype.itemsize <= 4:
        unit = unit.astype(np.float32)  # no less precise than what was given
    start = _start(method, equations)
    with kernel_threads(threads, equations.graph.size):
        loop = iterate(
            equations,
            method.model,
            method.solver,
            start=start,
            max_iterations=method.max_iterations,
            tolerance=method.tolerance,
            callback=callback,
        )
    x, components = fix_constants(equations.graph, loop.x, start)
    with np.errstate(over="ignore"):
        values = np.exp(x) if equations.unknown == "log-depth" else x
    outcome = loop.outcome if np.isfinite(values).all() else Outcome.NOT_FINITE
    result = Integration(
        depth=_read_only(equations.graph.scatter(values)),
        depth_kind=kind,
        camera=camera,
        method=method,
        status=Status(outcome, _notes(report, equations, components, camera, loop)),
        history=loop.history,
        components=components,
        preprocessing=report,
        _state=SolvedState(view, unit, equations, x, threads),
    )
    _report_failure(result.status, on_failure)
    return result


def _start(method: Method, equations: EdgeEquations) -> FloatArray | None:
    """First iterate (N,) from the method's initial depth, checked."""
    if method.initial_depth is None:
        return None
    graph = equations.graph
    depth = depth_image("initial_depth", method.initial_depth, graph.shape)
    start = graph.gather(depth)
    bad = ~np.isfinite(start)
    if equations.unknown == "log-depth":
        bad |= ~(start > 0)
    if bad.any():
        raise InputError(
            f"initial_depth is missing at {int(bad.sum()):,} of {graph.size:,} pixels",
            expected="a finite (and, for central cameras, positive) depth inside the whole mask",
            remedy="Fill the gaps, or leave these pixels out of the mask",
        )
    return np.log(start) if equations.unknown == "log-depth" else start.copy()


def _read_only(array: FloatArray) -> FloatArray:
    """A result is evidence: whoever wants to change it takes a copy."""
    array.flags.writeable = False
    return array


def _checked_normals(normals: npt.ArrayLike) -> npt.NDArray[Any]:
    try:
        array: npt.NDArray[Any] = np.asarray(normals)
    except ValueError as error:
        raise InputError(
            f"normals are no array ({error})",
            expected="(height, width, 3)",
            remedy="Give one vector x, y, z per pixel",
        ) from error
    if array.ndim != 3 or array.shape[2] != 3 or 0 in array.shape:
        hint = "Move the channels to the end: numpy.moveaxis(normals, 0, -1)"
        chw = array.ndim == 3 and array.shape[0] == 3
        raise InputError(
            f"normals have the shape {array.shape}",
            expected="(height, width, 3)",
            remedy=hint if chw else "Give one vector x, y, z per pixel",
        )
    if not (np.issubdtype(array.dtype, np.floating)):
        raise InputError(
            f"normals have the dtype {array.dtype}",
            expected="floating-point vectors",
            remedy="Decode image values first, or use read_scene, which does",
        )
    return array


def _checked_mask(mask: npt.ArrayLike | None, shape: tuple[int, ...]) -> BoolArray:
    if mask is None:
        return np.ones((shape[0], shape[1]), dtype=np.bool_)
    array: npt.NDArray[Any] = np.asarray(mask)
    if array.shape != tuple(shape):
        raise InputError(
            f"the mask has the shape {array.shape}",
            expected=f"{tuple(shape)}, the size of the normal map",
            remedy="Crop or resize the mask to the normal map",
        )
    if array.dtype != np.bool_:
        raise InputError(
            f"the mask has the dtype {array.dtype}",
            expected="bool, True inside",
            remedy="Compare it with half of its range: mask > 127",
        )
    if not array.any():
        raise InputError(
            "the mask is empty",
            expected="at least one pixel inside (True)",
            remedy="Check that the mask is not inverted",
        )
    return array


def _notes(
    report: PreprocessReport,
    equations: EdgeEquations,
    components: Components,
    camera: Camera,
    loop: LoopResult,
) -> tuple[str, ...]:
    notes = list(report.notes())
    if loop.unfinished:
        notes.append(
            f"{loop.unfinished} of {len(loop.history)} inner solves reached the solver's max_steps"
        )
    if equations.left_out:
        notes.append(f"{equations.left_out:,} impossible edges (omega <= 0) were left out")
    if components.count > 1:
        constant = "scale" if camera.central else "shift"
        notes.append(
            f"{components.count:,} components: the {constant} of each is free, only depths within "
            "one compare"
        )
    return tuple(notes)


def _report_failure(status: Status, on_failure: OnFailure) -> None:
    if status.ok or on_failure == "return":
        return
    if on_failure == "raise":
        outcome: Outcome = status.outcome
        remedy = outcome.remedy[0].upper() + outcome.remedy[1:]
        raise IntegrationError(outcome.cause, remedy=remedy)
    warnings.warn(str(status), IntegrationWarning, stacklevel=3)
