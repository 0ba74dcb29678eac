"""The constant of every component, however many there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.components import fix_constants
from rayrelief.graph import pixel_graph
from reference.random_maps import random_mask

SEED = st.integers(0, 2**32 - 1)


@given(SEED, st.sampled_from([4, 8]), st.floats(0.2, 1.0), st.booleans())
def test_every_component_gets_the_median_of_the_start(seed, connectivity, density, started):
    rng = np.random.default_rng(seed)
    graph = pixel_graph(random_mask(rng, 12, 13, density=density), connectivity)
    x, start = rng.normal(size=(2, graph.size))
    fixed, components = fix_constants(graph, x, start if started else None)
    for label, (lo, hi) in enumerate(zip(graph.starts[:-1], graph.starts[1:], strict=True)):
        target = np.median(start[lo:hi]) if started else 0.0
        np.testing.assert_array_equal(fixed[lo:hi], x[lo:hi] - np.median(x[lo:hi]) + target)
        assert (components.labels.flat[graph.pixels[lo:hi]] == label).all()
    assert components.sizes == tuple(np.diff(graph.starts))
    assert (components.labels >= 0).sum() == graph.size


@given(SEED, st.floats(0.4, 1.0))
def test_colours_are_aligned_wherever_they_touch(seed, density):
    rng = np.random.default_rng(seed)
    graph = pixel_graph(random_mask(rng, 10, 11, density=density), "diagonal")
    # A flat surface that each colour sees at a height of its own.
    x = rng.normal(size=graph.component_count)[graph.component_of_node]
    fixed, components = fix_constants(graph, x, None)
    np.testing.assert_allclose(fixed, 0, atol=1e-12)
    assert list(components.sizes) == sorted(components.sizes, reverse=True)

    start = rng.normal(size=graph.size)
    fixed, _ = fix_constants(graph, x, start)
    for part in range(components.count):
        nodes = graph.gather(components.labels) == part
        np.testing.assert_allclose(fixed[nodes], np.median(start[nodes]), atol=1e-12)


@pytest.mark.parametrize("connectivity", [4, "diagonal"])
def test_tens_of_thousands_of_islands(connectivity):
    # Dominoes: in the diagonal graph each pixel is a component, of more than 2^16 in all, and
    # numbers of pairs of components leave 32 bits.
    mask = np.zeros((400, 600), dtype=bool)
    mask[::2, ::3] = mask[::2, 1::3] = True
    graph = pixel_graph(mask, connectivity)
    assert graph.component_count == 40_000 * (1 if connectivity == 4 else 2)
    heights = np.random.default_rng(7).normal(size=mask.shape)
    fixed, components = fix_constants(graph, graph.gather(heights), None)
    assert components.sizes == (2,) * 40_000
    image = graph.scatter(fixed)
    left, right = image[::2, ::3], image[::2, 1::3]
    if connectivity == 4:
        np.testing.assert_allclose(right - left, heights[::2, 1::3] - heights[::2, ::3], atol=1e-12)
        np.testing.assert_allclose(left + right, 0, atol=1e-12)
    else:
        np.testing.assert_allclose(image[mask], 0, atol=1e-12)


@given(SEED, st.sampled_from([4, 8]), st.booleans())
def test_what_is_anchored_stays_where_it_is(seed, connectivity, started):
    rng = np.random.default_rng(seed)
    graph = pixel_graph(random_mask(rng, 12, 13, density=0.5), connectivity)
    x, start = rng.normal(size=(2, graph.size))
    anchored = rng.random(graph.component_count) < 0.5
    begin = start if started else None
    fixed, components = fix_constants(graph, x, begin, anchored)
    free, _ = fix_constants(graph, x, begin)
    held = anchored[graph.component_of_node]
    np.testing.assert_array_equal(fixed[held], x[held])
    beside = 0.0 if started or not held.any() else np.median(x[held])
    np.testing.assert_array_equal(fixed[~held], free[~held] + beside)
    assert components.free == np.count_nonzero(~anchored)


@given(SEED, st.floats(0.4, 1.0))
def test_the_other_colour_follows_the_one_that_is_anchored(seed, density):
    rng = np.random.default_rng(seed)
    graph = pixel_graph(random_mask(rng, 10, 11, density=density), "diagonal")
    x = rng.normal(size=graph.component_count)[graph.component_of_node]
    anchored = np.zeros(graph.component_count, dtype=bool)
    anchored[rng.integers(graph.component_count)] = True
    fixed, components = fix_constants(graph, x, None, anchored)
    held = anchored[graph.component_of_node]
    group = components.labels.flat[graph.pixels] == components.labels.flat[graph.pixels[held][0]]
    np.testing.assert_allclose(fixed[group], x[held][0], atol=1e-12)
    np.testing.assert_allclose(fixed[~group], x[held][0], atol=1e-12)
    assert components.free == components.count - 1
