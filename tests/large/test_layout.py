import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.errors import InputError
from rayrelief.large.layout import Layout, common, shape_of, size_of, within


@given(
    height=st.integers(1, 400),
    width=st.integers(1, 400),
    side=st.integers(32, 130),
    overlap=st.integers(1, 8),
)
def test_cores_tile_the_map_and_shares_add_up_to_one(height, width, side, overlap):
    layout = Layout.of(height, width, side, overlap)
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


def test_blocks_that_are_all_overlap():
    with pytest.raises(InputError, match="overlap of 40"):
        Layout.of(100, 100, 100, 40)
