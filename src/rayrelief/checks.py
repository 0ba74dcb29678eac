"""Checks of settings: an InputError that says what was found, expected, and what to do."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from rayrelief.errors import InputError

MOST = 2**31 - 1


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
        if not self.usable(value):
            shown = repr(value) if isinstance(value, str) else value
            found = f"{self.called or name} is {shown}"
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
    return Rule(lambda value: value in values, expected, remedy, called)


def instance_of(kind: type, expected: str, remedy: str, called: str = "") -> Rule:
    """Rule of a setting that is an object of a class or protocol, and not the class itself."""

    def usable(value: object) -> bool:
        return isinstance(value, kind) and not isinstance(value, type)

    return Rule(usable, expected, remedy, called)


def is_count(number: object) -> bool:
    """Whether this is an integer, of Python or of numpy, that can be counted to."""
    whole = isinstance(number, Integral) and not isinstance(number, bool)
    return whole and 1 <= int(number) <= MOST  # type: ignore[call-overload]


def is_not_negative(number: object) -> bool:
    """Whether this is a finite number >= 0."""
    return isinstance(number, Real) and 0 <= float(number) < math.inf


def is_positive_or_none(number: Any) -> bool:
    """Whether this is a positive number, or None."""
    return number is None or bool(number > 0)
