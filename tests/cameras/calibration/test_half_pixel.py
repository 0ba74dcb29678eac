"""Half a pixel there and back leaves every coordinate as it was."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rayrelief.cameras.calibration.half_pixel import from_integer_centres, to_integer_centres


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(0.1)
@example(5e-324)
@example(511.70000000000005)
def test_every_coordinate_survives_bit_for_bit(coordinate: float) -> None:
    text = from_integer_centres(coordinate)
    assert to_integer_centres(text) == coordinate
    assert float(text) == pytest.approx(coordinate + 0.5, rel=1e-15)


@pytest.mark.parametrize(
    ("found", "expected"), [("320", 319.5), ("1e2", 99.5), (320.0, 319.5), ("1e-99999999999", -0.5)]
)
def test_texts_and_numbers_are_moved(found: str | float, expected: float) -> None:
    assert to_integer_centres(found) == expected
