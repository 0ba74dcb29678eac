"""Anderson's acceleration of a fixed-point iteration."""

from __future__ import annotations

import math

import numpy as np

from rayrelief.conventions import FloatArray, SingleArray

MEMORY = 8  # iterates that are combined
SAME = 1e-6  # of a change: as much is left of one that is none, as single precision has it


class Anderson:
    """Of the last iterates the combination whose step is smallest, and one step from there.

    For an affine iteration this is GMRES on its fixed point: what is slow about the iteration is a
    few smooth modes, and these are seen in a few steps. Rings are long, so that only changes from
    one iterate to the next are kept, in single precision, and never copied together.

    Attributes
    ----------
    last
        The last step and image; none before the first iterate.
    steps, images
        Changes of steps from one iterate to the next, the oldest first, each without what it has of
        those before it and of length 1; and the changes of images that go with them.
    """

    def __init__(
        self,
        last: list[FloatArray] | None = None,
        steps: list[SingleArray] | None = None,
        images: list[SingleArray] | None = None,
    ) -> None:
        self.last, self.steps, self.images = last or [], steps or [], images or []

    def next(self, x: FloatArray, image: FloatArray) -> FloatArray:
        """Take in that x led to an image; returns where to go on."""
        step = image - x
        if self.last:
            self._take(step - self.last[0], image - self.last[1])
        self.last = [step, image]
        left, combined = step.copy(), image.copy()
        for direction, change in zip(self.steps, self.images, strict=True):
            factor = _dot(direction, left)
            left -= factor * direction
            combined -= factor * change
        return combined

    def _take(self, step: FloatArray, image: FloatArray) -> None:
        """Keep a change of the step, and of the image, unless those before it make up all of it."""
        length = math.sqrt(_dot(step, step))
        for _ in range(2):  # the second time takes away rounding errors of the first
            for direction, change in zip(self.steps, self.images, strict=True):
                factor = _dot(direction, step)
                step -= factor * direction
                image -= factor * change
        left = math.sqrt(_dot(step, step))
        if left <= SAME * length:
            return
        for kept, now in ((self.steps, step), (self.images, image)):
            kept.append((now / left).astype(np.float32))
            del kept[: max(0, len(kept) - (MEMORY - 1))]


def _dot(one: SingleArray | FloatArray, other: FloatArray) -> float:
    """Sum of products in double precision, without a copy of either."""
    return float(np.einsum("i,i->", one, other, dtype=np.float64))
