"""All solvers, with tight tolerances: a new one is tested by adding a line."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

import pytest

from rayrelief.solvers import ConjugateGradient, Dense, Direct, Multigrid, PyAMG

needs_pyamg = pytest.mark.skipif(find_spec("pyamg") is None, reason="pyamg is not installed")
SOLVERS = [
    ConjugateGradient(rtol=1e-12),
    Dense(),
    Direct(),
    Multigrid(rtol=1e-12),
    pytest.param(PyAMG(rtol=1e-12), marks=needs_pyamg),
]


def _each(solvers: Sequence[object]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("solver", solvers, ids=lambda solver: type(solver).__name__)


every_solver = _each(SOLVERS)
every_solver_of_large_maps = _each([each for each in SOLVERS if not isinstance(each, Dense)])
