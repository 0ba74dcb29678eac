"""Edges of the built-in scenes: what their normals say, beside what the true surface does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cache, partial

import numpy as np
import numpy.typing as npt
from numba import vectorize

from rayrelief import Ordered, Scene, synthetic
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.formulation.intervals import IntervalEquations
from rayrelief.methods.ordered import evidence, segments
from rayrelief.problem import assemble

SIZE = 480, 640
FINER = 3  # times as many pixels along each side show the true jumps; odd, so that centres stay
SEEDS = range(5)  # arrangements of the crowd
NAMED = ("still_life", "tori", "overlapping_spheres", "vase", "sphere", "room")
Renderer = Callable[..., Scene]
Input = Callable[[Renderer, Scene], FloatArray]

_outside = vectorize(evidence.outside.py_func)


@dataclass(frozen=True, eq=False)
class Edges:
    """What a method knows of each edge (E,), and the truth; lengths in pixels.

    Attributes
    ----------
    half_width, sigma, lead
        Of ``IntervalEquations``.
    residual
        Of the equation, at the true depth.
    jump
        Of the true surface: by how much it lies outside of the intervals of exact, finer normals.
    noise
        Estimates in radians, one for each scene.
    """

    half_width: FloatArray
    sigma: FloatArray
    lead: FloatArray
    residual: FloatArray
    jump: FloatArray
    noise: FloatArray

    @property
    def jumps(self) -> BoolArray:
        """Whether the true surface jumps: by more than what the method calls a jump."""
        jumps: BoolArray = np.abs(self.jump) > segments.SMALLEST_JUMP
        return jumps

    def where(self, chosen: BoolArray) -> Edges:
        """Some of the edges."""
        names = [field.name for field in fields(self) if field.name != "noise"]
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})

    @classmethod
    def joined(cls, several: Iterable[Edges]) -> Edges:
        """All edges of several scenes."""
        parts = list(several)
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@cache
def renderers(height: int, width: int) -> dict[str, Renderer]:
    """Scenes to be rendered at this size, or the very same ones at another size."""
    crowd = partial(synthetic.GALLERY["crowd"], across=max(height, width) / 100)
    crowds = {f"crowd {seed}": partial(crowd, seed=seed) for seed in SEEDS}
    return {**crowds, **{name: synthetic.GALLERY[name] for name in NAMED}}


def exact(render: Renderer, scene: Scene) -> FloatArray:
    """Normals at the centres of the pixels."""
    return scene.normals


def averaged(render: Renderer, scene: Scene) -> FloatArray:
    """Means of four normals within each pixel: a sensor sees an area, not a point."""
    height, width = scene.mask.shape
    camera = scene.camera.resize(2 * width, 2 * height)
    fine = render(2 * height, 2 * width, camera).normals
    total: FloatArray = fine.reshape(height, 2, width, 2, 3).sum(axis=(1, 3))
    return total / np.linalg.norm(total, axis=-1, keepdims=True)


def eight_bits(render: Renderer, scene: Scene) -> FloatArray:
    """Normals as an image of 8 bits per channel holds them."""
    return synthetic.quantised(scene.normals, 8)


def turned(degrees: float) -> Input:
    """Normals with rotation noise."""

    def noisy(render: Renderer, scene: Scene) -> FloatArray:
        rng = np.random.default_rng(0)
        return synthetic.with_rotation_noise(scene.normals, degrees, rng)

    return noisy


def edges_of(render: Renderer, input_of: Input, size: tuple[int, int] = SIZE) -> Edges:
    """Edges of one scene, as a method sees them through some input."""
    scene = render(*size)
    normals = input_of(render, scene)
    mask = scene.mask & np.isfinite(normals).all(axis=-1)
    true_jumps = jump_images(render, size)
    equations, x = _equations(scene, normals, mask)
    parts = [
        Edges(
            equations.half_width[row, a],
            equations.sigma[row, a],
            equations.lead[row, a],
            residual,
            equations.graph.gather(true_jumps[row])[a],
            noise=np.empty(0),
        )
        for row, a, residual in _rows(equations, x)
    ]
    edges = replace(Edges.joined(parts), noise=np.array([equations.noise]))
    return edges.where(np.isfinite(edges.jump))


def _equations(
    scene: Scene, normals: FloatArray, mask: BoolArray
) -> tuple[IntervalEquations, FloatArray]:
    """Equations of normals (H, W, 3), and the true unknown (N,)."""
    problem = assemble(normals, scene.camera, mask=mask, method=Ordered())
    assert isinstance(problem.equations, IntervalEquations)
    assert scene.depth is not None
    return problem.equations, problem.unknown(scene.depth)


def _rows(
    equations: IntervalEquations, x: FloatArray
) -> Iterator[tuple[int, npt.NDArray[np.int64], FloatArray]]:
    """For each row of intervals: its index, the nodes a of its edges, residuals at x in pixels."""
    for d, a, b in equations.graph.edges():
        if d % 2 == 0:
            row = d // 2
            yield row, a, (x[a] - x[b] - equations.offset[row, a]) * equations.gamma[row, a]


@cache
def jump_images(render: Renderer, size: tuple[int, int]) -> list[FloatArray]:
    """Jump (H, W) of the true surface across the edges of each row; NaN without an edge.

    Intervals of finer pixels hide smaller jumps: of all fine edges along an edge, the largest jump.
    """
    height, width = size
    camera = render(*size).camera.resize(FINER * width, FINER * height)
    fine = render(FINER * height, FINER * width, camera)
    equations, x = _equations(fine, fine.normals, fine.mask)
    rows, columns = (FINER * np.arange(length) + FINER // 2 for length in size)
    images = []
    for row, a, residual in _rows(equations, x):
        right, down = equations.graph.steps[2 * row]
        jump = np.full(x.size, np.nan)
        jump[a] = _outside(residual, equations.half_width[row, a]) / FINER
        image = equations.graph.scatter(jump)
        along = [
            image.take(rows + k * down, axis=0, mode="clip").take(
                columns + k * right, axis=1, mode="clip"
            )
            for k in range(FINER)
        ]
        largest = np.argmax(np.abs(along), axis=0)  # NaN where one of them is missing
        images.append(np.take_along_axis(np.array(along), largest[None], axis=0)[0])
    return images
