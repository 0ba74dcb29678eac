"""Height maps to files."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rayrelief.errors import FileError, InputError
from rayrelief.io.arrays import read_array
from rayrelief.io.height import write_height
from rayrelief.io.png_chunks import read_text

HEIGHT = np.array([[0.5, np.nan, 3.0], [-1.0, 2.0, 0.0]])


@pytest.mark.parametrize("outside", [np.nan, np.inf, -np.inf])
def test_white_is_high_and_the_text_gives_the_height_back(tmp_path, outside):
    write_height(tmp_path / "h.png", np.where(np.isnan(HEIGHT), outside, HEIGHT))
    values = read_array(tmp_path / "h.png", keys=())
    assert (values.dtype, values[0, 2], values[1, 0], values[0, 1]) == (np.uint16, 65535, 0, 0)
    text = read_text((tmp_path / "h.png").read_bytes())
    back = float(text["HeightOffset"]) + float(text["HeightScale"]) * values
    inside = np.isfinite(HEIGHT)
    assert_allclose(back[inside], HEIGHT[inside], atol=4 / 65535)


def test_exr_keeps_the_unit(tmp_path):
    write_height(tmp_path / "h.exr", HEIGHT)
    assert_allclose(read_array(tmp_path / "h.exr", keys=("Y",)), HEIGHT)


def test_a_constant_height_is_black(tmp_path):
    write_height(tmp_path / "h.png", np.ones((2, 2)))
    assert not read_array(tmp_path / "h.png", keys=()).any()


def test_what_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(FileError, match=r"\.png, \.exr for a height map"):
        write_height(tmp_path / "h.jpg", HEIGHT)
    with pytest.raises(InputError, match="finite"):
        write_height(tmp_path / "h.png", np.full((2, 2), np.nan))
