"""integrate(...) -> Integration: the main function."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from rayrelief.backends.base import Backend
from rayrelief.cameras.base import Camera
from rayrelief.checks import SWITCH, Rule, instance_of, one_of
from rayrelief.components import Components, fix_constants, free_note
from rayrelief.conventions import FloatArray
from rayrelief.errors import (
    InputError,
    IntegrationError,
    IntegrationWarning,
    Outcome,
    Status,
    in_number,
)
from rayrelief.estimate import check_memory
from rayrelief.fusion.solving import solve_with_prior, stages_of
from rayrelief.inputs import checked_mask, checked_normals
from rayrelief.methods.base import Callback, Method, Solution
from rayrelief.methods.catalogue import default_method
from rayrelief.methods.devices import DeviceName, backend_for
from rayrelief.pieces import threads_for
from rayrelief.plausibility import doubts, other_axes
from rayrelief.prior import DepthPrior, PriorFit
from rayrelief.problem import Problem, assemble
from rayrelief.result import Integration

OnFailure = Literal["raise", "warn", "return"]

# Rules of the arguments.
METHODS = instance_of(
    Method,
    "a recipe such as Ordered(), RayPlane() or Smooth(), or an object with solve()",
    "Leave it out for the default",
)
BACKENDS = instance_of(
    Backend,
    "one of rayrelief.backends such as CPU(), or an object with compute()",
    "Leave it out for all cores of this machine",
)
CALLBACKS = Rule(
    callable,
    "a function that takes an Iteration",
    "Leave it out, or return True from it to stop",
)
PRIORS = instance_of(
    DepthPrior, "a DepthPrior", "Use DepthPrior(depth), with NaN where no depth is known"
)
PERIODS = Rule(
    lambda pair: [isinstance(each, bool | np.bool_) for each in pair] == [True, True],
    "two booleans: whether the rows repeat, and whether the columns do",
    "Use (True, True) for a texture that repeats both ways",
)
FAILURES = one_of(get_args(OnFailure), "Leave it out to be warned")


def integrate(
    normals: npt.ArrayLike,
    camera: Camera,
    *,
    mask: npt.ArrayLike | None = None,
    start: npt.ArrayLike | None = None,
    prior: DepthPrior | None = None,
    confidence: npt.ArrayLike | None = None,
    periodic: tuple[bool, bool] = (False, False),
    method: Method | None = None,
    backend: Backend | None = None,
    device: DeviceName = "cpu",
    callback: Callback | None = None,
    on_failure: OnFailure = "warn",
    memory_check: bool = True,
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
        (H, W), True inside; None uses every pixel that has a normal and a ray.
    start
        (H, W) initial depth, of the same kind as the result's; also fixes the scale.
    prior
        Known depths, of all pixels or of a few: they place the parts of the surface.
    confidence
        (H, W) how far each normal is to be trusted, from 0 (it follows its neighbours) to 1.
    periodic
        Whether the rows, and whether the columns, of a texture repeat: its last row then joins the
        first, without a tilt. Orthographic cameras only.
    method
        ``Ordered()`` by default; ``RayPlane()`` is the paper's, ``RayPlane.published()`` with its
        schedule; or ``BiNI()``, ``Smooth()``, any object with ``solve`` (docs/write_your_own.md).
    backend
        Where to compute: that of ``device`` by default.
    device
        "cpu", all cores of this machine; "cuda", a GPU, for Ordered, RayPlane, BiNI and Smooth; or
        "auto", a GPU where there is one that can compute the method. Maps that are in the memory of
        a GPU stay there with ``rayrelief.gpu.Integrator``.
    callback
        Called with each outer iteration; stops the run by returning True.
    on_failure
        What to do when the run failed: "raise", "warn" or "return".
    memory_check
        Whether to refuse a map that is expected to need more memory than is available.

    Returns
    -------
    Integration
        Depth, mesh, weights, jumps, history and a status that says how the run ended.
    """
    FAILURES.check("on_failure", on_failure)
    if not isinstance(camera, Camera):
        raise InputError(
            f"the camera is a {type(camera).__name__}",
            expected="one of rayrelief.cameras",
            remedy="Use rayrelief.cameras.Pinhole(fx, fy, cx, cy), Orthographic() or RayMap(rays)",
        )
    method = default_method() if method is None else method
    METHODS.check("the method", method)
    SWITCH.check("memory_check", memory_check)
    PERIODS.check("periodic", periodic)
    if prior is not None:
        PRIORS.check("the prior", prior)
    if callback is not None:
        CALLBACKS.check("the callback", callback)
    if backend is None:
        backend = backend_for(device, method, repeats=any(periodic))
    elif device != "cpu":
        raise InputError(
            f"both a backend and the device {device!r}",
            expected="one of them",
            remedy="Leave the device out",
        )
    BACKENDS.check("the backend", backend)
    array = checked_normals(normals)
    inside = checked_mask(mask, array.shape[:2])
    if memory_check:
        count = int(np.count_nonzero(inside))
        runs: tuple[Method, ...] = (method,)
        if prior is not None and np.shape(prior.depth) == inside.shape:
            runs = stages_of(prior, method, int(np.count_nonzero(prior.known & inside)), count)
        for each in runs:
            check_memory(inside.size, count, each, backend)
    threads: int | None = getattr(backend, "threads", 1)
    problem = assemble(
        array,
        camera,
        mask=inside,
        start=start,
        confidence=confidence,
        periodic=periodic,
        method=method,
        threads=threads,
    )
    del array, inside
    fit = None
    if prior is None:
        solution = method.solve(problem, backend, callback)
    else:
        solution, fit = solve_with_prior(problem, prior, method, backend, callback)
    _check_solution(solution, problem, method)
    with threads_for(problem.graph.size, threads):
        x, components = fix_constants(problem.graph, solution.x, problem.start, solution.anchored)
        depth = problem.depth(x)
    solution = replace(solution, x=x)
    values = depth[components.labels >= 0]
    # A depth of 0 along a ray is one that has become too small for a number.
    finite = np.isfinite(values).all() and (values.all() or not camera.central)
    outcome = solution.outcome if finite else Outcome.NOT_FINITE
    against: tuple[str, ...] = ()
    misread: tuple[str, ...] = ()
    unusual = () if fit is None else fit.doubts()
    if outcome.ok and outcome is not Outcome.STOPPED:
        against = doubts(problem, x)
        outcome = Outcome.IMPLAUSIBLE if against else outcome
        misread = () if against else other_axes(problem, x)
    result = Integration(
        depth=_read_only(depth),
        depth_kind=problem.depth_kind,
        camera=camera,
        method=method,
        status=Status(
            outcome, (*against, *misread, *unusual, *_notes(problem, components, solution, fit))
        ),
        history=solution.history,
        components=components,
        preprocessing=problem.preprocessing,
        prior=fit,
        _problem=problem,
        _solution=solution,
    )
    _report_failure(result.status, on_failure)
    if result.status.ok and on_failure != "return":
        for doubt in (*misread[:1], *unusual):
            warnings.warn(doubt, IntegrationWarning, stacklevel=2)
    return result


