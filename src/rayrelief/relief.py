"""Relief: the height of a surface towards the viewer, flattened, and how well a texture repeats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from rayrelief.checks import one_of
from rayrelief.conventions import DepthKind, FloatArray
from rayrelief.errors import InputError
from rayrelief.jumps import jump_sizes
from rayrelief.result import Integration

Base = Literal["plane", "quadric"]
# Times the error elsewhere, and pixels: more across a seam is no error of steep places beside it.
APART, STEP = 5.0, 0.5
BASES = one_of((*get_args(Base), None), "Leave it out for the height as it is")


def height_map(result: Integration, flatten: Base | None = None) -> FloatArray:
    """Height (H, W) towards the viewer in the unit of the depth, NaN outside.

    The lowest point is 0; with ``flatten``, the plane or the quadric z(x, y) that fits best is 0.
    """
    BASES.check("flatten", flatten)
    check_has_height(result.depth_kind)
    points, mask = result.points(), result.mask
    x, y, z = points[mask].T
    if flatten is None:
        base = np.full_like(z, z.max())
    else:
        # Of coordinates around 0 and as large as 1: their products do not lose digits.
        x, y = ((c - c.mean()) / (np.ptp(c) or 1.0) for c in (x, y))
        terms = [np.ones_like(x), x, y]
        if flatten == "quadric":
            terms += [x * x, x * y, y * y]
        shapes = np.stack(terms, axis=-1)
        if len(z) < len(terms):
            raise InputError(
                f"a {flatten} through {len(z)} pixels",
                expected=f"at least {len(terms)}",
                remedy="Leave flatten out",
            )
        base = shapes @ np.linalg.lstsq(shapes, z, rcond=None)[0]
    height: FloatArray = np.full(mask.shape, np.nan)
    height[mask] = base - z
    return height


def check_has_height(kind: DepthKind) -> None:
    """Raise InputError for depths that do not point one way."""
    if kind == "distance":
        raise InputError(
            "a height map of distances along the rays, which a camera has that sees further than "
            "80 degrees off its axis",
            expected="depths z: the surface around a camera is high towards no one side",
            remedy="Leave the height out, or crop the map to less than 80 degrees off the axis",
        )


@dataclass(frozen=True)
class Seam:
    """Root mean square of what the normals leave unexplained, in the unit of the depth.

    Attributes
    ----------
    across
        Between neighbours on both sides of the seam; NaN where there are none.
    elsewhere
        Between all others.
    fits
        Whether the two sides belong together: else the map is a part of something, say.
    """

    across: float
    elsewhere: float
    fits: bool

    def __str__(self) -> str:
        across = f"{self.across:.3g} across the seam"
        if np.isnan(self.across):
            across = "no two pixels meet at the seam"
        return f"{across}, {self.elsewhere:.3g} elsewhere"


def seam(result: Integration) -> Seam:
    """How well a texture repeats: the error across its seam beside that elsewhere."""
    problem = result._problem
    graph = problem.graph
    if not any(graph.turn):
        raise InputError(
            "the seam of a map that does not repeat",
            expected="periodic=(True, True), or one of both",
            remedy="Integrate with periodic (--tile)",
        )
    sizes, exists = jump_sizes(problem, problem.unknown(result.depth)), graph.exists
    crosses = np.stack([graph.turns(d).any(axis=1) for d in range(len(sizes))])
    across, elsewhere = (_rms(sizes[exists & which]) for which in (crosses, ~crosses))
    pixel = max(turn / n for turn, n in zip(graph.turn, graph.shape[::-1], strict=True))
    return Seam(across, elsewhere, not across > max(APART * elsewhere, STEP * pixel))


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2))) if values.size else np.nan
