"""integrate(...) -> Integration: the one function that most people call."""

from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numba
import numpy as np
import numpy.typing as npt

from rayrelief.cameras.base import Camera, DepthKind
from rayrelief.cameras.view import View
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.discontinuity import jump_sizes
from rayrelief.errors import InputError, IntegrationError, IntegrationWarning, Outcome, Status
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.graph import PixelGraph, pixel_graph
from rayrelief.mesh import Mesh
from rayrelief.methods.assembly import EdgeTerms, edge_terms
from rayrelief.methods.irls import Callback, Iteration, iterate
from rayrelief.methods.recipes import Method, RayPlane
from rayrelief.preprocess import PreprocessReport, prepare_normals
from rayrelief.surface import grid_mesh, mean_angle

OnFailure = Literal["raise", "warn", "return"]

# numba's thread count is one number for the process, and some of its threading layers must not be
# entered twice at a time: runs started from several Python threads take turns.
_ONE_AT_A_TIME = threading.Lock()


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
        (H, W, 3): x right, y down, z forward, n . ray < 0. ``to_opencv`` converts other conventions.
        Any real dtype, stride or flag; never modified.
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
            expected="a rayrelief camera",
            remedy="Use Pinhole(fx, fy, cx, cy), Orthographic(), RayMap(rays) or BrownConrady(...)",
        )
    method = RayPlane() if method is None else method
    array = _checked_normals(normals)
    inside = _checked_mask(mask, array.shape[:2])
    view = View.of(camera, *inside.shape)
    unit, inside, report = prepare_normals(array, inside, view.rays, method.preprocessing)
    equations = method.equations(pixel_graph(inside, method.connectivity), unit, view)
    start = _start(method, equations)
    with _ONE_AT_A_TIME:
        before = numba.get_num_threads()
        numba.set_num_threads(_checked_threads(threads))
        try:
            loop = iterate(
                equations,
                method.model,
                method.solver,
                start=start,
                max_iterations=method.max_iterations,
                tolerance=method.tolerance,
                callback=callback,
            )
        finally:
            numba.set_num_threads(before)
    x, scales = _fix_constants(equations, loop.x, start)
    components = Components(
        equations.graph.scatter(scales.labels.astype(np.int32), fill=-1), scales.sizes
    )
    result = Integration(
        depth=equations.graph.scatter(np.exp(x) if equations.unknown == "log-depth" else x),
        depth_kind=view.kind,
        camera=camera,
        method=method,
        status=Status(loop.outcome, _notes(report, equations, components, camera)),
        history=loop.history,
        components=components,
        preprocessing=report,
        _state=_State(view, unit, equations, x),
    )
    _report_failure(result.status, on_failure)
    return result


@dataclass(frozen=True, eq=False)
class Components:
    """Parts of the mask that no equation joins; each has a scale (a shift) of its own.

    Attributes
    ----------
    labels
        (H, W) component of each pixel, the largest is 0; -1 outside.
    sizes
        Pixels of each component.
    """

    labels: npt.NDArray[np.int32]
    sizes: tuple[int, ...]

    @property
    def count(self) -> int:
        """Number of components."""
        return len(self.sizes)

    def __repr__(self) -> str:
        shown = ", ".join(f"{size:,}" for size in self.sizes[:3])
        more = ", ..." if self.count > 3 else ""
        return f"Components({self.count}: {shown}{more} pixels)"


@dataclass(frozen=True, eq=False)
class EdgeMaps:
    """One value per directed edge b -> a, addressed by the direction from a to b.

    Attributes
    ----------
    steps
        (du, dv) of each direction.
    values
        (D, H, W); NaN where there is no edge.
    """

    steps: tuple[tuple[int, int], ...]
    values: FloatArray

    def towards(self, du: int, dv: int) -> FloatArray:
        """(H, W): the edge that joins each pixel with its neighbour at (u + du, v + dv)."""
        if (du, dv) not in self.steps:
            raise InputError(
                f"no edges lead to ({du}, {dv})",
                expected=f"one of {', '.join(map(str, self.steps))}",
                remedy="Use a method with another connectivity",
            )
        return self.values[self.steps.index((du, dv))]

    def smallest(self) -> FloatArray:
        """(H, W): the least value around each pixel, for weights; NaN outside."""
        return np.fmin.reduce(self.values, axis=0)

    def largest(self) -> FloatArray:
        """(H, W): the largest absolute value around each pixel, for jumps; NaN outside."""
        return np.fmax.reduce(np.abs(self.values), axis=0)


@dataclass(frozen=True, eq=False)
class _State:
    """What the views of a result are computed from on demand."""

    view: View
    normals: FloatArray
    equations: EdgeEquations
    x: FloatArray


