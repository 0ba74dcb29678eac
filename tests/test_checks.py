"""Rules of settings: what follows them passes, and what does not is named."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rayrelief.checks import (
    Rule,
    as_array,
    instance_of,
    is_count,
    is_not_negative,
    is_positive_or_none,
    one_of,
)
from rayrelief.errors import InputError


def message(rule: Rule, value: object) -> str:
    with pytest.raises(InputError) as error:
        rule.check("speed", value)
    return str(error.value)


def test_a_refusal_names_the_setting_its_value_and_what_would_do():
    rule = Rule(is_count, "an integer >= 1", "Leave it out")
    rule.check("speed", np.int64(3))
    assert message(rule, np.float64(0.5)) == "speed is 0.5; expected an integer >= 1. Leave it out."
    assert message(rule, "two") == "speed is 'two'; expected an integer >= 1. Leave it out."
    called = Rule(is_count, "an integer >= 1", "Leave it out", called="the speed")
    assert message(called, 0).startswith("the speed is 0; ")


def test_choices_are_listed_as_one_types_them():
    rule = one_of((4, "diagonal", 8), "Use 4")
    for choice in (4, "diagonal", 8):
        rule.check("speed", choice)
    assert message(rule, "8") == "speed is '8'; expected 4, 'diagonal' or 8. Use 4."


def test_a_class_is_no_object_of_it():
    rule = instance_of(int, "an int", "Use 1")
    rule.check("speed", 1)
    assert message(rule, int) == "speed is <class 'int'>; expected an int. Use 1."


@pytest.mark.parametrize(
    ("usable", "good", "bad"),
    [
        (is_count, (1, np.int32(7), 2**31 - 1), (0, 1.0, True, 2**31, None, "1")),
        (is_not_negative, (0, 0.0, np.float32(3.5)), (-1e-9, math.inf, math.nan, None, "1")),
        (is_positive_or_none, (None, 1e-300, 7), (0.0, -1, math.nan, math.inf, True, "1")),
    ],
)
def test_what_counts_as_usable(usable, good, bad):
    assert all(usable(value) for value in good)
    assert not any(usable(value) for value in bad)


@pytest.mark.parametrize("kind", [RuntimeError, TypeError, AttributeError, BufferError])
def test_an_array_that_is_not_to_be_converted_is_refused_in_its_own_words(kind):
    class Tensor:
        def __array__(self, *_: object, **__: object) -> None:
            raise kind("requires grad: use detach()")

    with pytest.raises(InputError, match=r"normals cannot be made an array \(.*use detach\(\)\)"):
        as_array(Tensor(), "normals")  # type: ignore[arg-type]
