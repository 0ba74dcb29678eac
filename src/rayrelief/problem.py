"""Problem: the input of a method, assembled once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rayrelief.cameras.base import Camera
from rayrelief.cameras.intrinsics import check_against_image
from rayrelief.cameras.view import View
from rayrelief.checks import as_array
from rayrelief.conventions import DepthKind, FloatArray, SingleArray
from rayrelief.errors import InputError
from rayrelief.formulation.confidence import with_confidence
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.formulation.ray_plane import two_plane_equations
from rayrelief.formulation.tilt import without_tilt
from rayrelief.graph import Connectivity, PixelGraph, pixel_graph
from rayrelief.inputs import check_decoded, checked_confidence, checked_mask, checked_normals
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
    check_decoded(array, inside)
    if camera.resolution is None:  # a camera that says what it is for has been looked at, or cut
        check_against_image(camera, *inside.shape)
    view = View.of(camera, inside.shape[0], inside.shape[1], periodic)
    with threads_for(int(np.count_nonzero(inside)), threads):
        unit, inside, report = prepare_normals(
            array, inside, view.rays, preprocessing_of(method), camera, joined=view.joined
        )
        graph = pixel_graph(inside, connectivity_of(method), wraps=view.wraps, turn=view.turn)
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


def connectivity_of(method: object) -> Connectivity:
    """Neighbours that the equations of a method join."""
    found: Connectivity = getattr(method, "connectivity", 4)
    return found


def preprocessing_of(method: object) -> Preprocessing:
    """How a method treats normals that face away, and outliers."""
    options: Preprocessing | None = getattr(method, "preprocessing", None)
    return options or Preprocessing()


def problem_memory(pixels: int, inside: int) -> tuple[int, int]:
    """Bytes of the images that a problem keeps, and at the peak of its assembly, measured.

    Equations and operator, which are in use when a run needs most, are counted by the backend.
    """
    rays_normals_and_masks = 56 * pixels
    return 10 * pixels, rays_normals_and_masks + 40 * inside


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