@dataclass(frozen=True, eq=False)
class Integration:
    """A surface, and all that is known about how it came about (OpenCV camera frame).

    Attributes
    ----------
    depth
        (H, W), NaN outside.
    depth_kind
        "z", or "distance" along the ray where the camera sees further than 80 degrees off its axis.
    status
        How the run ended: cause, remedy, and what a reader should know.
    history
        Energy, change, inner iterations and seconds of each outer iteration.
    components
        Parts with a scale of their own.
    preprocessing
        What was found and done before.
    """

    depth: FloatArray
    depth_kind: DepthKind
    camera: Camera
    method: Method
    status: Status
    history: tuple[Iteration, ...]
    components: Components
    preprocessing: PreprocessReport
    _state: _State = field(repr=False)

    @property
    def mask(self) -> BoolArray:
        """(H, W): pixels that have a depth."""
        return np.isfinite(self.depth)

    def points(self) -> FloatArray:
        """Points (H, W, 3) in the camera frame; NaN outside."""
        return self._state.view.points(self.depth)

    def distance(self) -> FloatArray:
        """Distance (H, W) from the camera along each ray (equal to z for parallel rays)."""
        return self.depth * np.linalg.norm(self._state.view.rays, axis=-1)

    def normals(self) -> FloatArray:
        """Unit normals (H, W, 3) back from the surface, not across jumps; NaN where it has no face."""
        image = np.full((*self.depth.shape, 3), np.nan)
        image[self.mask] = self.mesh().normals
        return image

    def mean_angle(self) -> float:
        """Mean angle in degrees between the surface and the input: needs no ground truth."""
        return mean_angle(self.normals(), self._state.normals)

    def mesh(self, *, min_activation: float = 0.5, min_jump: float = 2.0) -> Mesh:
        """Triangles between neighbouring pixels, none of them across a jump.

        Parameters
        ----------
        min_activation
            A cut needs beta above this in both directions of an edge (0 to ignore beta) ...
        min_jump
            ... and a jump above so many pixel footprints.
        """
        cut_right, cut_down = self._cuts(min_activation, min_jump)
        return grid_mesh(self.points(), self.mask, cut_right, cut_down)

    @cached_property
    def weights(self) -> EdgeMaps:
        """Bilateral weight w of every directed edge: small on a jump."""
        return self._edge_maps(self._terms.weights)

    @cached_property
    def activation(self) -> EdgeMaps:
        """Activation beta of every directed edge: 1 on a jump."""
        return self._edge_maps(self._terms.activation)

    @cached_property
    def jumps(self) -> EdgeMaps:
        """Signed jump of every directed edge, in the unit of the depth, along the ray in between."""
        return self._edge_maps(_jumps(self._state, self._state.equations))

    @cached_property
    def _terms(self) -> EdgeTerms:
        state = self._state
        return edge_terms(state.equations, replace(self.method.model, jumps=True), state.x)

    def _edge_maps(self, values: FloatArray) -> EdgeMaps:
        graph = self._state.equations.graph
        edges = np.where(graph.exists, values, np.nan)
        return EdgeMaps(graph.steps, np.stack([graph.scatter(row) for row in edges]))

    def _cuts(self, min_activation: float, min_jump: float) -> tuple[BoolArray, BoolArray]:
        """Whether the surface is cut to the right of each pixel, and below it.

        Judged on the 4-connected graph whatever the method's own, since a mesh has its edges there.
        """
        state, inside = self._state, self.mask
        equations = replace(self.method, connectivity=4).equations(
            pixel_graph(inside), state.normals, state.view
        )
        graph = equations.graph
        x = graph.gather(self.depth)
        x = np.log(x) if equations.unknown == "log-depth" else x
        terms = edge_terms(equations, replace(self.method.model, jumps=True), x)
        jumps = np.abs(_jumps(replace(state, x=x), equations))
        footprint = graph.gather(state.view.footprint(self.depth))
        cuts = []
        for d in (0, 2):
            b, back = graph.neighbours[d], d ^ 1
            active = np.minimum(terms.activation[d], terms.activation[back, b]) > min_activation
            size = np.maximum(jumps[d], jumps[back, b])
            wide = size > min_jump * np.minimum(footprint, footprint[b])
            apart = ~graph.exists[d]  # also where an impossible edge was left out
            cuts.append(graph.scatter(apart | (active & wide), fill=True))
        return cuts[0], cuts[1]

    def __repr__(self) -> str:
        height, width = self.depth.shape
        low, high = np.nanmin(self.depth), np.nanmax(self.depth)
        seconds = sum(i.seconds for i in self.history)
        return "\n".join(
            (
                f"Integration of {width}x{height} pixels, {int(self.mask.sum()):,} inside, "
                f"in {self.components.count} component{'s' * (self.components.count != 1)}",
                f"  depth:  {low:.6g} to {high:.6g} ({self.depth_kind})",
                f"  camera: {_short(self.camera)}",
                f"  method: {type(self.method).__name__}, {len(self.history)} iterations, "
                f"{seconds:.2f} s",
                f"  status: {self.status}",
            )
        )


