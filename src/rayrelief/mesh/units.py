"""Units of length, and lengths in words."""

from __future__ import annotations

import re
from typing import Literal

from rayrelief.checks import is_length, one_of
from rayrelief.errors import InputError

Unit = Literal["mm", "cm", "m", "in"]
METRES: dict[Unit, float] = {"mm": 1e-3, "cm": 1e-2, "m": 1.0, "in": 0.0254}

UNITS = one_of((*METRES, None), "Leave it out where nobody knows how large it is")

SMALLEST, LARGEST = 1e-9, 1e9  # metres: of an atom, or of a star, nobody has a surface
_LENGTH = re.compile(r"\s*([0-9.eE+-]+)\s*([a-z]*)\s*")


def in_unit(text: str, unit: Unit | None) -> float:
    """Length such as "3mm", "0.1 in" or "3", as a number of units; None stands for one unknown."""
    expected = f"a length such as 3mm or 0.1in, in {', '.join(METRES)}"
    match = _LENGTH.fullmatch(text)
    try:
        number, word = float(match[1]) if match else -1.0, match[2] if match else ""
    except ValueError:
        number, word = -1.0, ""
    known: dict[str, float] = {str(name): metres for name, metres in METRES.items()}
    if not is_length(number) or (word and word not in known):
        raise InputError(
            f"the length {text!r}", expected=expected, remedy="Write a number above 0 and its unit"
        )
    metres = known.get(word or str(unit))
    if metres is not None and not SMALLEST <= number * metres <= LARGEST:
        raise InputError(
            f"the length {text!r}",
            expected=f"between {SMALLEST:g} and {LARGEST:g} m",
            remedy="Check the number and its unit",
        )
    if not word:
        return number
    if unit is None:
        raise InputError(
            f"the length {text!r}, of a surface whose size nobody knows",
            expected="a number without a unit, in the unit of the depth",
            remedy="Say how large the surface is (--width), or, where its depth is known to be "
            "measured in a unit, in which (--unit)",
        )
    return number * known[word] / METRES[unit]
