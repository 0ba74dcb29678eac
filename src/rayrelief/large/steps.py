"""What is done to one block at a time, by any worker: decide, couple, balance, solve, finish."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.backends.cpu import CPU
from rayrelief.cameras.base import Camera
from rayrelief.conventions import BoolArray, FloatArray, SingleArray
from rayrelief.graph import STEPS, Connectivity, PixelGraph
from rayrelief.large.coarse import Coupling, couple_core
from rayrelief.large.equations import EdgeImages, parts, settled
from rayrelief.large.job import Job
from rayrelief.large.joining import (
    ALONE,
    INSIDE,
    Asked,
    Moves,
    Own,
    filled,
    glued,
    residual_of_core,
)
from rayrelief.large.judging import Decided, of_a_part, usable
from rayrelief.large.layout import Block, Window, shape_of, within
from rayrelief.large.store import JOINED, SHORT, refusing_damage
from rayrelief.large.sweeping import centre_alone, solve_block
from rayrelief.methods.base import Method
from rayrelief.problem import Anchors, Problem, assemble

HELD = 1e3  # weight of a value that is held, over that of the surest equation

Sample = tuple[npt.NDArray[np.int32], FloatArray, BoolArray]
"""Parts and values of pixels (n,), and whether they are of the regular grid."""


def decide(job: Job, number: int) -> Decided:
    """Run the method on a block, and keep the surface and the equations that it ends with."""
    name = f"decided.{job.look}.{number}"
    noted = job.store.noted(name)
    if noted is not None:
        with refusing_damage(job.store.folder / f"{name}.json"):
            return Decided(**noted)
    block = job.layout.block(number)
    normals, mask = job.source.read(block.whole)
    asked: Any = job.method
    method, options = of_a_part(asked.continued if job.look else asked)
    rays = job.camera_of(block.whole).unit_rays(*mask.shape)
    mask, away, is_left = usable(normals, mask, rays, options)
    del rays
    core = within(block.core, block.whole)
    decided = _run(job, block, normals, mask, method) if is_left else _nothing(job, block)
    decided = replace(
        decided,
        normals=int(np.count_nonzero(mask[core])),
        facing_away=int(np.count_nonzero(away[core])),
    )
    job.store.note(name, vars(decided))
    return decided


def couple(job: Job, number: int) -> Coupling:
    """How the parts of all blocks meet in a core."""
    return couple_core(job, job.layout.block(number))


def balance(job: Job, number: int, sweep: int) -> list[Asked]:
    """What the equations of a core ask of the nodes of blocks after a sweep."""
    return residual_of_core(job, job.layout.block(number), sweep)


def solve(job: Job, given: tuple[int, FloatArray, Own], sweep: int) -> bool:
    """Solve a block with the values of its ring held: its number, those, and its moves.

    Returns whether the solver converged.
    """
    number, ring, moves = given
    short = f"{SHORT}.{job.look}.{sweep}.{number}"
    if not job.store.has(job.surface(sweep), number):
        x, converged = solve_block(job, job.layout.block(number), sweep - 1, ring, moves)
        if not converged:
            job.store.note(short, {})
        job.store.write(job.surface(sweep), number, x)
    return job.store.noted(short) is None


def join(job: Job, given: tuple[int, Moves], sweep: int) -> None:
    """Keep the joined surface of a core, to begin at again."""
    number, moves = given
    job.store.write(JOINED, number, glued(job, job.layout.block(number).core, sweep, moves))


def sample(job: Job, given: tuple[int, Moves], sweep: int, every: int) -> Sample:
    """Parts and values of some pixels of a core: every so many a side, and one of each part.

    Not of what is the core's alone, whose median is found where it lies.
    """
    number, moves = given
    block = job.layout.block(number)
    x = glued(job, block.core, sweep, moves)
    labels = job.store.read("parts", number)[within(block.core, block.whole)]
    inside = np.isfinite(x) & (labels >= 0) & (job.store.read("inside", number) == INSIDE)
    first = np.flatnonzero(inside)[np.unique(labels[inside], return_index=True)[1]]
    regular = np.zeros_like(inside)
    regular[::every, ::every] = inside[::every, ::every]
    regular = regular.ravel()
    pixels = np.concatenate((np.flatnonzero(regular), first[~regular[first]]))
    parts = labels.ravel()[pixels] + np.int32(job.first[number])
    return parts, x.ravel()[pixels], regular[pixels]


def finish(job: Job, given: tuple[int, Moves], sweep: int) -> None:
    """Keep the depth of a core."""
    number, moves = given
    block = job.layout.block(number)
    x = glued(job, block.core, sweep, moves)
    centre_alone(job, block, x)
    depth = np.exp(x, out=x) if job.camera.central else x
    job.store.write("depth", number, depth.astype(np.float32))


def _run(
    job: Job, block: Block, normals: npt.NDArray[Any], mask: BoolArray, method: Method
) -> Decided:
    camera = job.camera_of(block.whole)
    problem = assemble(normals, camera, mask=mask, method=method, threads=job.threads)
    if job.look:
        problem = _begun(job, problem, block)
    solution = method.solve(problem, CPU(job.threads))
    equations = settled(problem, solution)
    labels, bending = parts(problem.graph, equations[: len(equations) // 2])
    x = problem.graph.scatter(solution.x)
    if problem.depth_kind != job.kind:
        _measured_along(_log_lengths(job, camera, x.shape), x, equations, job.connectivity)
    core = within(block.core, block.whole)
    inside, alone = _reach(problem.graph, core)
    _keep(job, block, x, labels, equations, inside)
    return Decided(
        pixels=int(np.count_nonzero(inside[core])),
        parts=int(labels.max()) + 1,
        bending=bending,
        alone=alone,
        outcome=solution.outcome.name,
    )


def _begun(job: Job, problem: Problem, block: Block) -> Problem:
    """Problem of a block that begins at the joined surface, held where the block ends."""
    x = filled(job.store.window(job.layout, JOINED, block.whole))
    if problem.depth_kind != job.kind:
        x -= _log_lengths(job, job.camera_of(block.whole), x.shape)
    ends = np.ones(x.shape, np.bool_)
    ends[within(job.layout.before_the_end(block), block.whole)] = False
    start = problem.graph.gather(x)
    equations: Any = problem.equations
    weight = HELD * float(np.max(equations.precision(0)))
    weights = np.where(problem.graph.gather(ends), weight, 0.0)
    return replace(problem, start=start, anchors=Anchors(start, weights.astype(np.float32)))


def _nothing(job: Job, block: Block) -> Decided:
    shape = shape_of(block.whole)
    steps = len(STEPS[job.connectivity])  # half of them, each with two images
    _keep(
        job,
        block,
        np.full(shape, np.nan),
        np.full(shape, -1, np.int32),
        np.zeros((steps, *shape), np.float32),
        np.zeros(shape, np.int8),
    )
    return Decided()


def _keep(
    job: Job,
    block: Block,
    x: FloatArray,
    labels: npt.NDArray[np.int32],
    equations: SingleArray,
    inside: npt.NDArray[np.int8],
) -> None:
    core = within(block.core, block.whole)
    job.store.write("inside", block.number, inside[core])
    job.store.write("equations", block.number, equations[(slice(None), *core)])
    job.store.write("parts", block.number, labels)
    job.store.write(job.surface(0), block.number, x)


def _reach(graph: PixelGraph, core: Window) -> tuple[npt.NDArray[np.int8], int]:
    """Where (h, w) a block is INSIDE, or ALONE in its core, 0 elsewhere; pieces that are alone."""
    beyond = np.ones(graph.shape, np.bool_)
    beyond[core] = False
    component = graph.component_of_node
    leaves = np.zeros(graph.component_count, np.bool_)
    leaves[component[graph.gather(beyond)]] = True
    kinds = np.where(leaves, INSIDE, ALONE).astype(np.int8)[component]
    return graph.scatter(kinds, fill=0), int(np.count_nonzero(~leaves))


def _log_lengths(job: Job, camera: Camera, shape: tuple[int, ...]) -> FloatArray:
    """Log of the lengths (h, w) of the rays of a block, as depths of the whole map are measured.

    A map that also looks to the side has distances, where a block of it has z.
    """
    rays = camera.rays(*shape)
    lengths = rays[..., 2] if job.kind == "z" else np.linalg.norm(rays, axis=-1)
    logarithms: FloatArray = np.log(lengths)
    return logarithms


def _measured_along(
    lengths: FloatArray, x: FloatArray, equations: SingleArray, connectivity: Connectivity
) -> None:
    """Turn the log depths of a block into those of the whole map, in place."""
    x += lengths
    images = EdgeImages.stacked(connectivity, equations)
    for p, here, there, conductance, _ in images.pairs():
        images.target[p][here] += np.where(conductance > 0, lengths[here] - lengths[there], 0.0)
