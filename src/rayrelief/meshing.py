"""From a depth to a clean mesh: where it is cut, and what does not belong to it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rayrelief.checks import Rule, is_count, is_not_negative
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.formulation.edge_equations import both_ways
from rayrelief.graph import PixelGraph
from rayrelief.jumps import jump_sizes
from rayrelief.mesh import Mesh
from rayrelief.mesh.base import LeftOut
from rayrelief.mesh.cleaning import around, rims, shreds, used_vertices
from rayrelief.mesh.normals import vertex_normals
from rayrelief.mesh.parts import specks
from rayrelief.methods.base import Solution
from rayrelief.problem import Problem
from rayrelief.surface import grid_faces

CUT = 2.0  # pixel footprints, from which on a jump is a cut of the mesh
SMALLEST_CUT = 0.5  # that can be asked for when only the files of a result are left
LONGEST = 20.0  # pixel footprints: an edge across a jump is no surface then, whoever found it
MIN_PART = 25  # pixels, below which a part is a speck
CUTS = Rule(
    lambda cut: is_not_negative(cut) or cut == math.inf,
    "a number >= 0, in pixel footprints",
    f"Leave it out for {CUT:g}",
)
PARTS = Rule(is_count, "a number of pixels from 1 on", f"Leave it out for {MIN_PART}")


@dataclass(frozen=True, eq=False)
class Cuts:
    """Where a surface is cut.

    Attributes
    ----------
    right, down
        (H, W) between a pixel and the next.
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
    count: int = 0


