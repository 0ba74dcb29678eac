"""Linear systems of real maps: cycles of Multigrid, and what they cost in steps of plain CG."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial

import numpy as np

import rayrelief
from benchmarks.diligent import read_maps
from benchmarks.report import Check, Table, columns, progress
from benchmarks.speed.watched import Problem, best_seconds, problems_of
from rayrelief.backends.threads import kernel_threads
from rayrelief.solvers import LinearSolution

NEVER = 1e-300  # a tolerance that is not reached
OUTER = (1, 5, 25)  # outer iterations whose systems are solved
STEPS = 300
FEW, MANY = 1, 9  # cycles whose times tell a set-up from a cycle


def tables(objects: Sequence[str]) -> Iterator[Table]:
    """One table."""
    yield cycles(read_maps(objects), OUTER)


def cycles(maps: Sequence[rayrelief.Scene], outer: Collection[int]) -> Table:
    """From zero with a fresh hierarchy: cycles to two tolerances, and their cost."""
    rows: list[tuple[str | float, ...]] = []
    for scene in maps:
        progress(f"systems: {scene.name}")
        for number, problem in problems_of(scene, outer).items():
            with kernel_threads(None, problem.size):
                counts = [
                    cycles_of(problem.solve(rayrelief.solvers.Multigrid(rtol)))
                    for rtol in (1e-3, 1e-6)
                ]
                setup, cycle = seconds_of_setup_and_cycle(problem)
                step = seconds_per_step(problem)
            cost = 1e3 * setup, 1e3 * cycle, setup / step, cycle / step
            rows.append((scene.name, problem.size, number, *counts, *cost))
    # NumPy's, which keeps NaN: a solve that failed must not be overlooked.
    most = [float(np.max([row[i] for row in rows])) for i in (3, 4, 8)]
    return Table(
        "Linear systems met on the maps, from zero",
        columns(
            "object | pixels:,d | outer iteration:d | cycles to 1e-3:.0f | cycles to 1e-6:.0f "
            "| set-up, ms:.1f | cycle, ms:.2f | set-up, CG steps:.0f | cycle, CG steps:.1f"
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


def cycles_of(solution: LinearSolution) -> float:
    """Cycles of a solve that met its tolerance, else NaN."""
    return solution.steps if solution.converged else float("nan")


def seconds_of_setup_and_cycle(problem: Problem) -> tuple[float, float]:
    """Time of few and of many cycles tells the set-up from the cycle."""
    seconds, steps = [], []
    for limit in (FEW, MANY):
        solver = rayrelief.solvers.Multigrid(NEVER, max_steps=limit)
        steps.append(problem.solve(solver).steps)
        seconds.append(best_seconds(partial(problem.solve, solver)))
    cycle = (seconds[1] - seconds[0]) / max(1, steps[1] - steps[0])
    return seconds[0] - steps[0] * cycle, cycle


def seconds_per_step(problem: Problem) -> float:
    """Time of one step of plain conjugate gradients."""
    solver = rayrelief.solvers.ConjugateGradient(NEVER, max_steps=STEPS).prepare(problem.operator)
    start = np.zeros(problem.size)
    steps = solver.solve(problem.rhs, start).steps
    return best_seconds(partial(solver.solve, problem.rhs, start)) / steps
