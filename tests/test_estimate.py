"""Memory that a run will need, and the refusal of a map that does not fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from rayrelief import RayPlane, estimate, integrate
from rayrelief.backends import CPU, Backend
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cli.runs.run import files_memory
from rayrelief.errors import InputError
from rayrelief.estimate import check_memory, memory_needed
from rayrelief.memory import in_words
from rayrelief.methods import Problem, Solution
from rayrelief.problem import problem_memory
from rayrelief.solvers import (
    ConjugateGradient,
    Dense,
    Direct,
    Multigrid,
    Operator,
    PreparedSolver,
    PyAMG,
)

GB = 10**9


def needed(pixels: int, inside: int, *, files: bool = False, **settings: Any) -> int:
    method = RayPlane(**settings)
    afterwards = files_memory(pixels, inside, method) if files else 0
    return memory_needed(pixels, inside, method, CPU(), afterwards=afterwards)


def test_a_large_map_takes_its_pixels_and_no_fixed_part():
    small, large = (needed(n, n) for n in (10**6, 10**7))
    assert small + 9 * (small - estimate.LOADED_CODE) == large


def test_pixels_outside_take_less():
    assert needed(10**6, 10**5) < needed(10**6, 10**6) / 2


def test_what_takes_more():
    def megapixel(files: bool = False, **settings: Any) -> int:
        return needed(10**6, 10**6, files=files, **settings)

    assert megapixel() == megapixel(connectivity="diagonal") < megapixel(connectivity=8)
    assert megapixel(solver=ConjugateGradient()) < megapixel() < megapixel(solver=PyAMG())
    assert megapixel(solver=PyAMG()) < megapixel(solver=Direct())
    assert megapixel() < megapixel(files=True) < megapixel(files=True, connectivity=8)


def test_dense_grows_with_the_square_of_the_pixels_up_to_its_own_limit():
    dense = Dense(max_nodes=4000)
    assert dense.memory(2000, 4) == 4 * dense.memory(1000, 4)
    assert dense.memory(10**6, 4) == dense.memory(4000, 4)


@dataclass(frozen=True)
class Own:
    """A solver of somebody else, which does not say what it takes."""

    def prepare(self, operator: Operator) -> PreparedSolver:
        raise NotImplementedError


class Bare:
    """A method of somebody else, which does not say what it takes."""

    def solve(self, problem: Problem, backend: Backend, callback: object = None) -> Solution:
        raise NotImplementedError


def test_what_does_not_say_what_it_takes_counts_for_nothing():
    solver = needed(10**6, 10**6) - needed(10**6, 10**6, solver=Own())
    assert solver == Multigrid().memory(10**6, 4)
    assert memory_needed(10**6, 10**6, Bare(), CPU()) < needed(10**6, 10**6, solver=Own())


def test_the_refusal_says_what_is_needed_what_is_there_and_what_to_do(monkeypatch):
    monkeypatch.setattr(estimate, "memory_available", lambda: 2 * GB)
    method = RayPlane(connectivity=8)
    size = in_words(memory_needed(16_000_000, 15_000_000, method, CPU()))
    with pytest.raises(InputError) as error:
        check_memory(16_000_000, 15_000_000, method, CPU())
    text = str(error.value)
    for fact in ("16,000,000", "15,000,000", size, "2.0 GB", "connectivity=4", "memory_check"):
        assert fact in text


@pytest.mark.parametrize("solver", [Dense(), Direct(), PyAMG()], ids=lambda s: type(s).__name__)
def test_the_refusal_names_the_solver_that_takes_less(monkeypatch, solver):
    monkeypatch.setattr(estimate, "memory_available", lambda: 0)
    with pytest.raises(InputError, match=r"use solver=rayrelief\.solvers\.Multigrid\(\)"):
        check_memory(1000, 1000, RayPlane(solver=solver), CPU())


def test_exactly_enough_is_enough(monkeypatch):
    just = needed(5000, 4000)
    monkeypatch.setattr(estimate, "memory_available", lambda: just)
    check_memory(5000, 4000, RayPlane(), CPU())
    with pytest.raises(InputError, match="fits into memory"):
        check_memory(5000, 4001, RayPlane(), CPU())


class Untouched(Pinhole):
    """A camera that nobody may look through."""

    def rays(self, height: int, width: int) -> Any:
        raise AssertionError("rays were asked for")


def test_integrate_refuses_before_it_allocates(monkeypatch):
    asked = []

    def little() -> int:
        asked.append(True)
        return 10_000_000

    monkeypatch.setattr(estimate, "memory_available", little)
    normals = np.broadcast_to(np.array([0.0, 0.0, -1.0]), (20_000, 20_000, 3))  # 24 bytes
    mask = np.zeros((20_000, 20_000), np.bool_)
    mask[:2] = True
    with pytest.raises(InputError, match=r"400,000,000 pixels, 40,000 of them inside"):
        integrate(normals, Untouched(9.0, 9.0, 5.0, 5.0), mask=mask)
    assert asked == [True]


def test_a_refusal_can_be_overridden(monkeypatch):
    monkeypatch.setattr(estimate, "memory_available", lambda: 0)
    normals = np.tile([0.0, 0.0, -1.0], (4, 5, 1))
    with pytest.raises(InputError, match="memory"):
        integrate(normals, Pinhole(9.0, 9.0, 2.0, 2.0))
    assert integrate(normals, Pinhole(9.0, 9.0, 2.0, 2.0), memory_check=False).status.ok


def test_a_small_mask_in_a_large_image_takes_what_its_preparation_takes():
    small, large = (needed(n, 1000) for n in (10**6, 10**7))
    assert large - small == problem_memory(9 * 10**6, 0)[1]
