import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rayrelief.errors import InputError
from rayrelief.large.layout import Layout, common, shape_of, size_of, within


@given(
    height=st.integers(1, 400),
    width=st.integers(1, 400),
    side=st.integers(32, 130),
    overlap=st.integers(1, 8),
)
@example(height=260, width=260, side=160, overlap=40)
@example(height=33, width=33, side=32, overlap=8)
@example(height=33, width=33, side=32, overlap=4)
def test_cores_tile_the_map_and_shares_add_up_to_one(height, width, side, overlap):
    try:
        layout = Layout.of(height, width, side, overlap)
    except InputError:
        assert overlap > side // 8, "whose cores are always wide enough"
        return
    for borders in (layout.rows, layout.columns):
        assert len(borders) == 2 or np.diff(borders).min() >= 2 * overlap
    whole = slice(0, height), slice(0, width)
    owners, total = np.zeros((height, width), int), np.zeros((height, width))
    blocks = [layout.block(number) for number in range(len(layout))]
    for block in blocks:
        owners[block.core] += 1
        total[block.whole] += layout.share(block, block.whole)
        assert max(shape_of(block.whole)) <= side + 1
    assert (owners == 1).all()
    np.testing.assert_allclose(total, 1.0)
    for block in blocks:
        met = {b.number for b in blocks if size_of(common(b.whole, block.core))}
        assert met <= {b.number for b in layout.around(block.core)}
        rings = np.zeros((height, width), int)
        for window in layout.ring(block):
            rings[window] += 1
        outer = layout.grown(block.whole, 1)
        assert rings.max(initial=0) <= 1
        assert rings.sum() == size_of(outer) - size_of(block.whole)
        assert within(block.whole, whole) == block.whole


@pytest.mark.parametrize(
    ("length", "side", "overlap"), [(100, 100, 40), (260, 160, 40), (33, 32, 8)]
)
def test_blocks_that_are_all_overlap(length, side, overlap):
    with pytest.raises(InputError, match=f"overlap of {overlap}, .* no core narrower than twice"):
        Layout.of(length, length, side, overlap)
