"""All solvers, with tight tolerances: a new one is tested by adding a line."""

from __future__ import annotations

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
every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: type(solver).__name__)
