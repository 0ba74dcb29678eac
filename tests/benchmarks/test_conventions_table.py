"""The tables of conventions count what is found, refused and lost."""

from __future__ import annotations

from typing import Any

from benchmarks import conventions
from benchmarks.robustness import METHODS
from rayrelief.synthetic import GALLERY

SCENE = GALLERY["tori"](96, 128)


def test_every_variant_is_found_or_not_told():
    table: Any = conventions.found([SCENE], ["8 bit truncated"])
    assert [row[2:] for row in table.rows] == [(16.0, 0.0, 0.0)] * 2
    assert table.checks[0].holds


def test_every_wrong_convention_is_refused():
    table: Any = conventions.told([SCENE])
    assert len(table.rows) == 16
    assert table.checks[0].holds


def test_bits_are_compared():
    table: Any = conventions.encoded([SCENE])
    assert [row[:2] for row in table.rows] == [(SCENE.name, label) for label in METHODS]
    assert all(row[4] == row[3] / row[2] for row in table.rows)
    assert [check.found for check in table.checks] == [row[4] for row in table.rows]
