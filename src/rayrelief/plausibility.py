"""Whether a surface can be what its normals are those of: cheap signs that it cannot."""

from __future__ import annotations

import numpy as np

from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.view import points_at
from rayrelief.conventions import FloatArray
from rayrelief.doctor.advice import inside_out, misread
from rayrelief.problem import Problem

# Scenes of the gallery span at most a factor of 8 within a component, with a median angle of at
# most 6 degrees to their normals; random normals end 40 degrees away and more.
LARGEST_FACTOR = 1e6  # between the depths of a component
LARGEST_SLOPE = 1e4  # of a component as a whole, for parallel rays
LARGEST_ANGLE = 35.0  # degrees, median
SUSPICIOUS_ANGLE = 2.0  # degrees, median: with one axis flipped, real objects have 3 and more
SAMPLES = 4000  # pixels whose normals are compared
FEWEST = 50


def doubts(problem: Problem, x: FloatArray) -> tuple[str, ...]:
    """What speaks against the surface of the unknown x (N,), in words; nothing if it is plausible.

    Looks at the range of depth of each component, and at the normals of some thousand pixels.
    """
    return (*_range_doubts(problem, x), *_angle_doubts(problem, x))


def _range_doubts(problem: Problem, x: FloatArray) -> tuple[str, ...]:
    first = problem.graph.starts[:-1]
    spread = float(np.max(np.maximum.reduceat(x, first) - np.minimum.reduceat(x, first)))
    camera = problem.view.camera
    if isinstance(camera, Orthographic):
        slope = spread / (camera.pixel_size * max(problem.graph.shape))
        steep = f"the depth of a component rises {slope:.2g} times the width of the image"
        return (steep,) if slope > LARGEST_SLOPE else ()
    if spread > np.log(LARGEST_FACTOR):
        return (
            f"the depths within a component differ by a factor of 10^{spread / np.log(10):.0f}",
        )
    return ()


def _angle_doubts(problem: Problem, x: FloatArray) -> tuple[str, ...]:
    middle = _median_angle(problem, x)
    if middle <= LARGEST_ANGLE:
        return ()
    return (f"half of its normals are more than {middle:.0f} degrees away from those of the input",)


def _median_angle(problem: Problem, x: FloatArray) -> float:
    """Degrees between the normals of the surface and of the input; 0 where too few can be compared.

    Each is that of a pixel, its right and its lower neighbour.
    """
    graph = problem.graph
    if not {(1, 0), (0, 1)} <= set(graph.steps):
        return 0.0
    right, below = (graph.neighbours[graph.steps.index(step)] for step in ((1, 0), (0, 1)))
    nodes = np.arange(0, graph.size, -(-graph.size // SAMPLES))
    nodes = nodes[(right[nodes] != nodes) & (below[nodes] != nodes)]
    if len(nodes) < FEWEST:
        return 0.0
    with np.errstate(all="ignore"):  # absurd depths are what is looked for
        here, aside, down = (
            _points(problem, x, each) for each in (nodes, right[nodes], below[nodes])
        )
        normals = np.cross(down - here, aside - here)
        given = problem.unit_normals.reshape(-1, 3)[graph.pixels[nodes]]
        across = np.linalg.norm(np.cross(normals, given), axis=1)
        angle = np.degrees(np.arctan2(across, np.einsum("ij,ij->i", normals, given)))
    finite = angle[np.isfinite(angle)]
    return float(np.median(finite)) if finite.size else 180.0


def other_axes(problem: Problem, x: FloatArray) -> tuple[str, ...]:
    """Say that the normals fit other axes, where they are not those of the surface."""
    graph = problem.graph
    inside = graph.scatter(np.ones(graph.size, dtype=np.bool_), fill=False)
    inwards = not inside.all() and inside_out(problem.normals, inside)
    if not inwards and _median_angle(problem, x) < SUSPICIOUS_ANGLE:
        return ()
    told = misread(problem.normals, inside, problem.view.camera)
    hollow = "unless this object is hollow, its normals are turned inside out: "
    return tuple(hollow + text if inwards else text for text in told)


def _points(problem: Problem, x: FloatArray, nodes: FloatArray) -> FloatArray:
    """Points (n, 3) at some nodes, each component in a unit of its own."""
    v, u = np.divmod(problem.graph.pixels[nodes], problem.graph.shape[1])
    depth = np.exp(x[nodes]) if problem.equations.unknown == "log-depth" else x[nodes]
    pixels = np.stack((u, v), axis=1).astype(np.float64)
    return points_at(problem.view.camera, problem.depth_kind, pixels, depth)
