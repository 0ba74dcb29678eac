"""The backend on the cores of this machine: what it sets up is the gradient of its energy."""

from __future__ import annotations

import os
import subprocess
import sys
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import fewer_examples
from rayrelief.backends import CPU
from rayrelief.errors import InputError
from rayrelief.graph import pixel_graph
from rayrelief.laws import Bilateral, EdgeTerms, FixedWeights
from rayrelief.methods import Anchors, iterate
from rayrelief.solvers import Dense, Multigrid
from reference.problems import equations_of, problem_of, rough_problem

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


class NanOutside(FixedWeights):
    """A law that says nothing sensible of edges that do not exist."""

    def terms(self, equations, x):
        terms = super().terms(equations, x)
        missing = ~equations.graph.exists
        return EdgeTerms(
            np.where(missing, np.nan, terms.weights), np.where(missing, np.nan, terms.target)
        )


def test_what_a_law_says_of_missing_edges_does_not_count():
    x, systems = np.random.default_rng(3).normal(size=SIZE), []
    for law in (FixedWeights(0.7), NanOutside(0.7)):
        with CPU().compute(problem_of(EQUATIONS), Dense()) as computation:
            systems.append((computation.linearise(law, x), computation.rhs))
    np.testing.assert_array_equal(systems[0][1], systems[1][1])
    assert systems[0][0] == systems[1][0]


class Counting:
    """A solver whose prepared form can be updated; counts how often it is."""

    def __init__(self):
        self.prepared = self.updated = 0

    def prepare(self, operator):
        self.prepared += 1
        self.inner = Dense().prepare(operator)
        return self

    def update(self, operator):
        self.updated += 1
        self.inner = Dense().prepare(operator)

    def solve(self, rhs, start, tighten=1.0):
        return self.inner.solve(rhs, start, tighten)


def test_a_solver_that_can_be_updated_is_prepared_once():
    solver = Counting()
    iterate(problem_of(EQUATIONS), Bilateral(2.0), solver, CPU(), max_iterations=4)
    assert (solver.prepared, solver.updated) == (1, 3)


def test_nothing_but_the_surface_is_left_when_a_computation_has_finished():
    with CPU().compute(problem_of(EQUATIONS), Multigrid()) as computation:
        computation.linearise(Bilateral(2.0), np.zeros(SIZE))
        computation.solve(np.zeros(SIZE), 1.0)
        held = [weakref.ref(each) for each in (computation.operator, computation._prepared)]
        computation.finish(Bilateral(2.0), np.zeros(SIZE))
        assert [each() for each in held] == [None, None]


def test_isolated_pixels_that_are_anchored_go_to_their_anchors():
    graph = pixel_graph(np.eye(4, dtype=bool))
    anchors = Anchors(np.arange(4.0), np.array([1, 0, 2, 3], np.float32))
    problem = problem_of(equations_of(graph), anchors=anchors)
    solution = iterate(problem, Bilateral(2.0), Dense(), CPU(), max_iterations=2)
    np.testing.assert_allclose(solution.x, [0, 0, 2, 3], atol=1e-12)
    np.testing.assert_array_equal(solution.anchored, [True, False, True, True])


@pytest.mark.parametrize(
    ("values", "weights"),
    [([1.0, np.nan], [1, 1]), ([1.0, 2.0], [1, -1]), ([1.0, 2.0], [1, np.nan]), ([1.0], [1, 1])],
)
def test_anchors_that_make_no_sense_are_refused(values, weights):
    with pytest.raises(InputError, match="anchors"):
        Anchors(np.array(values), np.array(weights, np.float32))


def test_an_anchor_of_weight_0_needs_no_value():
    anchors = Anchors(np.array([1.0, np.nan]), np.array([1, 0], np.float32))
    assert np.isfinite(anchors.values).all()


RUNS_AT_ONCE = """
import threading
import numpy as np, rayrelief
scene = rayrelief.synthetic.GALLERY["tent"](40, 50)
method = rayrelief.RayPlane(max_iterations=6, tolerance=None)
depths = []
def run():
    result = rayrelief.integrate(
        scene.normals,
        scene.camera,
        mask=scene.mask,
        method=method,
        prior=rayrelief.DepthPrior(scene.depth),
    )
    depths.append(result.depth.tobytes())
threads = [threading.Thread(target=run) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(depths), len(set(depths)))
"""


def test_runs_of_several_python_threads_take_turns():
    # This threading layer of numba ends the process when it is entered twice at a time.
    environment = os.environ | {"NUMBA_THREADING_LAYER": "workqueue"}
    command = [sys.executable, "-W", "ignore", "-c", RUNS_AT_ONCE]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.split()) == (0, ["4", "1"]), ended.stderr