@dataclass(frozen=True)
class _Scales:
    labels: npt.NDArray[np.int64]
    sizes: tuple[int, ...]


def _fix_constants(
    equations: EdgeEquations, x: FloatArray, start: FloatArray | None
) -> tuple[FloatArray, _Scales]:
    """Give each component a median of 0 (log-depth 0, depth 0), or that of the start.

    The two colours of a diagonal graph count as one component each pair: they interleave, so that the
    median difference of 4-neighbours aligns them.
    """
    graph = equations.graph
    labels, x = _aligned_colours(graph, x)
    order = np.argsort(labels, kind="stable")
    bounds = np.concatenate(([0], np.cumsum(np.bincount(labels))))
    fixed = np.empty_like(x)
    for lo, hi in zip(bounds[:-1], bounds[1:], strict=True):
        nodes = order[lo:hi]
        target = 0.0 if start is None else np.median(start[nodes])
        fixed[nodes] = x[nodes] - np.median(x[nodes]) + target
    return fixed, _Scales(labels, tuple(int(n) for n in np.diff(bounds)))


def _aligned_colours(
    graph: PixelGraph, x: FloatArray
) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Join components of a diagonal graph that are 4-neighbours; labels by size, and shifted x."""
    labels = graph.component_of_node
    if any(0 in step for step in graph.steps) or graph.component_count < 2:
        return labels, x
    inside = graph.scatter(np.ones(graph.size, dtype=np.bool_), fill=False)
    straight = pixel_graph(inside)
    own = straight.gather(graph.scatter(labels, fill=-1))
    values = straight.gather(graph.scatter(x))
    # Of each pair of touching components: how many 4-neighbours, and their differences.
    pairs: dict[tuple[int, int], list[FloatArray]] = {}
    for d, a, b in straight.edges():
        if d % 2:
            continue
        across = own[a] != own[b]
        first, second, gap = own[a][across], own[b][across], (values[b] - values[a])[across]
        swap = first > second
        first, second = np.where(swap, second, first), np.where(swap, first, second)
        gap = np.where(swap, -gap, gap)
        for key in {(int(f), int(s)) for f, s in zip(first, second, strict=True)}:
            here = (first == key[0]) & (second == key[1])
            pairs.setdefault(key, []).append(gap[here])
    # Components are sorted by size: each one joins the largest that it touches, once.
    shift = np.zeros(graph.component_count)
    parent = np.arange(graph.component_count)
    for first, second in sorted(pairs):
        if parent[second] == second:
            shift[second] = shift[first] - float(np.median(np.concatenate(pairs[first, second])))
            parent[second] = parent[first]
    joined = np.unique(parent, return_inverse=True)[1][labels]
    return joined, x + shift[labels]


def _jumps(state: _State, equations: EdgeEquations) -> FloatArray:
    graph = equations.graph
    normals, rays = graph.gather(state.normals), graph.gather(state.view.rays)
    return jump_sizes(equations, state.x, normals, rays)


def _start(method: Method, equations: EdgeEquations) -> FloatArray | None:
    """First iterate (N,) from the method's initial depth, checked."""
    if method.initial_depth is None:
        return None
    graph = equations.graph
    depth = np.asarray(method.initial_depth, dtype=np.float64)
    if depth.shape != graph.shape:
        raise InputError(
            f"initial_depth has the shape {depth.shape}",
            expected=f"{graph.shape}, the size of the normal map",
            remedy="Give a depth for every pixel of the mask",
        )
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
    return np.log(start) if equations.unknown == "log-depth" else start


def _checked_normals(normals: npt.ArrayLike) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = np.asarray(normals)
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
            expected="float32 or float64 vectors",
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


def _checked_threads(threads: int | None) -> int:
    available = int(numba.config.NUMBA_NUM_THREADS)
    if threads is None:
        return available
    if threads < 1:
        raise InputError(
            f"threads is {threads}", expected="at least 1", remedy="Leave it out for all cores"
        )
    return min(threads, available)


def _notes(
    report: PreprocessReport, equations: EdgeEquations, components: Components, camera: Camera
) -> tuple[str, ...]:
    notes = list(report.notes())
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


def _short(camera: Camera) -> str:
    text = repr(camera)
    return text if len(text) <= 90 else f"{type(camera).__name__}(...)"
