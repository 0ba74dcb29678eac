"""Stretches: neighbours found by how far on they are are the neighbours, and products the same."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import fewer_examples
from rayrelief.compiled import njit
from rayrelief.graph import pixel_graph
from rayrelief.operators import Operator
from rayrelief.pieces import threads_for
from rayrelief.solvers.kernels import flow
from rayrelief.solvers.segments import segments_of
from rayrelief.solvers.stretches import MOST, matrix_of, stretches_of
from reference.random_maps import random_mask

CONNECTIVITY = st.sampled_from([4, "diagonal", 8])


@njit
def product(matrix, x, out, segments):
    for k in range(len(segments[1])):
        flow(matrix, x, out, segments, k)


def graph_of(seed, holes, connectivity, wraps):
    """Two islands, one of them with holes, on an image wider than a strip of nodes."""
    rng = np.random.default_rng(seed)
    mask = random_mask(rng, 23, 700, density=1.0 - holes)
    mask[:12] = True
    mask[12, 100:] = False
    return pixel_graph(mask, connectivity, wraps=wraps), rng


@fewer_examples(2)
@given(
    seed=st.integers(0, 2**32 - 1),
    holes=st.sampled_from([0.0, 0.01, 0.3]),
    connectivity=CONNECTIVITY,
    wraps=st.booleans(),
)
def test_stretches_lead_to_all_neighbours_in_order(seed, holes, connectivity, wraps):
    graph, _ = graph_of(seed, holes, connectivity, wraps)
    segments = segments_of(graph.starts)
    first, table = stretches_of(graph, segments)
    bounds, _ = segments
    for pair in range(len(graph.steps) // 2):
        for k, (lo, hi) in enumerate(itertools.pairwise(bounds)):
            stretches = table[first[pair, k] : first[pair, k + 1]]
            if len(stretches) == 0:
                continue
            assert len(stretches) <= MOST
            nodes = np.concatenate([np.arange(start, stop) for start, stop, _, _ in stretches])
            np.testing.assert_array_equal(nodes, np.arange(lo, hi))
            for direction in (0, 1):
                far = np.repeat(stretches[:, 2 + direction], stretches[:, 1] - stretches[:, 0])
                neighbours = graph.neighbours[2 * pair + direction, lo:hi]
                np.testing.assert_array_equal(nodes + far, neighbours)


@pytest.mark.parametrize("connectivity", [4, "diagonal", 8])
@pytest.mark.parametrize(("holes", "ragged"), [(0.0, False), (0.3, True)])
def test_products_are_the_same_with_and_without_them(connectivity, holes, ragged):
    graph, rng = graph_of(5, holes, connectivity, wraps=True)
    conductance = rng.random(graph.neighbours.shape).astype(np.float32)
    operator = Operator(graph, conductance, rng.random(graph.size).astype(np.float32))
    x, with_them, without = rng.normal(size=(3, graph.size))
    segments = segments_of(graph.starts)
    first, table = stretches_of(graph, segments)
    with threads_for(10**6, 3):
        for one, other in zip((first, table), stretches_of(graph, segments), strict=True):
            np.testing.assert_array_equal(one, other)
    has_none = first[:, :-1] == first[:, 1:]
    assert has_none.any() == ragged
    assert not has_none.all()
    product(matrix_of(operator, (first, table)), x, with_them, segments)
    product(matrix_of(operator, (np.zeros_like(first), table)), x, without, segments)
    assert with_them.tobytes() == without.tobytes()
    np.testing.assert_allclose(with_them, operator @ x, atol=1e-12)
