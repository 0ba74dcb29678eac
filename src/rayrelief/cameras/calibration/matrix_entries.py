"""Matrices and image sizes in a calibration, in the ways in which several formats write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rayrelief.cameras.calibration.document import Entries

EXPECTED_MATRIX = "a camera matrix fx 0 cx, 0 fy cy, 0 0 1"


def read_matrix(entries: Entries, key: str) -> list[list[float]]:
    """Rows of finite numbers: a mapping of rows, cols and data, a list of rows, or one row."""
    value = entries.value(key)
    if isinstance(value, dict):
        parts = entries.entries(key)
        data = parts.numbers("data")
        if "sizes" in parts:  # OpenCV 5, for an array with one axis
            rows, cols = (1.0, *parts.numbers("sizes", 1, 2))[-2:]
        else:
            rows, cols = parts.number("rows"), parts.number("cols")
        if len(data) != rows * cols:
            raise entries.error(
                f"{key}.data", f"holds {len(data)} values", f"{rows:g} rows of {cols:g} numbers"
            )
        return _cut(data, int(cols))
    if isinstance(value, list) and any(isinstance(row, list) for row in value):
        parts = Entries(entries.path, dict(_numbered(key, value)), entries.where)
        matrix = [parts.numbers(name) for name in parts.content]
        if len({len(row) for row in matrix}) > 1:
            lengths = ", ".join(str(len(row)) for row in matrix)
            raise entries.error(key, f"has rows of {lengths} values", "rows of the same length")
        return matrix
    return [entries.numbers(key)]


def read_vector(entries: Entries, key: str) -> list[float]:
    """Finite numbers of a matrix that is one row or one column, or has no entries at all."""
    matrix = read_matrix(entries, key)
    if len(matrix) > 1 and len(matrix[0]) > 1:
        shape = f"{len(matrix)} rows of {len(matrix[0])} values"
        raise entries.error(key, f"has {shape}", "one row or one column")
    return [number for row in matrix for number in row]


def read_camera_matrix(entries: Entries, key: str) -> dict[str, float]:
    """Parameters fx, fy, cx, cy and skew, in pixels, of a 3x3 camera matrix."""
    matrix = read_matrix(entries, key)
    if [len(row) for row in matrix] == [9]:
        matrix = _cut(matrix[0], 3)
    if [len(row) for row in matrix] != [3, 3, 3]:
        shape = f"{len(matrix)} rows of {len(matrix[0]) if matrix else 0} values"
        raise entries.error(key, f"has {shape}", EXPECTED_MATRIX)
    (fx, skew, cx), (below, fy, cy), last = matrix
    if below != 0 or last != [0, 0, 1]:
        text = "; ".join(" ".join(f"{number:g}" for number in row) for row in matrix)
        transposed = "It seems to be transposed: swap its rows and columns"
        remedy = transposed if seems_transposed(matrix) else ""
        raise entries.error(key, f"is {text}", EXPECTED_MATRIX, remedy)
    return {"fx": fx, "fy": fy, "cx": cx, "cy": cy, "skew": skew}


def seems_transposed(matrix: Sequence[Sequence[float]]) -> bool:
    """Whether the last column of a 3x3 matrix is what the last row of a camera matrix is."""
    return matrix[0][1] == 0 and [row[2] for row in matrix] == [0, 0, 1]


def read_size(entries: Entries, key: str) -> tuple[int, int]:
    """(width, height) in whole pixels, of a list or a matrix with these two numbers."""
    numbers = read_vector(entries, key)
    if len(numbers) != 2 or any(number < 1 or number != int(number) for number in numbers):
        found = ", ".join(f"{number:g}" for number in numbers)
        raise entries.error(key, f"is [{found}]", "[width, height] in pixels, as integers")
    return int(numbers[0]), int(numbers[1])


def _cut(numbers: list[float], length: int) -> list[list[float]]:
    """Rows of a matrix that is written as one list."""
    return [numbers[i : i + length] for i in range(0, len(numbers), length)] if length else []


def _numbered(key: str, rows: list[Any]) -> list[tuple[str, Any]]:
    return [(f"{key}[{index}]", row) for index, row in enumerate(rows)]
