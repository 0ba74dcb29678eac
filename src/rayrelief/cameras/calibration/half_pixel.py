"""Formats whose pixel centres lie at .5: the principal point moved by half a pixel, exactly.

A sum of binary floats would lose the last bit now and then, and a camera would not read back as it
was written. The decimal numbers in the file do not.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation, localcontext

HALF = Decimal("0.5")
DIGITS = 700  # enough for the sum of 0.5 and any float

NOTE = "pixel centres moved from .5 to integers: cx - 0.5, cy - 0.5"


def to_integer_centres(coordinate: str | float) -> float:
    """Pixel coordinate, as a number or as its text in the file, once pixel centres are integers."""
    with localcontext(prec=DIGITS):
        try:
            return float(Decimal(coordinate) - HALF)
        except InvalidOperation:  # 1e-1000000000000000000000 is a float, 0, but not a Decimal
            return float(coordinate) - 0.5


def from_integer_centres(coordinate: float) -> str:
    """Text of a pixel coordinate once pixel centres lie at .5."""
    with localcontext(prec=DIGITS):
        return str(Decimal(repr(float(coordinate))) + HALF)
