"""Checks of settings: an InputError that says what was found, expected, and what to do."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.errors import InputError, shown

MOST = 2**31 - 1
LARGEST = 3e38  # that 32-bit floats hold, which some kernels and files do with
SHORTEST, LONGEST = 1e-30, 1e30  # lengths that 32-bit floats hold, and their products too


def require(usable: object, found: str, expected: str, remedy: str) -> None:
    """Raise InputError unless what was found is usable."""
    if not usable:
        raise InputError(found, expected=expected, remedy=remedy)


@dataclass(frozen=True)
class Rule:
    """What the value of a setting has to be, in code and, as for ``RayreliefError``, in words.

    ``called`` is what the setting is called in the message, if not by its own name.
    """

    usable: Callable[[Any], object]
    expected: str
    remedy: str
    called: str = ""

    def check(self, name: str, value: object) -> None:
        """Raise InputError unless the value of a setting is usable."""
        try:
            usable = bool(self.usable(value))
        except (TypeError, ValueError, OverflowError):  # it cannot be compared, or is an array
            usable = False
        if not usable:
            found = f"{self.called or name} is {shown(value)}"
            raise InputError(found, expected=self.expected, remedy=self.remedy)


def check_settings(holder: object, **rules: Rule) -> None:
    """Raise InputError unless the attributes of an object follow their rules."""
    for name, rule in rules.items():
        rule.check(name, getattr(holder, name))


def one_of(choices: Collection[object], remedy: str, called: str = "") -> Rule:
    """Rule of a setting with a few values, such as those of a Literal."""
    values = tuple(choices)
    *others, last = map(repr, values)
    expected = f"{', '.join(others)} or {last}"
    return Rule(lambda value: np.ndim(value) == 0 and value in values, expected, remedy, called)


def instance_of(kind: type, expected: str, remedy: str, called: str = "") -> Rule:
    """Rule of a setting that is an object of a class or protocol, and not the class itself."""

    def usable(value: object) -> bool:
        return isinstance(value, kind) and not isinstance(value, type)

    return Rule(usable, expected, remedy, called)


def is_count(number: object, least: int = 1) -> bool:
    """Whether this is an integer, of Python or of numpy, that can be counted to from the least."""
    whole = isinstance(number, Integral) and not isinstance(number, bool)
    return whole and least <= int(number) <= MOST  # type: ignore[call-overload]


def is_number(number: object) -> bool:
    """Whether this is a finite number, of Python or of numpy."""
    if not isinstance(number, Real) or isinstance(number, bool | np.bool_):
        return False
    if isinstance(number, Integral):
        return abs(int(number)) < 2**63  # longer ones are none for numpy
    return math.isfinite(float(number))


def is_not_negative(number: Any) -> bool:
    """Whether this is a finite number >= 0."""
    return is_number(number) and bool(0 <= number <= LARGEST)


def is_length(number: Any) -> bool:
    """Whether this is a positive number that files and pictures of a surface can hold."""
    return is_number(number) and bool(SHORTEST <= number <= LONGEST)


def is_positive(number: Any) -> bool:
    """Whether this is a finite number > 0."""
    return is_number(number) and bool(0 < number <= LARGEST)


def is_positive_or_none(number: Any) -> bool:
    """Whether this is a finite number > 0, or None."""
    return number is None or is_positive(number)


LENGTHS = Rule(
    is_length,
    f"a positive length, from {SHORTEST:g} to {LONGEST:g}",
    "Give it in a unit that suits it",
)
SWITCH = Rule(lambda value: isinstance(value, bool), "True or False", "Leave it out")
# What the arrays of other libraries raise that are not to be converted as they are.
FOREIGN = (ValueError, TypeError, RuntimeError, AttributeError, BufferError)
COUNTS = Rule(is_count, "an integer >= 1", "Give a whole number")


def as_array(values: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """What a user gave as an array of numbers; what a masked array hides is NaN, or False."""
    remedy = "Pass a NumPy array with a value or a vector for every pixel"
    try:
        array: npt.NDArray[Any] = np.asanyarray(values)
    except FOREIGN as error:
        found = f"{name} cannot be made an array ({error})"
        raise InputError(found, expected="an array of numbers", remedy=remedy) from error
    kind = array.dtype.kind
    require(
        kind in "biuf", f"{name} of the type {array.dtype}", "real numbers, or booleans", remedy
    )
    if isinstance(array, np.ma.MaskedArray):
        array = array.filled(np.nan if array.dtype.kind == "f" else 0)
    return np.asarray(array)


def as_mask(values: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """What a user gave as a mask (H, W); what a number in it would mean is not guessed."""
    array = as_array(values, "the mask")
    require(
        array.ndim == 2 and array.dtype == np.bool_,
        f"a mask of the type {array.dtype} and the shape {array.shape}",
        "booleans of the shape (H, W), True inside",
        "Compare it with its threshold first, for example mask > 127",
    )
    return array
