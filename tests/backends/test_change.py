"""How far a surface has moved: free of scale, and of the shift of what nothing holds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.backends.change import relative_change, remembered
from rayrelief.graph import pixel_graph
from rayrelief.pieces import threads_for

GRAPH = pixel_graph(np.ones((6, 8), dtype=bool))
FREE, FREE_TWO = np.zeros(1, dtype=bool), np.zeros(2, dtype=bool)
RELIEF = np.random.default_rng(3).normal(size=GRAPH.size)
RELIEF -= RELIEF.mean()
RELIEF /= np.sqrt((RELIEF**2).mean())
ACROSS = np.random.default_rng(5).normal(size=GRAPH.size)
ACROSS -= ACROSS.mean() + RELIEF * (ACROSS @ RELIEF) / (RELIEF @ RELIEF)
ACROSS /= np.sqrt((ACROSS**2).mean())


@given(
    seed=st.integers(0, 2**32 - 1),
    scale=st.floats(1e-3, 1e3),
    shift=st.floats(-1e3, 1e3),
)
def test_the_change_is_free_of_scale_and_of_each_component_s_shift(seed, scale, shift):
    mask = np.ones((5, 7), dtype=bool)
    mask[:, 3] = False
    graph = pixel_graph(mask)
    rng = np.random.default_rng(seed)
    new, old = rng.normal(size=(2, graph.size))
    shifts = np.array([shift, -2 * shift])[graph.component_of_node]
    moved = relative_change(graph, FREE_TWO, scale * new + shifts, scale * old - shifts)
    assert moved == pytest.approx(relative_change(graph, FREE_TWO, new, old), rel=1e-6)


def test_the_change_is_the_displacement_over_the_relief():
    new = RELIEF + 0.01 * ACROSS
    assert relative_change(GRAPH, FREE, new, RELIEF) == pytest.approx(0.01 / np.hypot(1, 0.01))


def test_what_is_remembered_is_enough_to_compare_with():
    x = 1e3 + RELIEF
    assert relative_change(GRAPH, FREE, x, remembered(GRAPH, FREE, x)) < 1e-7


def test_the_shift_of_an_anchored_component_is_a_change():
    held = ~FREE
    assert relative_change(GRAPH, held, RELIEF + 0.1, RELIEF) == pytest.approx(0.1)
    x = 3.0 + RELIEF
    assert relative_change(GRAPH, held, x, remembered(GRAPH, held, x)) < 1e-6


def test_a_large_surface_is_compared_in_pieces_that_any_number_of_threads_adds_up_alike():
    mask = np.ones((500, 600), dtype=bool)
    mask[:, 400] = False
    graph, held = pixel_graph(mask), np.array([False, True])
    new, old = 5.0 + np.random.default_rng(7).normal(size=(2, graph.size))
    found = []
    for threads in (1, 2, 3):
        with threads_for(graph.size, threads):
            kept = remembered(graph, held, new)
            found.append((relative_change(graph, held, new, old), kept.tobytes()))
    assert len(set(found)) == 1
    parts = [slice(*graph.starts[c : c + 2]) for c in range(2)]
    free = new[parts[0]] - new[parts[0]].mean()
    moved = (new - old)[parts[0]].var() * free.size + ((new - old)[parts[1]] ** 2).sum()
    relief = sum(new[part].var() * new[part].size for part in parts)
    assert found[0][0] == pytest.approx(np.sqrt(moved / relief))
    np.testing.assert_allclose(kept, np.append(free, new[parts[1]]), rtol=1e-6, atol=1e-6)
