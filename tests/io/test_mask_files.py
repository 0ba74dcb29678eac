"""Masks from files: True is inside, whatever the type."""

from __future__ import annotations

import numpy as np
import pytest

from rayrelief.errors import FileError
from rayrelief.io.images import write_png
from rayrelief.io.masks import read_mask

MASK = np.array([[True, False, True], [False, False, True]])


@pytest.mark.parametrize(
    "array",
    [
        MASK,
        MASK.astype(np.uint8),
        MASK.astype(np.int64),
        MASK.astype(np.float32),
        np.where(MASK, 0.51, 0.5),
        np.where(MASK, 1.0, np.nan),
        np.where(MASK, 128, 127).astype(np.uint8),
        np.where(MASK, 32768, 32767).astype(np.uint16),
        (MASK * 255).astype(np.uint8)[..., None],
        (MASK * 255).astype(np.uint8)[..., None] * np.array([0, 1, 0], np.uint8),
    ],
)
def test_every_type_has_its_half(tmp_path, array):
    np.save(tmp_path / "m.npy", array)
    mask = read_mask(tmp_path / "m.npy")
    assert mask.dtype == np.bool_
    np.testing.assert_array_equal(mask, MASK)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_png(tmp_path, dtype):
    values = (MASK * np.iinfo(dtype).max).astype(dtype)
    empty, full = np.zeros_like(values), np.full_like(values, np.iinfo(dtype).max)
    for image in (
        values,
        np.stack((empty, empty, values), axis=-1),
        np.stack((full, empty, full, values), axis=-1),  # a varying alpha decides
        np.stack((empty, values, empty, full), axis=-1),  # a constant one does not
    ):
        write_png(tmp_path / "m.png", image)
        np.testing.assert_array_equal(read_mask(tmp_path / "m.png"), MASK)


@pytest.mark.parametrize(
    "array",
    [
        MASK * 255,  # int64: half of its range is no threshold
        MASK * 255.0,
        MASK * -1.0,
        MASK + 0j,
        np.full((2, 3), np.nan),
        np.zeros((2, 3, 2)),
        np.zeros(3),
        np.zeros((0, 3)),
        np.zeros((0, 5, 4)),  # whose fourth channel has no smallest value
    ],
)
def test_what_is_no_mask_is_refused(tmp_path, array):
    np.save(tmp_path / "m.npy", array)
    with pytest.raises(FileError, match=r"m\.npy") as caught:
        read_mask(tmp_path / "m.npy")
    assert caught.value.remedy.startswith("Save ")
