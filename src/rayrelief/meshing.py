"""From a depth to a clean mesh: where it is cut, and what does not belong to it."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.graph import PixelGraph
from rayrelief.jumps import both_ways, jump_sizes
from rayrelief.mesh import Mesh
from rayrelief.mesh.base import LeftOut
from rayrelief.mesh.cleaning import shreds, specks, used_vertices
from rayrelief.mesh.normals import vertex_normals
from rayrelief.methods.base import Solution
from rayrelief.problem import Problem
from rayrelief.surface import grid_faces

CUT = 2.0  # pixel footprints, from which on a jump is a cut of the mesh
LONGEST = 20.0  # pixel footprints: an edge across a jump is no surface then, whoever found it
MIN_PART = 25  # pixels, below which a part is a speck


def clean_mesh(
    problem: Problem, depth: FloatArray, cuts: tuple[BoolArray, BoolArray], min_part: int
) -> Mesh:
    """Mesh of a depth (H, W), cut right of pixels and below them, without what is no surface.

    Shreds beside the cuts and parts of fewer pixels than ``min_part`` are dropped. If no two pixels
    are joined all of them remain, as points.
    """
    inside = np.isfinite(depth)
    pixels = np.argwhere(inside)[:, ::-1].astype(np.int32)
    vertices = problem.view.points(depth)[inside]
    faces = grid_faces(vertices, inside, *cuts, wraps=problem.view.wraps)
    between = _cuts_between(inside, cuts, problem.view.wraps)
    beside = _ends(between)[inside]
    shred = shreds(vertices, faces, problem.normals[inside], beside)
    faces = faces[~shred]
    small, parts = specks(faces, len(vertices), min_part)
    used, faces = used_vertices(faces[~small], len(vertices))
    left_out = LeftOut(
        cuts=sum(int(np.count_nonzero(each)) for each in between),
        faces=int(np.count_nonzero(shred)),
        parts=parts,
        pixels=len(vertices) - len(used),
    )
    if 0 < len(used) < len(vertices):
        vertices, pixels = vertices[used], pixels[used]
    return Mesh(vertices, faces, vertex_normals(vertices, faces), pixels=pixels, left_out=left_out)


def find_cuts(
    problem: Problem,
    solution: Solution,
    depth: FloatArray,
    *,
    cut: float = CUT,
    longest: float = math.inf,
    both: bool = True,
) -> tuple[BoolArray, BoolArray]:
    """Whether the surface is cut to the right of each pixel (H, W), and below it, by its jumps.

    Those are cuts that are larger than ``cut`` footprints and that the method found, from both
    sides of an edge or from either, or that tear an edge to more than ``longest`` footprints. A
    mesh has its edges between straight neighbours: where the method joins diagonal ones only it has
    decided nothing there, and the size of the jump decides.
    """
    decided = solution.cuts
    if (1, 0) not in problem.graph.steps:
        problem, decided = problem.connected(4), None
    footprint = footprints(problem, depth)  # before the sizes: it takes more room
    graph, sizes = problem.graph, absolute_jumps(problem, depth)
    cuts = []
    for step in ((1, 0), (0, 1)):
        d = graph.steps.index(step)
        least = narrower(graph, footprint, d)
        large = np.maximum(*both_ways(graph, sizes, d)) > cut * least
        if decided is not None:
            agreed = np.logical_and if both else np.logical_or
            found = agreed(*both_ways(graph, decided, d))
            if longest < math.inf:
                found |= _lengths(problem, depth, d) > longest * least
            large &= found
        apart = ~graph.exists[d]  # also where an impossible edge was left out
        cuts.append(graph.scatter(apart | large, fill=True))
    return cuts[0], cuts[1]


def absolute_jumps(problem: Problem, depth: FloatArray) -> FloatArray:
    """Size of the jump across every directed edge (D, N), in the unit of depth."""
    sizes: FloatArray = jump_sizes(problem, problem.unknown(depth))
    np.abs(sizes, out=sizes)
    return sizes


def footprints(problem: Problem, depth: FloatArray) -> FloatArray:
    """Side of each pixel on the surface, (N,) at the nodes of a problem."""
    return problem.graph.gather(problem.view.footprint(depth))


def narrower(graph: PixelGraph, footprint: FloatArray, d: int) -> FloatArray:
    """Of footprints (N,) the smaller one of each edge in a direction."""
    there: FloatArray = np.take(footprint, graph.neighbours[d])
    return np.minimum(footprint, there, out=there)


def _lengths(problem: Problem, depth: FloatArray, d: int) -> FloatArray:
    """Length (N,) of the edges of a surface in a direction, in the unit of depth."""
    graph = problem.graph
    square = np.zeros(graph.size)
    for coordinate in np.moveaxis(problem.view.points(depth), -1, 0):
        here = graph.gather(coordinate)
        square += (np.take(here, graph.neighbours[d]) - here) ** 2
    lengths: FloatArray = np.sqrt(square, out=square)
    return lengths


def _cuts_between(
    inside: BoolArray, cuts: tuple[BoolArray, BoolArray], wraps: bool
) -> tuple[BoolArray, BoolArray]:
    """Of cuts (H, W) to the right and below those that have a surface on both sides."""
    right = cuts[0] & inside & np.roll(inside, -1, axis=1)
    down = cuts[1] & inside & np.roll(inside, -1, axis=0)
    down[-1] = False
    if not wraps:
        right[:, -1] = False
    return right, down


def _ends(cuts: tuple[BoolArray, BoolArray]) -> BoolArray:
    """Whether a pixel (H, W) is at either end of a cut."""
    right, down = cuts
    ends: npt.NDArray[np.bool_] = (
        right | np.roll(right, 1, axis=1) | down | np.roll(down, 1, axis=0)
    )
    return ends