@dataclass(frozen=True, eq=False)
class TornEdges:
    """Edges between pixels across which a surface may be cut; all others are whole.

    Attributes
    ----------
    shape
        (H, W) of the image.
    places
        (E,) the number of a direction, times that of pixels, plus the pixel: to the right, down,
        and of the block of which it is the first pixel the falling and the rising diagonal.
    sizes
        (E,) of the jumps in pixel footprints: negative where nobody found one, infinite where no
        continuous surface has the normals.
    """

    shape: tuple[int, int]
    places: npt.NDArray[np.int64]
    sizes: FloatArray

    def cuts(self, cut: float, *, wraps: bool) -> Cuts:
        """Cut at jumps of more than so many footprints that were found."""
        height, width = self.shape
        images = np.zeros((4, height, width), dtype=np.bool_)
        impossible = np.isposinf(self.sizes)
        images.ravel()[self.places[(self.sizes > cut) | impossible]] = True
        straight = self.places < 2 * height * width
        large = straight & (np.abs(self.sizes) > cut) & ~impossible
        direction, pixel = np.divmod(self.places[large], height * width)
        v, u = np.divmod(pixel, width)
        beside, below = u + (direction == 0), v + (direction == 1)
        torn = np.zeros(self.shape, dtype=np.bool_)
        torn[v, u] = True
        there = ((beside < width) | wraps) & (below < height)
        torn[below[there], beside[there] % width] = True
        count = int(np.count_nonzero(large & (self.sizes > cut)))
        diagonals = None if straight.all() else images[2:]
        return Cuts(images[0], images[1], diagonals, torn, count)

    def sampled(self, rows: slice, columns: slice) -> TornEdges:
        """Edges between samples: between two there is the largest jump on the way.

        Only every so many pixels the diagonals are not those of the pixels.
        """
        height, width = self.shape
        direction, pixel = np.divmod(self.places, height * width)
        v, u = np.divmod(pixel, width)
        v, u, step = v - rows.start, u - columns.start, rows.step or 1
        inside = (v >= 0) & (v < rows.stop - rows.start)
        inside &= (u >= 0) & (u < columns.stop - columns.start)
        if step > 1:
            inside &= ((direction == 0) & (v % step == 0)) | ((direction == 1) & (u % step == 0))
        tall, wide = (-(-(side.stop - side.start) // step) for side in (rows, columns))
        places = (direction * tall + v // step) * wide + u // step
        order = np.argsort(self.sizes[inside], kind="stable")  # of several the largest is the last
        return TornEdges((tall, wide), places[inside][order], self.sizes[inside][order])


def clean_mesh(
    vertices: FloatArray,
    inside: BoolArray,
    normals: FloatArray | None,
    cuts: Cuts,
    min_part: int,
    *,
    parallel: bool,
    wraps: bool,
) -> Mesh:
    """Mesh of the points (V, 3) of pixels inside (H, W), with cuts, without what is no surface.

    Shreds beside jumps, by normals (H, W, 3) where there are any, and parts of fewer pixels than
    ``min_part`` are dropped. If no two pixels are joined all of them remain, as points.
    """
    pixels = np.argwhere(inside)[:, ::-1].astype(np.int32)
    faces = grid_faces(
        vertices, inside, cuts.right, cuts.down, cut_diagonals=cuts.diagonals, wraps=wraps
    )
    shred = np.zeros(len(faces), dtype=np.bool_)
    if normals is not None:
        shred = shreds(
            vertices,
            faces,
            normals[inside].astype(np.float64, copy=False),
            cuts.torn[inside],
            around(cuts.torn, wraps=wraps)[inside],
            rims(inside, cuts.torn)[inside],
            parallel=parallel,
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


@np.errstate(all="ignore")  # of surfaces that are none
def torn_edges(
    problem: Problem,
    solution: Solution,
    depth: FloatArray,
    *,
    least: float = CUT,
    longest: float = math.inf,
    both: bool = True,
) -> TornEdges:
    """Jumps of more than ``least`` footprints.

    Those count as found that the method found, from both sides of an edge or from either, or that
    tear an edge to more than ``longest`` footprints. A mesh has its edges between straight
    neighbours: where the method joins diagonal ones only it has decided nothing there, and the size
    of the jump decides. Along the diagonals what the method found is all there is.
    """
    decided = solution.cuts
    if (1, 0) not in problem.graph.steps:
        problem, decided = problem.connected(4), None
    footprint = footprints(problem, depth)  # before the sizes: it takes more room
    graph, jumps = problem.graph, absolute_jumps(problem, depth)
    agreed = np.logical_and if both else np.logical_or
    inside = graph.scatter(np.ones(graph.size, dtype=np.bool_), fill=False)
    every = graph.exists
    places, sizes = [], []
    for number, step in enumerate(((1, 0), (0, 1), (1, 1), (-1, 1))):
        diagonal = number > 1
        if step not in graph.steps or (diagonal and decided is None):
            continue
        d = graph.steps.index(step)
        narrow, exists = narrower(graph, footprint, d), every[d]
        size = np.maximum(*both_ways(graph, jumps, d))
        size /= narrow
        large = (size > least) & exists
        if decided is not None:
            found = agreed(*both_ways(graph, decided, d))
            if longest < math.inf and not diagonal:
                found |= _lengths(problem, depth, d) > longest * narrow
            if diagonal:
                large &= found
            np.negative(size, out=size, where=~found)
        at = graph.pixels[large].astype(np.int64)
        if step == (-1, 1):  # the first pixel of the block is the one to the left
            at += np.where(at % graph.shape[1] == 0, graph.shape[1] - 1, -1)
        places.append(number * inside.size + at)
        sizes.append(size[large])
        if not diagonal:
            next_one = np.roll(inside, -1, axis=1 - number)
            if number or not problem.view.wraps:
                next_one[(slice(None), -1) if number == 0 else -1] = False
            missing = inside & next_one & ~graph.scatter(exists, fill=False)
            places.append(number * inside.size + np.flatnonzero(missing))
            sizes.append(np.full(len(places[-1]), np.inf))
    return TornEdges(graph.shape, np.concatenate(places), np.concatenate(sizes))


def active_jumps(problem: Problem, solution: Solution, depth: FloatArray) -> FloatArray:
    """Largest jump (H, W) from each pixel to the next ones, 0 where it is continuous."""
    graph, cuts = problem.graph, solution.cuts
    footprint = footprints(problem, depth) if cuts is None else np.empty(0)
    sizes = absolute_jumps(problem, depth)
    largest, exists = np.zeros(graph.size), graph.exists
    for d in range(0, len(sizes), 2):
        size = np.maximum(*both_ways(graph, sizes, d))
        if cuts is None:
            marked = size > CUT * narrower(graph, footprint, d)
        else:
            marked = np.logical_or(*both_ways(graph, cuts, d))
        np.maximum(largest, size, out=largest, where=marked & exists[d])
    return graph.scatter(largest)


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