def _check_solution(solution: object, problem: Problem, method: Method) -> None:
    """Raise InputError unless all that a method returned fits the graph of its problem."""
    name, edges = type(method).__name__, problem.graph.neighbours.shape
    if not isinstance(solution, Solution):
        raise InputError(
            f"solve of the method {name} returned {type(solution).__name__}",
            expected="a rayrelief.methods.Solution",
            remedy="See docs/write_your_own.md",
        )
    expected = {"x": edges[1:], "segments": edges[1:]}
    expected |= dict.fromkeys(("cuts", "weights", "activation"), edges)
    for field, shape in expected.items():
        value = getattr(solution, field)
        if np.shape(value) != shape and not (value is None and field != "x"):
            raise InputError(
                f"the method {name} returned {field} of the shape {np.shape(value)}",
                expected=f"{shape}, for the {edges[1]:,} nodes of the problem's graph",
                remedy="See docs/write_your_own.md",
            )


def _read_only(array: FloatArray) -> FloatArray:
    """Make an array of the result read-only: to change it, take a copy."""
    array.flags.writeable = False
    return array


def _notes(
    problem: Problem, components: Components, solution: Solution, fit: PriorFit | None
) -> tuple[str, ...]:
    notes = [*problem.preprocessing.notes(), *problem.notes]
    notes += [*solution.notes, *solution.floating_note()]
    if problem.equations.left_out:
        notes.append(
            in_number(
                problem.equations.left_out // 2,
                "pair of neighbouring pixels was",
                "pairs of neighbouring pixels were",
            )
            + " ignored: no continuous surface has their normals"
        )
    if fit is not None:
        notes.append(str(fit))
    known = fit is not None, problem.start is not None
    notes += free_note(components.free, problem.view.camera.central, *known)
    return tuple(notes)


def _report_failure(status: Status, on_failure: OnFailure) -> None:
    if status.ok or on_failure == "return":
        return
    if on_failure == "raise":
        outcome: Outcome = status.outcome
        remedy = outcome.remedy[0].upper() + outcome.remedy[1:]
        raise IntegrationError("; ".join((outcome.cause, *status.notes)), remedy=remedy)
    warnings.warn(str(status), IntegrationWarning, stacklevel=3)
