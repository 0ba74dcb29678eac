"""Texture: a picture on a mesh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.errors import InputError

Picture = npt.NDArray[np.uint8]

SAME_SHAPE = 0.02  # relative: by so much the sides of a scaled picture may be rounded


def check_picture(picture: npt.NDArray[Any], shape: tuple[int, int]) -> None:
    """Raise InputError unless a picture can be laid over a map of (height, width) pixels."""
    height, width = shape
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
        raise InputError(
            f"a picture of {picture.dtype} with the shape {picture.shape}",
            expected="RGB (height, width, 3) of 8 bits",
            remedy="Convert it",
        )
    if abs(picture.shape[1] * height / (picture.shape[0] * width) - 1) > SAME_SHAPE:
        raise InputError(
            f"a picture of {picture.shape[1]}x{picture.shape[0]} pixels for a map of "
            f"{width}x{height} (width x height)",
            expected="a picture with the same sides, or scaled as a whole",
            remedy="Crop it like the map",
        )


@dataclass(frozen=True, eq=False)
class Texture:
    """A picture, and where each vertex is in it.

    All of the picture belongs to the surface, also where no vertex is.

    Attributes
    ----------
    picture
        (h, w, 3) RGB.
    places
        (V, 2) from the upper left corner, (0, 0), to the lower right one, (1, 1).
    """

    picture: Picture
    places: npt.NDArray[np.float32]

    @classmethod
    def on(cls, picture: npt.NDArray[Any], pixels: Any, shape: tuple[int, int]) -> Texture:
        """Lay a picture over a map of (height, width) pixels, some of which (V, 2) are vertices."""
        check_picture(picture, shape)
        height, width = shape
        return cls(picture, ((pixels + 0.5) / (width, height)).astype(np.float32))

    def at(self, vertices: npt.NDArray[np.int64]) -> Texture:
        """Texture of some of the vertices, or of others that stand for them."""
        return Texture(self.picture, self.places[vertices])

    def colours(self) -> Picture:
        """RGB (V, 3) at the vertices."""
        sides = self.picture.shape[1::-1]
        u, v = np.minimum((self.places * sides).astype(np.int64), np.array(sides) - 1).T
        found: Picture = self.picture[v, u]
        return found
