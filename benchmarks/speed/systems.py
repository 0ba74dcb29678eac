"""Linear systems of real maps: cycles of Multigrid, and what they cost in steps of plain CG."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numba
import numpy as np

import rayrelief
from benchmarks.diligent import read_maps
from benchmarks.report import Check, Column, Table, progress
from benchmarks.speed.watched import Problem, best_seconds, problems_of
from rayrelief.graph import pixel_graph
from rayrelief.solvers.base import Laplacian, Solution
from rayrelief.threads import kernel_threads

NEVER = 1e-300  # a tolerance that is not reached
OUTER = (1, 5, 25)  # outer iterations whose systems are solved
STEPS = 300
SIDES = (220, 1000)  # of the squares on which conjugate gradients are timed


def tables(objects: Sequence[str]) -> Iterator[Table]:
    """Cycles where there are maps; conjugate gradients always."""
    yield conjugate_gradients(SIDES)
    yield cycles(read_maps(objects), OUTER)


@dataclass(frozen=True)
class Cost:
    """Milliseconds of a set-up, of a cycle, and of a step of plain conjugate gradients."""

    setup: float
    cycle: float
    step: float


def cycles(maps: Sequence[rayrelief.Scene], outer: Collection[int]) -> Table:
    """From zero with a fresh hierarchy: cycles to two tolerances, and their cost."""
    rows: list[tuple[str | float, ...]] = []
    for scene in maps:
        progress(f"systems: {scene.name}")
        for number, problem in problems_of(scene, outer).items():
            with kernel_threads(None, problem.size):
                loose, tight = (problem.solve(rayrelief.Multigrid(rtol)) for rtol in (1e-3, 1e-6))
                cost = cost_of(problem)
            rows.append(
                (
                    scene.name,
                    problem.size,
                    number,
                    cycles_of(loose),
                    cycles_of(tight),
                    cost.setup,
                    cost.cycle,
                    cost.setup / cost.step,
                    cost.cycle / cost.step,
                )
            )
    # NumPy's, which keeps NaN: a solve that failed must not be overlooked.
    most = [float(np.max([row[i] for row in rows])) for i in (3, 4, 8)]
    return Table(
        "Linear systems met on the maps, from zero",
        (
            Column("object"),
            Column("pixels", ",d"),
            Column("outer iteration", "d"),
            Column("cycles to 1e-3", ".0f"),
            Column("cycles to 1e-6", ".0f"),
            Column("set-up, ms", ".1f"),
            Column("cycle, ms", ".2f"),
            Column("set-up, CG steps", ".0f"),
            Column("cycle, CG steps", ".1f"),
        ),
        tuple(rows),
        (
            "Each solved by a freshly prepared Multigrid. A step of plain conjugate gradients was "
            "timed on the same system with the same threads.",
        ),
        (
            Check("most cycles to 1e-3", most[0], at_most=20),
            Check("most cycles to 1e-6", most[1], at_most=60),
            Check("dearest cycle, in CG steps", most[2], at_most=20),
        ),
    )


def cycles_of(solution: Solution) -> float:
    """Cycles of a solve that met its tolerance, else NaN."""
    return solution.steps if solution.converged else float("nan")


def cost_of(problem: Problem, few: int = 1, many: int = 9) -> Cost:
    """Time of so few and of so many cycles tells the set-up from the cycle."""
    seconds, steps = [], []
    for limit in (few, many):
        solver = rayrelief.Multigrid(NEVER, max_steps=limit)
        steps.append(problem.solve(solver).steps)
        seconds.append(best_seconds(partial(problem.solve, solver)))
    cycle = (seconds[1] - seconds[0]) / max(1, steps[1] - steps[0])
    setup = seconds[0] - steps[0] * cycle
    return Cost(1e3 * setup, 1e3 * cycle, 1e3 * seconds_per_step(problem))


def seconds_per_step(problem: Problem) -> float:
    """Time of one step of plain conjugate gradients."""
    solver = rayrelief.ConjugateGradient(NEVER, max_steps=STEPS).prepare(problem.system)
    start = np.zeros(problem.size)
    steps = solver.solve(problem.rhs, start).steps
    return best_seconds(partial(solver.solve, problem.rhs, start)) / steps


def conjugate_gradients(sides: Sequence[int]) -> Table:
    """Time per pixel and step on random systems, with one thread and with all."""
    rows = []
    counts = sorted({1, int(numba.config.NUMBA_NUM_THREADS)})
    for side in sides:
        progress(f"systems: conjugate gradients on {side}x{side} pixels")
        problem = random_problem(side)
        nanoseconds = []
        for count in counts:
            with kernel_threads(count, problem.size):
                nanoseconds.append(1e9 * seconds_per_step(problem) / problem.size)
        rows.append((problem.size, *nanoseconds, nanoseconds[0] / nanoseconds[-1]))
    return Table(
        "Conjugate gradients, ns per pixel and step",
        (
            Column("pixels", ",d"),
            *(Column(f"{n} thread{'s' * (n > 1)}", ".2f") for n in counts),
            Column("speed-up", ".2f"),
        ),
        tuple(rows),
        ("Squares with random conductances; the least of a few repetitions.",),
    )


def random_problem(side: int) -> Problem:
    """A square of pixels with random conductances and a balanced right-hand side."""
    rng = np.random.default_rng(0)
    graph = pixel_graph(np.ones((side, side), dtype=np.bool_))
    one_sided = rng.random((4, graph.size), dtype=np.float32)
    conductance = np.zeros_like(one_sided)
    for d, a, b in graph.edges():
        conductance[d, a] = one_sided[d, a] + one_sided[d ^ 1, b]
    rhs = rng.standard_normal(graph.size)
    return Problem(Laplacian(graph, conductance), rhs - rhs.mean())
