"""Problem: the input of a method, assembled once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.cameras.base import Camera
from rayrelief.cameras.intrinsics import check_against_image
from rayrelief.cameras.view import View
from rayrelief.checks import as_array, as_mask
from rayrelief.conventions import BoolArray, DepthKind, FloatArray, SingleArray
from rayrelief.errors import InputError
from rayrelief.formulation.confidence import check_any, with_confidence
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.formulation.ray_plane import two_plane_equations
from rayrelief.formulation.tilt import without_tilt
from rayrelief.graph import Connectivity, PixelGraph, pixel_graph
from rayrelief.pieces import copied, threads_for
from rayrelief.preprocess import Preprocessing, PreprocessReport, prepare_normals

EquationsFor = Callable[[PixelGraph, FloatArray, View], EdgeEquations]


@dataclass(frozen=True, eq=False)
class Anchors:
    """Values that some pixels are held to.

    Attributes
    ----------
    values
        (N,) of the unknown; those of weight 0 do not count.
    weights
        (N,) how strongly, >= 0, relative to the squared gamma of an edge of weight 1.
    """

    values: FloatArray
    weights: SingleArray

    def __post_init__(self) -> None:
        values, weights = np.asarray(self.values, np.float64), np.asarray(self.weights, np.float32)
        held = weights > 0
        usable = values.shape == weights.shape and bool(np.all(held | (weights == 0)))
        if not (usable and np.isfinite(weights).all() and np.isfinite(values[held]).all()):
            raise InputError(
                f"anchors have values of the shape {values.shape} and weights of the shape "
                f"{weights.shape}, or some that are not finite or negative",
                expected="one weight >= 0 for each node, and a finite value where it is above 0",
                remedy="Give weight 0 to pixels without a value",
            )
        object.__setattr__(self, "values", np.where(held, values, 0.0))
        object.__setattr__(self, "weights", weights)


@dataclass(frozen=True, eq=False)
class Problem:
    """A view, its normals, and the equations of all pairs of neighbouring pixels.

    Attributes
    ----------
    view
        Gives the rays of the image, computed on demand.
    depth_kind
        What a depth along these rays measures.
    unit_normals
        (H, W, 3) in the camera frame, NaN outside; in single precision if the input was.
    equations
        On the graph without the edges that the normals make impossible.
    preprocessing
        What was found and done before.
    start
        (N,) first iterate, or None.
    anchors
        Values that some pixels are pulled to, or None.
    equations_for
        Makes the equations of a graph, normals (H, W, 3) and a view.
    notes
        What was done to the equations, one sentence each.
    confidence
        (H, W) how far each normal is trusted, 0 to 1, as it is in the equations; or None.
    """

    view: View
    depth_kind: DepthKind
    unit_normals: FloatArray | SingleArray
    equations: EdgeEquations
    preprocessing: PreprocessReport
    start: FloatArray | None = None
    anchors: Anchors | None = None
    equations_for: EquationsFor = two_plane_equations
    notes: tuple[str, ...] = ()
    confidence: SingleArray | None = None

    @property
    def graph(self) -> PixelGraph:
        """Pixels and the edges between them."""
        return self.equations.graph

    @property
    def normals(self) -> FloatArray:
        """Unit normals (H, W, 3) to compute with."""
        return self.unit_normals.astype(np.float64, copy=False)

    @property
    def has_equations(self) -> bool:
        """Whether anything connects two pixels, or holds one."""
        return self.graph.component_count < self.graph.size or self.anchors is not None

    def depth(self, x: FloatArray) -> FloatArray:
        """Depth (H, W) of the unknown (N,); NaN outside, infinite on overflow."""
        with np.errstate(over="ignore"):
            values = np.exp(x) if self.equations.unknown == "log-depth" else x
        return self.graph.scatter(values)

    def unknown(self, depth: FloatArray) -> FloatArray:
        """Unknown (N,) of the equations for a depth (H, W): its logarithm, or the depth itself."""
        values = self.graph.gather(depth)
        with np.errstate(divide="ignore"):  # of surfaces that are none
            return np.log(values) if self.equations.unknown == "log-depth" else values.copy()

    def connected(self, connectivity: Connectivity) -> Problem:
        """Return the same problem with another connectivity, without start and anchors."""
        inside = self.graph.scatter(np.ones(self.graph.size, dtype=np.bool_), fill=False)
        graph = pixel_graph(inside, connectivity, wraps=self.view.wraps, turn=self.view.turn)
        made = _equations(self.equations_for, graph, self.normals, self.view, self.confidence)
        return replace(self, equations=made[0], start=None, anchors=None)


def assemble(
    normals: npt.ArrayLike,
    camera: Camera,
    *,
    mask: npt.ArrayLike | None = None,
    start: npt.ArrayLike | None = None,
    confidence: npt.ArrayLike | None = None,
    periodic: tuple[bool, bool] = (False, False),
    method: object = None,
    threads: int | None = None,
) -> Problem:
    """Check the input, prepare the normals, connect the pixels and set up their equations.

    Parameters
    ----------
    normals, camera, mask, start, confidence, periodic
        As for ``integrate``.
    method
        Its ``connectivity``, ``preprocessing`` and ``equations(graph, normals, view)`` are used;
        the defaults are 4, ``Preprocessing()`` and the paper's equations.
    threads
        Number of threads, all cores by default; the problem does not depend on it.
    """
    array = checked_normals(normals)
    inside = checked_mask(mask, array.shape[:2])
    if camera.resolution is None:  # a camera that says what it is for has been looked at, or cut
        check_against_image(camera, *inside.shape)
    view = View.of(camera, inside.shape[0], inside.shape[1], periodic)
    options = getattr(method, "preprocessing", None) or Preprocessing()
    with threads_for(int(np.count_nonzero(inside)), threads):
        unit, inside, report = prepare_normals(
            array, inside, view.rays, options, camera, joined=view.joined
        )
        connectivity: Connectivity = getattr(method, "connectivity", 4)
        graph = pixel_graph(inside, connectivity, wraps=view.wraps, turn=view.turn)
        equations_for: EquationsFor = getattr(method, "equations", two_plane_equations)
        trusted = None if confidence is None else checked_confidence(confidence, graph.shape)
        equations, notes = _equations(equations_for, graph, unit, view, trusted)
        kind, view = view.kind, view.unused()  # the iterations need no rays, but the memory
        if array.dtype.itemsize <= 4:
            unit = copied(unit, np.float32)  # no less precise than what was given
    problem = Problem(
        view,
        kind,
        unit,
        equations,
        report,
        equations_for=equations_for,
        notes=notes,
        confidence=trusted,
    )
    return problem if start is None else replace(problem, start=_first_iterate(problem, start))


def problem_memory(pixels: int, inside: int) -> tuple[int, int]:
    """Bytes of the images that a problem keeps, and at the peak of its assembly, measured.

    Equations and operator, which are in use when a run needs most, are counted by the backend.
    """
    rays_normals_and_masks = 56 * pixels
    return 10 * pixels, rays_normals_and_masks + 40 * inside


def checked_normals(normals: npt.ArrayLike) -> npt.NDArray[Any]:
    """Normals as an array (H, W, 3) of floats, or an InputError."""
    array = as_array(normals, "normals")
    if array.ndim != 3 or array.shape[2] != 3 or 0 in array.shape:
        hint = "Move the channels to the end: numpy.moveaxis(normals, 0, -1)"
        chw = array.ndim == 3 and array.shape[0] == 3
        raise InputError(
            f"normals have the shape {array.shape}",
            expected="(height, width, 3)",
            remedy=hint if chw else "Give one vector x, y, z per pixel",
        )
    if not np.issubdtype(array.dtype, np.floating):
        raise InputError(
            f"normals have the dtype {array.dtype}",
            expected="floating-point vectors",
            remedy="Decode image values first, or use read_scene, which does it",
        )
    return array


def checked_mask(mask: npt.ArrayLike | None, shape: tuple[int, ...]) -> BoolArray:
    """Mask (H, W) of the size of the normal map, with pixels inside, or an InputError."""
    if mask is None:
        return np.ones((shape[0], shape[1]), dtype=np.bool_)
    array = as_mask(mask)
    if array.shape != tuple(shape):
        raise InputError(
            f"the mask has the shape {array.shape}",
            expected=f"{tuple(shape)}, the size of the normal map",
            remedy="Crop or resize the mask to the normal map",
        )
    if not array.any():
        raise InputError(
            "the mask is empty",
            expected="at least one pixel inside (True)",
            remedy="Check that the mask is not inverted",
        )
    return array


def _equations(
    equations_for: EquationsFor,
    graph: PixelGraph,
    normals: FloatArray,
    view: View,
    confidence: SingleArray | None,
) -> tuple[EdgeEquations, tuple[str, ...]]:
    """Equations without the tilt of a texture that repeats, scaled by the confidence; notes."""
    equations: EdgeEquations = equations_for(graph, normals, view)
    notes: tuple[str, ...] = ()
    if any(view.periodic):
        equations, notes = without_tilt(equations)
    if confidence is not None:
        equations = with_confidence(equations, equations.graph.gather(confidence))
    return equations, notes


def checked_confidence(confidence: npt.ArrayLike, shape: tuple[int, int]) -> SingleArray:
    """Confidence (H, W) from 0 to 1, with 0 where it is NaN, or an InputError."""
    given = as_array(confidence, "the confidence").astype(np.float64, copy=False)
    array = np.nan_to_num(given, posinf=np.inf, neginf=-np.inf)
    if array.shape != shape or not np.all((array >= 0) & (array <= 1)):
        found = f"from {array.min():g} to {array.max():g}" if array.size else "no values"
        raise InputError(
            f"the confidence has the shape {array.shape}, and values {found}",
            expected=f"{shape}, the size of the normal map, from 0 for none to 1 for full",
            remedy="Divide it by its largest value; of an uncertainty s take min(s) ** 2 / s ** 2",
        )
    check_any(float(array.max()))
    return array.astype(np.float32)


def _first_iterate(problem: Problem, start: npt.ArrayLike) -> FloatArray:
    """Unknown (N,) of the depth (H, W) to start from, checked."""
    graph = problem.graph
    depth: FloatArray = as_array(start, "start").astype(np.float64, copy=False)
    if depth.shape != graph.shape:
        raise InputError(
            f"start has the shape {depth.shape}",
            expected=f"{graph.shape}, the size of the normal map",
            remedy="Give a depth for every pixel of the mask",
        )
    values = graph.gather(depth)
    bad = ~np.isfinite(values)
    if problem.equations.unknown == "log-depth":
        bad |= ~(values > 0)
    if bad.any():
        raise InputError(
            f"start has no depth at {int(bad.sum()):,} of {graph.size:,} pixels",
            expected="a finite (and, for central cameras, positive) depth inside the whole mask",
            remedy="Fill the gaps, or leave these pixels out of the mask",
        )
    return problem.unknown(depth)
