"""A mesh in words: for the summary of a run, and for the page that is made of its report."""

from __future__ import annotations

from collections.abc import Sequence

from rayrelief.errors import in_number


def in_words(
    faces: int, vertices: int, sides: Sequence[float], unit: str | None, solid: bool
) -> str:
    """How many faces or points, and how large it is where that is known."""
    count = in_number(faces, "face") if faces else in_number(vertices, "point")
    if unit is None:
        return count
    size = " x ".join(f"{side:.4g}" for side in sides)
    return f"{count}; {'a solid of ' if solid else ''}{size} {unit}"
