"""The backend on the cores of this machine: what it sets up is the gradient of its energy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import fewer_examples
from rayrelief import Anchors
from rayrelief.backends import CPU
from rayrelief.errors import InputError
from rayrelief.laws import Bilateral, FixedWeights
from rayrelief.solvers import Dense, Multigrid
from reference.problems import problem_of, rough_problem

EQUATIONS = rough_problem()
SIZE = EQUATIONS.graph.size


def random_anchors(rng: np.random.Generator) -> Anchors:
    weights = np.where(rng.random(SIZE) < 0.3, 10 ** rng.uniform(-3, 3, SIZE), 0)
    return Anchors(rng.normal(size=SIZE), weights.astype(np.float32))


@pytest.mark.parametrize("threads", [0, True, 1.5])
def test_a_number_of_threads_that_makes_no_sense_is_refused(threads):
    with pytest.raises(InputError, match=f"threads is {threads}; expected an integer >= 1"):
        CPU(threads)


@fewer_examples(3)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from(["fused", "stored"]))
def test_operator_and_right_hand_side_are_the_gradient_of_the_energy(seed, anchored, form):
    # With fixed weights the energy is quadratic: differences tell its gradient exactly.
    rng = np.random.default_rng(seed)
    law = Bilateral(0.0) if form == "fused" else FixedWeights(rng.random(EQUATIONS.offset.shape))
    problem = problem_of(EQUATIONS, anchors=random_anchors(rng) if anchored else None)
    x, step = rng.normal(size=(2, SIZE))
    with CPU().compute(problem, Dense()) as computation:
        ahead, behind = (computation.linearise(law, x + sign * step) for sign in (0.5, -0.5))
        computation.linearise(law, x)
        gradient = 2 * (computation.operator @ x - computation.rhs)
        np.testing.assert_array_equal(computation.anchored, [anchored])
    assert ahead - behind == pytest.approx(gradient @ step, rel=1e-4, abs=1e-4 * ahead)


def test_laws_that_store_their_terms_give_what_fused_ones_give():
    x = np.random.default_rng(2).normal(size=SIZE)
    law = Bilateral(2.0, jumps=True)
    stored = FixedTerms(law.terms(EQUATIONS, x))
    systems = []
    for each in (law, stored):
        with CPU().compute(problem_of(EQUATIONS), Dense()) as computation:
            energy = computation.linearise(each, x)
            systems.append((energy, computation.operator.conductance, computation.rhs))
    for fused, plain in zip(*systems, strict=True):
        np.testing.assert_allclose(fused, plain, rtol=1e-6)


class FixedTerms(FixedWeights):
    """A law whose terms are given."""

    def __init__(self, terms):
        self.given = terms

    def terms(self, equations, x):
        return self.given


@pytest.mark.parametrize("solver", [Dense(), Multigrid(rtol=1e-10)], ids=["anew", "updated"])
def test_a_solve_is_of_the_system_that_was_set_up_last(solver):
    rng = np.random.default_rng(4)
    with CPU().compute(problem_of(EQUATIONS, anchors=random_anchors(rng)), solver) as computation:
        for _ in range(3):
            computation.linearise(FixedWeights(rng.random(EQUATIONS.offset.shape)), np.zeros(SIZE))
            for _ in range(2):
                x = computation.solve(np.zeros(SIZE), 1.0).x
                residual = computation.rhs - computation.operator @ x
                assert np.linalg.norm(residual) < 1e-8 * np.linalg.norm(computation.rhs)
