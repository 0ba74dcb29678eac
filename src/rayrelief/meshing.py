"""From a depth to a clean mesh: where it is cut, and what does not belong to it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.graph import PixelGraph
from rayrelief.jumps import both_ways, jump_sizes
from rayrelief.mesh import Mesh
from rayrelief.mesh.base import LeftOut
from rayrelief.mesh.cleaning import around, shreds, specks, used_vertices
from rayrelief.mesh.normals import vertex_normals
from rayrelief.methods.base import Solution
from rayrelief.problem import Problem
from rayrelief.surface import grid_faces

CUT = 2.0  # pixel footprints, from which on a jump is a cut of the mesh
LONGEST = 20.0  # pixel footprints: an edge across a jump is no surface then, whoever found it
MIN_PART = 25  # pixels, below which a part is a speck


@dataclass(frozen=True, eq=False)
class Cuts:
    """Where a surface is cut.

    Attributes
    ----------
    right, down
        (H, W) between a pixel and the next, also where there is none.
    diagonals
        (2, H, W) along the diagonals, as ``grid_faces`` has them; None where nobody looked.
    torn
        (H, W) pixels beside a jump, whether it is cut or not.
    count
        Pairs of pixels that a cut parts.
    """

    right: BoolArray
    down: BoolArray
    diagonals: BoolArray | None
    torn: BoolArray
    count: int


def clean_mesh(problem: Problem, depth: FloatArray, cuts: Cuts, min_part: int) -> Mesh:
    """Mesh of a depth (H, W) with cuts, without what is no surface.

    Shreds beside jumps and parts of fewer pixels than ``min_part`` are dropped. If no two pixels
    are joined all of them remain, as points.
    """
    inside = np.isfinite(depth)
    pixels = np.argwhere(inside)[:, ::-1].astype(np.int32)
    vertices = problem.view.points(depth)[inside]
    wraps = problem.view.wraps
    faces = grid_faces(
        vertices, inside, cuts.right, cuts.down, cut_diagonals=cuts.diagonals, wraps=wraps
    )
    shred = shreds(
        vertices,
        faces,
        problem.normals[inside],
        cuts.torn[inside],
        around(cuts.torn)[inside],
        parallel=problem.view.origins is not None,
    )
    faces = faces[~shred]
    small, parts = specks(faces, len(vertices), min_part)
    used, faces = used_vertices(faces[~small], len(vertices))
    left_out = LeftOut(
        cuts=cuts.count,
        faces=int(np.count_nonzero(shred)),
        parts=parts,
        pixels=len(vertices) - len(used),
    )
    if 0 < len(used) < len(vertices):
        vertices, pixels = vertices[used], pixels[used]
    return Mesh(
        vertices,
        faces,
        vertex_normals(vertices, faces),
        pixels=pixels,
        wraps=wraps,
        left_out=left_out,
    )


def find_cuts(
    problem: Problem,
    solution: Solution,
    depth: FloatArray,
    *,
    cut: float = CUT,
    longest: float = math.inf,
    both: bool = True,
) -> Cuts:
    """Cut a surface at jumps of more than ``cut`` footprints.

    Those are cuts that the method found, from both sides of an edge or from either, or that tear an
    edge to more than ``longest`` footprints. A mesh has its edges between straight neighbours:
    where the method joins diagonal ones only it has decided nothing there, and the size of the jump
    decides. Along the diagonals what the method found is all there is.
    """
    decided = solution.cuts
    if (1, 0) not in problem.graph.steps:
        problem, decided = problem.connected(4), None
    footprint = footprints(problem, depth)  # before the sizes: it takes more room
    graph, sizes = problem.graph, absolute_jumps(problem, depth)
    agreed = np.logical_and if both else np.logical_or
    torn, cuts, count = np.zeros(graph.size, dtype=np.bool_), [], 0
    for step in ((1, 0), (0, 1)):
        d = graph.steps.index(step)
        least, exists = narrower(graph, footprint, d), graph.exists[d]
        large = (np.maximum(*both_ways(graph, sizes, d)) > cut * least) & exists
        torn |= large
        torn[graph.neighbours[d, large]] = True
        if decided is not None:
            found = agreed(*both_ways(graph, decided, d))
            if longest < math.inf:
                found |= _lengths(problem, depth, d) > longest * least
            large &= found
        count += int(np.count_nonzero(large))
        # Also where an impossible edge was left out.
        cuts.append(graph.scatter(large | ~exists, fill=True))
    right, down = cuts
    diagonals = None
    if decided is not None and (1, 1) in graph.steps:
        falling, rising = (
            graph.scatter(
                agreed(*both_ways(graph, decided, d))
                & (np.maximum(*both_ways(graph, sizes, d)) > cut * narrower(graph, footprint, d))
                & graph.exists[d],
                fill=False,
            )
            for d in map(graph.steps.index, ((1, 1), (-1, 1)))
        )
        diagonals = np.stack((falling, np.roll(rising, -1, axis=1)))
    return Cuts(right, down, diagonals, graph.scatter(torn, fill=False), count)


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
