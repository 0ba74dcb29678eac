"""Anderson's acceleration of a fixed-point iteration."""

from __future__ import annotations

import numpy as np

from rayrelief.conventions import FloatArray

MEMORY = 8  # iterates that are combined


class Anderson:
    """Of the last iterates the combination whose step is smallest, and one step from there.

    For an affine iteration this is GMRES on its fixed point: what is slow about the iteration is a
    few smooth modes, and these are seen in a few steps.
    """

    def __init__(
        self, given: list[FloatArray] | None = None, came: list[FloatArray] | None = None
    ) -> None:
        self.given = given or []
        self.came = came or []

    def next(self, x: FloatArray, image: FloatArray) -> FloatArray:
        """Take in that x led to an image; returns where to go on."""
        self.given = [*self.given, x][-MEMORY:]
        self.came = [*self.came, image][-MEMORY:]
        if len(self.given) == 1:
            return image
        steps = np.stack(self.came) - np.stack(self.given)
        changes = np.diff(steps, axis=0)
        factors = np.linalg.lstsq(changes.T, steps[-1], rcond=1e-10)[0]
        combined: FloatArray = image - factors @ np.diff(np.stack(self.came), axis=0)
        return combined
