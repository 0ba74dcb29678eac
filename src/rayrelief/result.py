"""Integration: a surface, and all that is known about how it came about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np

from rayrelief.cameras.base import Camera
from rayrelief.cameras.view import View
from rayrelief.components import Components
from rayrelief.conventions import BoolArray, DepthKind, FloatArray, SingleArray
from rayrelief.discontinuity import both_ways, jump_sizes, relative_jumps
from rayrelief.errors import InputError, Status
from rayrelief.formulation.edge_equations import EdgeEquations, node_blocks
from rayrelief.graph import Connectivity, PixelGraph, pixel_graph
from rayrelief.mesh import Mesh
from rayrelief.methods.base import Method
from rayrelief.methods.edge_terms import EdgeTerms, edge_terms
from rayrelief.methods.irls import Iteration
from rayrelief.preprocess import PreprocessReport
from rayrelief.surface import grid_mesh, mean_angle
from rayrelief.threads import kernel_threads

# Of equations, their unknown (N,), and the normals and rays (N, 3) at their nodes.
EdgeFunction = Callable[[EdgeEquations, FloatArray, FloatArray, FloatArray], FloatArray]


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

    @classmethod
    def of(cls, graph: PixelGraph, values: FloatArray) -> EdgeMaps:
        """Maps of values (D, N) on the directed edges of a graph."""
        maps = np.full((len(graph.steps), *graph.shape), np.nan)
        images = maps.reshape(len(graph.steps), -1)
        for nodes, here in node_blocks(graph):
            for d, image in enumerate(images):
                exists = graph.neighbours[d, nodes] != here
                image[graph.pixels[nodes][exists]] = values[d, nodes][exists]
        return cls(graph.steps, maps)

    def towards(self, du: int, dv: int) -> FloatArray:
        """(H, W): the edge that joins each pixel with its neighbour at (u + du, v + dv)."""
        if (du, dv) not in self.steps:
            raise InputError(
                f"no edges lead to ({du}, {dv})",
                expected=f"one of {', '.join(map(str, self.steps))}",
                remedy="Use a method with another connectivity",
            )
        towards: FloatArray = self.values[self.steps.index((du, dv))]
        return towards

    def smallest(self) -> FloatArray:
        """(H, W): the least value around each pixel, for weights; NaN outside."""
        least: FloatArray = np.fmin.reduce(self.values, axis=0)
        return least

    def largest(self) -> FloatArray:
        """(H, W): the largest absolute value around each pixel, for jumps; NaN outside."""
        most: FloatArray = np.abs(self.values[0])
        for row in self.values[1:]:
            np.fmax(most, np.abs(row), out=most)
        return most


@dataclass(frozen=True, eq=False)
class SolvedState:
    """What the views of a result are computed from on demand.

    Unit normals (H, W, 3) are kept in single precision if they were given in no more.
    """

    view: View
    unit_normals: FloatArray | SingleArray
    equations: EdgeEquations
    x: FloatArray
    threads: int | None

    @property
    def normals(self) -> FloatArray:
        """Unit normals (H, W, 3) to compute with."""
        return self.unit_normals.astype(np.float64, copy=False)


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
    _state: SolvedState = field(repr=False)

    @property
    def mask(self) -> BoolArray:
        """(H, W): pixels that have a depth."""
        return self.components.labels >= 0

    def points(self) -> FloatArray:
        """Points (H, W, 3) in the camera frame; NaN outside."""
        return self._state.view.points(self.depth)

    def distance(self) -> FloatArray:
        """Distance (H, W) from the camera along each ray (equal to z for parallel rays)."""
        length: FloatArray = np.linalg.norm(self._state.view.rays, axis=-1)
        return self.depth * length

    def normals(self) -> FloatArray:
        """Unit normals (H, W, 3) back from the surface, not across jumps; NaN without a face."""
        normals = self.mesh().normals  # the rest of the mesh is freed before the image is made
        image = np.full((*self.depth.shape, 3), np.nan)
        image[self.mask] = normals
        return image

    def mean_angle(self) -> float:
        """Mean angle in degrees between the surface and the input: needs no ground truth."""
        return mean_angle(self.normals(), self._state.normals)

    def mesh(
        self, *, min_activation: float = 0.5, min_jump: float = 2.0, both: bool = True
    ) -> Mesh:
        """Triangles between neighbouring pixels, none of them across a jump.

        Parameters
        ----------
        min_activation
            A cut needs beta above this (0 to ignore beta) ...
        min_jump
            ... and a jump above so many pixel footprints ...
        both
            ... seen from both sides of an edge; False cuts where either side sees it, which leaves
            fewer strips across jumps and more holes.
        """
        cut_right, cut_down = self._cuts(min_activation, min_jump, both)
        wraps = self._state.view.wraps
        return grid_mesh(self.points(), self.mask, cut_right, cut_down, wraps=wraps)

    def active_jumps(self, *, min_activation: float = 0.5) -> FloatArray:
        """Jump (H, W) from each pixel to the next to its right or below, in the unit of depth.

        The largest where there are several; 0 where the surface goes on (beta is at most
        ``min_activation`` from either side), NaN outside.
        """
        state = self._state
        active = self._active(state.equations, state.x, min_activation, np.maximum)
        equations = self._smooth(self.method.connectivity)
        largest = np.zeros(equations.graph.size)
        for marked, size in zip(active, self._sizes(equations), strict=True):
            np.maximum(largest, size, out=largest, where=marked)
        return equations.graph.scatter(largest)

    @cached_property
    def weights(self) -> EdgeMaps:
        """Bilateral weight w of every directed edge: small on a jump."""
        state = self._state
        return EdgeMaps.of(state.equations.graph, self._terms(state.equations, state.x).weights)

    @cached_property
    def activation(self) -> EdgeMaps:
        """Activation beta of every directed edge: 1 on a jump."""
        state = self._state
        return EdgeMaps.of(state.equations.graph, self._terms(state.equations, state.x).activation)

    @cached_property
    def jumps(self) -> EdgeMaps:
        """Signed jump of every directed edge along the ray in between, in the unit of depth."""
        equations = self._smooth(self.method.connectivity)
        return EdgeMaps.of(equations.graph, self._on_edges(jump_sizes, equations))

    @cached_property
    def relative_jumps(self) -> EdgeMaps:
        """The paper's alpha of every directed edge: the jump along z over the depth at b.

        It has a pole where n_z vanishes (NaN there), and ``jumps`` has none.
        """
        equations = self._smooth(self.method.connectivity)
        if equations.unknown == "depth":
            raise InputError(
                "alpha was asked for with an orthographic camera",
                expected="a central camera: alpha is relative to the depth",
                remedy="Use jumps",
            )
        return EdgeMaps.of(equations.graph, self._on_edges(relative_jumps, equations))

    # Nothing from here on is kept: it takes more memory than it takes time to make it anew.
    def _smooth(self, connectivity: Connectivity) -> EdgeEquations:
        """Equations of a continuous surface: what a jump is measured against."""
        method = self.method.without_truth()
        names = (setting.name for setting in fields(method))
        same = all(getattr(method, name) is getattr(self.method, name) for name in names)
        if same and connectivity == method.connectivity:
            return self._state.equations
        graph = pixel_graph(self.mask, connectivity, wraps=self._state.view.wraps)
        method = replace(method, connectivity=connectivity)
        return method.equations(graph, self._state.normals, self._state.view)

    def _unknown(self, equations: EdgeEquations) -> FloatArray:
        """What the equations solve for, at their nodes (N,): the depth, or its logarithm."""
        depth = equations.graph.gather(self.depth)
        return np.log(depth) if equations.unknown == "log-depth" else depth.copy()

    def _terms(self, equations: EdgeEquations, x: FloatArray) -> EdgeTerms:
        with kernel_threads(self._state.threads, x.size):
            return edge_terms(equations, replace(self.method.model, jumps=True), x)

    def _on_edges(self, function: EdgeFunction, equations: EdgeEquations) -> FloatArray:
        """Values (D, N) of a function of the unknown, the normals and the rays."""
        graph, state = equations.graph, self._state
        normals, rays = graph.gather(state.normals), graph.gather(state.view.rays)
        return function(equations, self._unknown(equations), normals, rays)

    def _sizes(self, equations: EdgeEquations) -> Iterator[FloatArray]:
        """Size (N,) of the jump across each edge, the larger seen from its sides; by directions."""
        jumps = self._on_edges(jump_sizes, equations)
        np.abs(jumps, out=jumps)
        for d in range(0, len(jumps), 2):
            yield np.maximum(*both_ways(equations.graph, jumps, d))

    def _active(
        self, equations: EdgeEquations, x: FloatArray, minimum: float, agreed: np.ufunc
    ) -> list[BoolArray]:
        """Whether beta, as ``agreed`` between its sides, marks each edge (N,); by directions."""
        beta = self._terms(equations, x).activation
        graph, exists = equations.graph, equations.graph.exists
        return [
            exists[d] & (agreed(*both_ways(graph, beta, d)) > minimum)
            for d in range(0, len(beta), 2)
        ]

    def _cuts(
        self, min_activation: float, min_jump: float, both: bool
    ) -> tuple[BoolArray, BoolArray]:
        """Whether the surface is cut to the right of each pixel, and below it.

        Judged on the 4-connected graph whatever the method's own, since a mesh has its edges there.
        """
        equations = self._smooth(4)
        graph = equations.graph
        footprint = graph.gather(self._state.view.footprint(self.depth))
        agreed = np.minimum if both else np.maximum
        active = self._active(equations, self._unknown(equations), min_activation, agreed)
        exists, cuts = graph.exists, []
        for d, marked, size in zip((0, 2), active, self._sizes(equations), strict=True):
            narrower = np.minimum(footprint, np.take(footprint, graph.neighbours[d]))
            apart = ~exists[d]  # also where an impossible edge was left out
            cuts.append(graph.scatter(apart | (marked & (size > min_jump * narrower)), fill=True))
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


def _short(camera: Camera) -> str:
    text = repr(camera)
    return text if len(text) <= 90 else f"{type(camera).__name__}(...)"
