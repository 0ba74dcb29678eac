"""Every edge has its opposite, every node its component, and images survive the round trip."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from profiles import fewer_examples
from rayrelief.errors import InputError
from rayrelief.graph import STEPS, STRIP, Connectivity, pixel_graph
from reference.random_maps import random_mask

SEED = st.integers(0, 2**32 - 1)
CONNECTIVITIES: tuple[Connectivity, ...] = (4, "diagonal", 8)


def spiral(size: int) -> np.ndarray:
    """One path, one pixel wide, that winds inwards."""
    mask = np.zeros((size, size), dtype=bool)
    v, u, dv, du = 0, 0, 0, 1
    mask[0, 0] = True
    turns = 0
    while turns < 2:
        ahead, after = (v + dv, u + du), (v + 2 * dv, u + 2 * du)
        free = all(0 <= i < size for i in ahead) and not mask[ahead]
        if free and not (all(0 <= i < size for i in after) and mask[after]):
            (v, u), turns = ahead, 0
            mask[ahead] = True
        else:
            dv, du, turns = du, -dv, turns + 1
    return mask


def comb(size: int) -> np.ndarray:
    """Teeth that only their back joins."""
    mask = np.zeros((size, size), dtype=bool)
    mask[:, ::2] = True
    mask[0] = True
    return mask


SHAPES = {
    "pixel": np.ones((1, 1), dtype=bool),
    "pixel in a corner": np.pad(np.ones((1, 1), dtype=bool), ((4, 0), (0, 6))),
    "row": np.ones((1, 9), dtype=bool),
    "column": np.ones((9, 1), dtype=bool),
    "pair": np.ones((1, 2), dtype=bool),
    "chessboard": np.indices((7, 8)).sum(axis=0) % 2 == 0,
    "comb": comb(9),
    "spiral": spiral(13),
    "full": np.ones((6, 5), dtype=bool),
    "empty": np.zeros((3, 3), dtype=bool),
}
MASKS = st.one_of(
    st.sampled_from(list(SHAPES.values())),
    st.builds(
        lambda seed, height, width, density: random_mask(
            np.random.default_rng(seed), height, width, density=density
        ),
        SEED,
        st.integers(1, 12),
        st.integers(1, 12),
        st.floats(0, 1),
    ),
)


def flood_fill(mask, steps):
    """Labels by the obvious search; -1 outside."""
    labels = np.full(mask.shape, -1)
    count = 0
    for first in zip(*np.nonzero(mask), strict=True):
        if labels[first] >= 0:
            continue
        stack = [first]
        while stack:
            v, u = stack.pop()
            if (
                0 <= v < mask.shape[0]
                and 0 <= u < mask.shape[1]
                and mask[v, u]
                and labels[v, u] < 0
            ):
                labels[v, u] = count
                stack += [(v + dv, u + du) for du, dv in steps]
        count += 1
    return labels, count


def assert_same_partition(found, expected):
    """Two labellings (H, W) that differ by the names of their labels alone."""
    np.testing.assert_array_equal(found < 0, expected < 0)
    pairs = set(zip(found.ravel().tolist(), expected.ravel().tolist(), strict=True))
    assert len(pairs) == len(np.unique(found)) == len(np.unique(expected))


def assert_well_formed(graph):
    """Opposite edges, sorted components and edges within components."""
    nodes = np.arange(graph.size)
    for d in range(len(graph.steps)):
        np.testing.assert_array_equal(np.add(graph.steps[d], graph.steps[d ^ 1]), (0, 0))
    for d, a, b in graph.edges():
        np.testing.assert_array_equal(graph.neighbours[d ^ 1, b], a)
        np.testing.assert_array_equal(graph.component_of_node[a], graph.component_of_node[b])
        v, u = np.divmod(graph.pixels, graph.shape[1])
        np.testing.assert_array_equal(u[b] - u[a], graph.steps[d][0])
        np.testing.assert_array_equal(v[b] - v[a], graph.steps[d][1])
    np.testing.assert_array_equal(
        graph.neighbours[~graph.exists], np.broadcast_to(nodes, graph.exists.shape)[~graph.exists]
    )
    sizes = np.diff(graph.starts)
    assert (sizes > 0).all()
    assert (np.diff(sizes) <= 0).all()
    assert graph.starts[0] == 0
    assert graph.starts[-1] == graph.size
    for lo, hi in zip(graph.starts[:-1], graph.starts[1:], strict=True):
        assert (np.diff(graph.pixels[lo:hi]) > 0).all()


@pytest.mark.parametrize("connectivity", CONNECTIVITIES)
@given(mask=MASKS)
def test_edges_come_in_opposite_pairs(connectivity, mask):
    graph = pixel_graph(mask, connectivity)
    assert graph.steps == STEPS[connectivity]
    assert graph.size == mask.sum()
    assert_well_formed(graph)


@pytest.mark.parametrize("connectivity", CONNECTIVITIES)
@given(mask=MASKS)
def test_every_pair_of_neighbouring_pixels_is_an_edge(connectivity, mask):
    graph = pixel_graph(mask, connectivity)
    padded = np.pad(mask, 1)
    for d, (du, dv) in enumerate(graph.steps):
        inside = padded[1 + dv :, 1 + du :][: mask.shape[0], : mask.shape[1]]
        np.testing.assert_array_equal(
            graph.scatter(graph.exists[d], fill=False), mask & inside, err_msg=f"direction {d}"
        )


@pytest.mark.parametrize("connectivity", CONNECTIVITIES)
@given(mask=MASKS)
def test_components_are_those_of_a_flood_fill(connectivity, mask):
    graph = pixel_graph(mask, connectivity)
    expected, count = flood_fill(mask, graph.steps)
    assert graph.component_count == count
    assert_same_partition(graph.scatter(graph.component_of_node, fill=-1), expected)


@pytest.mark.parametrize("connectivity", [4, 8])
@given(mask=MASKS)
def test_components_are_those_of_scipy(connectivity, mask):
    graph = pixel_graph(mask, connectivity)
    structure = ndimage.generate_binary_structure(2, 1 if connectivity == 4 else 2)
    expected, count = ndimage.label(mask, structure)
    assert graph.component_count == count
    assert_same_partition(graph.scatter(graph.component_of_node, fill=-1), expected - 1)


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("pixel", (1, 1, 1)),
        ("pixel in a corner", (1, 1, 1)),
        ("row", (1, 9, 1)),
        ("column", (1, 9, 1)),
        ("pair", (1, 2, 1)),
        ("chessboard", (28, 1, 1)),
        ("full", (1, 2, 1)),
        ("empty", (0, 0, 0)),
    ],
)
def test_component_counts_of_simple_masks(name, counts):
    assert tuple(pixel_graph(SHAPES[name], c).component_count for c in CONNECTIVITIES) == counts


@pytest.mark.parametrize("name", ["comb", "spiral"])
def test_a_winding_path_is_one_component(name):
    graph = pixel_graph(SHAPES[name])
    assert graph.component_count == 1
    assert graph.exists.sum() == 2 * (graph.size - 1), "a path and a comb are trees"


@given(MASKS, st.sampled_from(CONNECTIVITIES), SEED)
def test_images_survive_the_round_trip(mask, connectivity, seed):
    graph = pixel_graph(mask, connectivity)
    image = np.random.default_rng(seed).normal(size=(*mask.shape, 3))
    np.testing.assert_array_equal(
        graph.scatter(graph.gather(image)), np.where(mask[..., None], image, np.nan)
    )
    values = graph.gather(image[..., 0])
    assert values.shape == (graph.size,)
    np.testing.assert_array_equal(graph.gather(graph.scatter(values, fill=0.0)), values)
    # Strided views of an image are gathered like copies.
    np.testing.assert_array_equal(graph.gather(image[::-1, ::-1][::-1, ::-1]), graph.gather(image))


def test_scatter_keeps_the_dtype_and_takes_a_fill():
    graph = pixel_graph(SHAPES["chessboard"])
    labels = graph.scatter(np.arange(graph.size, dtype=np.int32), fill=-1)
    assert labels.dtype == np.int32
    assert (labels[~SHAPES["chessboard"]] == -1).all()


@given(MASKS, st.sampled_from(CONNECTIVITIES), SEED, st.floats(0, 1))
def test_without_leaves_out_both_directions_and_nothing_else(mask, connectivity, seed, fraction):
    graph = pixel_graph(mask, connectivity)
    rng = np.random.default_rng(seed)
    edges = graph.exists & (rng.random(graph.exists.shape) < fraction)
    before = graph.neighbours.copy()
    smaller, order = graph.without(edges)
    np.testing.assert_array_equal(graph.neighbours, before)
    assert_well_formed(smaller)
    np.testing.assert_array_equal(smaller.pixels, graph.pixels[order])

    gone = edges.copy()
    for d, a, b in graph.edges():
        gone[d ^ 1, b] |= edges[d, a]
    np.testing.assert_array_equal(smaller.exists, (graph.exists & ~gone)[:, order])


def test_without_splits_components_and_sorts_them_by_size():
    graph = pixel_graph(np.ones((1, 9), dtype=bool))
    right_of_third = np.zeros_like(graph.exists)
    right_of_third[0, 2] = True
    smaller, order = graph.without(right_of_third)
    assert np.diff(smaller.starts).tolist() == [6, 3]
    assert order.tolist() == [3, 4, 5, 6, 7, 8, 0, 1, 2]


def test_unknown_connectivity_is_refused():
    with pytest.raises(InputError, match=r"6.*4, 'diagonal' or 8"):
        pixel_graph(SHAPES["full"], 6)  # type: ignore[arg-type]


@pytest.mark.parametrize("connectivity", CONNECTIVITIES)
@fewer_examples(6)
@given(seed=SEED, density=st.floats(0.3, 0.8))
def test_components_of_a_labyrinth(connectivity, seed, density):
    # Around the percolation threshold the parts are as winding as they get.
    mask = random_mask(np.random.default_rng(seed), 150, 170, density=density)
    graph = pixel_graph(mask, connectivity)
    cross, square = np.eye(3, dtype=int) | np.eye(3, dtype=int)[::-1], np.ones((3, 3), dtype=int)
    structure = {4: ndimage.generate_binary_structure(2, 1), "diagonal": cross, 8: square}
    expected, count = ndimage.label(mask, structure[connectivity])
    assert graph.component_count == count
    assert_same_partition(graph.scatter(graph.component_of_node, fill=-1), expected - 1)
    assert_well_formed(graph)
    sizes, first = np.diff(graph.starts), graph.pixels[graph.starts[:-1]]
    assert (np.diff(first)[np.diff(sizes) == 0] > 0).all(), "equally large ones row by row"


def test_the_whole_image_is_gathered_without_a_copy():
    graph = pixel_graph(SHAPES["full"])
    image = np.zeros((6, 5, 3))
    nodes = graph.gather(image)
    assert np.shares_memory(nodes, image)
    with pytest.raises(ValueError, match="read-only"):
        nodes[0] = 1.0
    assert image.flags.writeable
    # The colours of a chessboard are two components: the nodes are not in the order of the rows.
    assert not np.shares_memory(pixel_graph(SHAPES["full"], "diagonal").gather(image), image)


def test_the_mask_may_have_any_layout():
    mask = random_mask(np.random.default_rng(5), 12, 9)
    expected = pixel_graph(mask).neighbours
    read_only = mask.copy()
    read_only.flags.writeable = False
    for same in (np.asfortranarray(mask), np.repeat(mask, 2, axis=1)[:, ::2], read_only):
        np.testing.assert_array_equal(pixel_graph(same).neighbours, expected)


def test_more_pixels_than_32_bits_can_number_are_refused():
    huge = np.broadcast_to(np.False_, (50_000, 50_000))
    with pytest.raises(InputError, match=r"2,500,000,000.*2,147,483,647"):
        pixel_graph(huge)


@pytest.mark.parametrize("density", [1.0, 0.9])
@pytest.mark.parametrize("width", [STRIP, STRIP + 1, 2 * STRIP + 70])
def test_images_wider_than_a_strip(width, density):
    rng = np.random.default_rng(width)
    mask = rng.random((5, width)) < density
    graph = pixel_graph(mask, 8)
    np.testing.assert_array_equal(np.sort(graph.pixels), np.flatnonzero(mask))
    row, column = np.divmod(graph.pixels, width)
    for (du, dv), (d, a, b) in zip(graph.steps, graph.edges(), strict=True):
        np.testing.assert_array_equal(column[b], column[a] + du)
        np.testing.assert_array_equal(row[b], row[a] + dv)
        inside = np.pad(mask, 1)[1 + dv : 6 + dv, 1 + du : 1 + width + du] & mask
        assert len(a) == inside.sum(), d
    image = rng.random((5, width, 3))
    np.testing.assert_array_equal(graph.gather(image), image.reshape(-1, 3)[graph.pixels])
    np.testing.assert_array_equal(graph.scatter(graph.gather(image))[mask], image[mask])
    largest = slice(0, graph.starts[1])
    order = np.lexsort((column[largest], row[largest], column[largest] // STRIP))
    np.testing.assert_array_equal(order, np.arange(graph.starts[1]))


@pytest.mark.parametrize("connectivity", CONNECTIVITIES)
@given(mask=MASKS)
def test_a_graph_that_wraps_joins_the_last_column_with_the_first(connectivity, mask):
    graph = pixel_graph(mask, connectivity, wraps=True)
    height, width = mask.shape
    if width < 3:  # a pixel would meet itself, or one neighbour twice
        assert not graph.wraps
        return
    v, u = np.divmod(graph.pixels, width)
    for d, (du, dv) in enumerate(graph.steps):
        beside, below = (u + du) % width, v + dv
        within = (below >= 0) & (below < height)
        joined = within & mask[np.clip(below, 0, height - 1), beside]
        np.testing.assert_array_equal(graph.exists[d], joined)
        there = graph.pixels[graph.neighbours[d]]
        np.testing.assert_array_equal(there[joined], (below * width + beside)[joined])
    for d, a, b in graph.edges():
        np.testing.assert_array_equal(graph.neighbours[d ^ 1, b], a)
    without, _ = graph.without(np.zeros(graph.exists.shape, dtype=bool))
    assert without.wraps


@given(seed=st.integers(0, 2**32 - 1), connectivity=st.sampled_from([4, "diagonal", 8]))
def test_parts_are_what_scipy_finds(seed, connectivity):
    rng = np.random.default_rng(seed)
    graph = pixel_graph(rng.random((9, 11)) < 0.8, connectivity)
    joined = rng.random((len(graph.steps) // 2, graph.size)) < 0.5
    even = [(joined[d // 2, a], a, b) for d, a, b in graph.edges() if d % 2 == 0]
    pairs = [(a[chosen], b[chosen]) for chosen, a, b in even]
    rows, columns = (np.concatenate(ends) for ends in zip(*pairs, strict=True))
    matrix = coo_array((np.ones(len(rows)), (rows, columns)), shape=(graph.size, graph.size))
    count, expected = connected_components(matrix, directed=False)
    labels = graph.parts(joined)
    with pytest.raises(InputError, match=r"give \[::2\]"):
        graph.parts(np.repeat(joined, 2, axis=0))
    assert len(np.unique(labels)) == count
    assert len(np.unique(np.stack((labels, expected)), axis=1).T) == count, "the same partition"
