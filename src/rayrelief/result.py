"""Integration: the surface, how the run ended, and everything computed along the way."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from rayrelief.cameras.base import Camera
from rayrelief.checks import LENGTHS, SWITCH
from rayrelief.components import Components, Labels
from rayrelief.conventions import BoolArray, DepthKind, FloatArray
from rayrelief.edge_maps import EdgeMaps
from rayrelief.errors import InputError, Status, in_number
from rayrelief.jumps import jump_sizes, relative_jumps
from rayrelief.mesh import Mesh
from rayrelief.mesh.units import Unit
from rayrelief.meshing import (
    CUT,
    CUTS,
    LONGEST,
    MIN_PART,
    PARTS,
    TornEdges,
    active_jumps,
    clean_mesh,
    torn_edges,
)
from rayrelief.methods.base import Iteration, Method, Solution, Support
from rayrelief.notebook import SIDE, card, lit_surface
from rayrelief.preprocess import PreprocessReport
from rayrelief.prior import PriorFit
from rayrelief.problem import Problem
from rayrelief.shading import paint_normals
from rayrelief.surface import grid_mesh, mean_angle

_Found = TypeVar("_Found")


@dataclass(frozen=True, eq=False)
class Integration:
    """The surface, how the run ended, and what was computed on the way (OpenCV camera frame).

    Attributes
    ----------
    depth
        (H, W), NaN outside.
    depth_kind
        "z", or "distance" along the ray if the camera sees further than 80 degrees off its axis.
    status
        How the run ended: cause, remedy and notes.
    history
        Energy, change, inner iterations and seconds of each outer iteration.
    components
        Parts of the mask that are not connected; each has its own scale (or shift).
    preprocessing
        What was found and done to the normals.
    prior
        How the surface agrees with the depths that were known; None without any.
    """

    depth: FloatArray
    depth_kind: DepthKind
    camera: Camera
    method: Method
    status: Status
    history: tuple[Iteration, ...]
    components: Components
    preprocessing: PreprocessReport
    _problem: Problem = field(repr=False)
    _solution: Solution = field(repr=False)
    prior: PriorFit | None = None
    _meshes: dict[tuple[float, int, bool], Mesh] = field(
        default_factory=dict, init=False, repr=False
    )

    @property
    def mask(self) -> BoolArray:
        """(H, W): pixels that have a depth."""
        return self.components.labels >= 0

    @property
    def input_normals(self) -> FloatArray:
        """Unit normals (H, W, 3) that were integrated, as prepared; NaN outside."""
        normals = self._problem.normals.view()
        normals.flags.writeable = False
        return normals

    def scaled(self, factor: float) -> Integration:
        """Return the same surface, so many times as large and as far away; central cameras only."""
        LENGTHS.check("the factor", factor)
        if not self.camera.central:
            raise InputError(
                f"a surface seen by parallel rays, scaled by {factor:g}",
                expected="a central camera",
                remedy="Give the pixel_size of an orthographic camera instead",
            )
        depth = self.depth * factor
        depth.flags.writeable = False
        x = self._solution.x + np.log(factor)
        prior, status = self.prior, self.status
        if prior is not None:
            told, prior = str(prior), prior.scaled(factor)
            notes = (str(prior) if note == told else note for note in status.notes)
            status = replace(status, notes=tuple(notes))
        solution = replace(self._solution, x=x)
        return replace(self, depth=depth, prior=prior, status=status, _solution=solution)

    def points(self) -> FloatArray:
        """Points (H, W, 3) in the camera frame; NaN outside."""
        return self._problem.view.points(self.depth)

    def distance(self) -> FloatArray:
        """Distance (H, W) from the camera along each ray (equal to z for parallel rays)."""
        length: FloatArray = np.linalg.norm(self._problem.view.rays, axis=-1)
        return self.depth * length

    def normals(self) -> FloatArray:
        """Unit normals (H, W, 3) of the surface, not averaged across jumps; NaN without a face."""
        image = np.full((*self.depth.shape, 3), np.nan)
        wraps = self._problem.view.wraps
        cuts = torn_edges(self._problem, self._solution, self.depth).cuts(CUT, wraps=wraps)
        mesh = grid_mesh(self.points(), self.mask, cuts.right, cuts.down, wraps=wraps)
        image[self.mask] = mesh.normals
        return image

    def mean_angle(self) -> float:
        """Mean angle in degrees between the surface and the input: needs no ground truth."""
        return mean_angle(self.normals(), self._problem.normals)

    def mesh(self, *, cut: float = CUT, min_part: int = MIN_PART, both: bool = True) -> Mesh:
        """Triangles between neighbouring pixels, none of them across a jump; cached.

        Also left out are faces beside a jump that contradict the normals, and parts that are
        specks; ``left_out`` of the mesh counts all of it.

        Parameters
        ----------
        cut
            The surface is cut at jumps of more than so many pixel footprints that the method found
            from both sides of an edge, or across which an edge is longer than 20 of them;
            ``numpy.inf`` for no cut but where no continuous surface has the normals, 0 to leave out
            every valley in which a jump can hide.
        min_part
            Parts of fewer pixels are dropped, except the largest.
        both
            False cuts if either side of an edge detects a discontinuity, which leaves fewer strips
            across jumps and more holes.
        """
        CUTS.check("cut", cut)
        PARTS.check("min_part", min_part)
        SWITCH.check("both", both)
        rule = cut, min_part, both
        if rule not in self._meshes:
            view, inside = self._problem.view, np.isfinite(self.depth)
            cuts = self.torn_edges(cut, both=both).cuts(cut, wraps=view.wraps)
            mesh = clean_mesh(
                self.points()[inside],
                inside,
                self._problem.normals,
                cuts,
                min_part,
                parallel=view.origins is not None,
                wraps=view.wraps,
            )
            for array in (mesh.vertices, mesh.faces, mesh.normals, mesh.pixels):
                if array is not None:
                    array.flags.writeable = False  # others get the same one
            self._meshes[rule] = mesh
        return self._meshes[rule]

    def torn_edges(self, least: float = CUT, *, both: bool = True) -> TornEdges:
        """Jumps of more than so many pixel footprints, where a mesh may be cut."""
        return torn_edges(
            self._problem, self._solution, self.depth, least=least, longest=LONGEST, both=both
        )

    def solid(
        self,
        *,
        width: float = 100.0,
        base: float = 3.0,
        unit: Unit = "mm",
        cut: float = CUT,
        min_part: int = MIN_PART,
    ) -> Mesh:
        """Watertight body to be printed: the surface, closed along the rays; files have it face up.

        It ends at a flat base behind the surface or, where the camera sees further than 80 degrees
        off its axis, at the outside of a wall around it. Jumps become walls along the rays,
        pixels that are no part of the clean mesh get the depth of the nearest one that is, and a
        thousandth of the pixels cannot make the body deeper by more than a tenth.

        Parameters
        ----------
        width
            Of the body, from left to right.
        base
            Thickness of the base below the deepest point, or of the wall.
        unit
            What both are measured in, and the vertices of the mesh.
        cut, min_part
            As for ``mesh``.
        """
        from rayrelief.solid import solid_mesh

        surface = self.mesh(cut=cut, min_part=min_part).known_pixels()
        return solid_mesh(self._problem.view, self.depth, surface, width, base, unit, min_part)

    def active_jumps(self) -> FloatArray:
        """Jump (H, W) from each pixel to the next ones, in the unit of depth.

        These are to its right and below, and along the diagonals if these are neighbours. The
        largest if there are several; 0 where the surface is continuous, NaN outside.
        """
        return active_jumps(self._problem, self._solution, self.depth)

    @property
    def segments(self) -> Labels:
        """(H, W) label of the continuous part of each pixel, -1 outside."""
        labels = self._found("segments", self._solution.segments)
        return self._problem.graph.scatter(labels, fill=-1)

    @property
    def support(self) -> tuple[Support, ...]:
        """What the place of each segment relative to its neighbours rests on, by its label."""
        return self._found("support", self._solution.support)

    @cached_property
    def cuts(self) -> EdgeMaps:
        """1 where the method found a discontinuity across a directed edge, 0 elsewhere."""
        return EdgeMaps.of(self._problem.graph, self._found("cuts", self._solution.cuts))

    @cached_property
    def weights(self) -> EdgeMaps:
        """Final weight of every directed edge: small on a jump."""
        return EdgeMaps.of(self._problem.graph, self._found("weights", self._solution.weights))

    @cached_property
    def activation(self) -> EdgeMaps:
        """Final activation beta of every directed edge: 1 on a jump."""
        values = self._found("activation", self._solution.activation)
        return EdgeMaps.of(self._problem.graph, values)

    @cached_property
    def jumps(self) -> EdgeMaps:
        """Signed jump of every directed edge, along the ray in between, in the unit of depth."""
        sizes = jump_sizes(self._problem, self._problem.unknown(self.depth))
        return EdgeMaps.of(self._problem.graph, sizes)

    @cached_property
    def relative_jumps(self) -> EdgeMaps:
        """The paper's alpha of every directed edge: the jump along z over the depth at b.

        It has a pole where n_z vanishes (NaN there); ``jumps`` has none.
        """
        problem = self._problem
        if problem.equations.unknown == "depth":
            raise InputError(
                "relative_jumps was requested for an orthographic camera",
                expected="a central camera: these jumps are relative to the depth",
                remedy="Use jumps",
            )
        return EdgeMaps.of(problem.graph, relative_jumps(problem, problem.unknown(self.depth)))

    def _found(self, name: str, values: _Found | None) -> _Found:
        """What the method found, or an InputError where it does not look for such a thing."""
        if values is None:
            raise InputError(
                f"the method {type(self.method).__name__} has no {name}",
                expected=f"a method that computes {name}",
                remedy="Use jumps, which every result has",
            )
        return values

    def _repr_html_(self) -> str:
        """Show normals, surface and the five lines in a notebook."""
        step = -(-max(self.depth.shape) // SIDE)
        points, inside = self.points()[::step, ::step], self.mask[::step, ::step]
        surface = lit_surface(points, inside, central=self.camera.central)
        normals = paint_normals(self.input_normals[::step, ::step])
        return card(repr(self), {"normals, the input": normals, "the surface": surface})

    def __repr__(self) -> str:
        height, width = self.depth.shape
        low, high = np.nanmin(self.depth), np.nanmax(self.depth)
        seconds = sum(i.seconds for i in self.history)
        return "\n".join(
            (
                f"Integration of {width}x{height} pixels, {int(self.mask.sum()):,} inside, "
                f"in {in_number(self.components.count, 'component')}",
                f"  depth:  {low:.6g} to {high:.6g} ({self.depth_kind})",
                f"  camera: {self.camera.summary()}",
                f"  method: {type(self.method).__name__}, "
                f"{in_number(len(self.history), 'iteration')} in {seconds:.2f} s",
                f"  status: {self.status}",
            )
        )
