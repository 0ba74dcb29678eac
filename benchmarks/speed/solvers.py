"""One system, several solvers: seconds relative to Multigrid."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec

import rayrelief
from benchmarks.report import Table, columns, progress
from benchmarks.speed.pardiso import Pardiso
from benchmarks.speed.watched import best_seconds, problems_of
from rayrelief.backends.threads import kernel_threads
from rayrelief.solvers import Direct, PyAMG, Solver
from rayrelief.synthetic.crowd import crowd

SIDE = 512
DONE = 10  # outer iterations before the system is taken
RTOL = 1e-6

SOLVERS: tuple[tuple[Solver, str | None], ...] = (  # and the package that each needs
    (rayrelief.solvers.Multigrid(RTOL), None),
    (rayrelief.solvers.ConjugateGradient(RTOL, max_steps=100_000), None),
    (Direct(), None),
    (PyAMG(RTOL), "pyamg"),
    (Pardiso(), "pypardiso"),
)


def tables(side: int = SIDE) -> Iterator[Table]:
    """Prepare and solve one system of the crowd with every solver that is there."""
    progress(f"solvers: the system after {DONE} iterations on {side}x{side} pixels")
    problem = problems_of(crowd(side, side), {DONE + 1})[DONE + 1]
    measured, missing = [], []
    for solver, package in SOLVERS:
        name = type(solver).__name__
        if package is not None and find_spec(package) is None:
            missing.append(f"{name} is left out: {package} is not installed.")
            continue
        progress(f"solvers: {name}")
        with kernel_threads(None, problem.size):
            solution = problem.solve(solver)
            seconds = best_seconds(partial(problem.solve, solver))
        measured.append((name, seconds, solution.steps, problem.residual(solution.x)))
    fastest = measured[0][1]  # Multigrid's
    yield Table(
        f"Solvers on one system of {problem.size:,} pixels, to {RTOL:g}",
        columns("solver | time over Multigrid's:.2f | seconds:.2f | steps:,d | residual:.1e"),
        tuple((name, seconds / fastest, seconds, *rest) for name, seconds, *rest in measured),
        (
            f"A crowd of {side}x{side} pixels after {DONE} outer iterations, from zero, set-up "
            "included. Direct and PyAMG use one thread.",
            *missing,
        ),
    )
