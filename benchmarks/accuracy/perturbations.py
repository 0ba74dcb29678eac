"""Changes of a map that should not matter: no error is known better than it follows them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import rayrelief
from benchmarks.diligent import pinhole_of, shifted
from rayrelief.conventions import FloatArray

HALF_STEP = 1 / 65535  # of a component n = 2 v / 65535 - 1 that 16 bits hold


@dataclass(frozen=True)
class Perturbation:
    """A change of a map, of its camera, or of how it is held.

    Attributes
    ----------
    name
        For tables.
    shift
        Pixels along u and along v that the principal point moves by.
    rounding_seed
        Seed of noise as large as the rounding errors of 16 bits; None for no noise.
    quarter_turns
        Of the image together with its camera, counter-clockwise.
    """

    name: str
    shift: tuple[float, float] = (0.0, 0.0)
    rounding_seed: int | None = None
    quarter_turns: int = 0

    def applied_to(self, scene: rayrelief.Scene) -> rayrelief.Scene:
        """Changed scene, in the OpenCV frame of its camera."""
        if self.rounding_seed is not None:
            rng = np.random.default_rng(self.rounding_seed)
            scene = replace(scene, normals=with_rounding_noise(scene.normals, rng))
        if any(self.shift):
            scene = shifted(scene, *self.shift)
        for _ in range(self.quarter_turns):
            scene = quarter_turned(scene)
        return scene


UNPERTURBED = Perturbation("as it is")
ROUNDED = Perturbation("16-bit rounding noise", rounding_seed=0)
HALF_TURNED = Perturbation("turned by 180 degrees", quarter_turns=2)
# The map as it is comes first. One turn only: the published schedule hardly notices it.
PERTURBATIONS = (
    UNPERTURBED,
    Perturbation("principal point moved by (0.1, 0)", shift=(0.1, 0.0)),
    Perturbation("principal point moved by (0, 0.1)", shift=(0.0, 0.1)),
    Perturbation("principal point moved by (-0.1, -0.1)", shift=(-0.1, -0.1)),
    ROUNDED,
    Perturbation("other 16-bit rounding noise", rounding_seed=1),
    Perturbation("turned by 90 degrees", quarter_turns=1),
)


def with_rounding_noise(normals: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Unit normals (..., 3), frame unchanged, that 16 bits may have rounded to these; NaN stays."""
    noisy = normals + rng.uniform(-HALF_STEP, HALF_STEP, normals.shape)
    unit: FloatArray = noisy / np.linalg.norm(noisy, axis=-1, keepdims=True)
    return unit


def quarter_turned(scene: rayrelief.Scene) -> rayrelief.Scene:
    """Scene as its camera sees it after a quarter turn about the optical axis.

    The image turns counter-clockwise: what was at (u, v) is at (v, width - 1 - u), and the vector
    (x, y, z) becomes (y, -x, z).
    """
    camera, width = pinhole_of(scene), scene.mask.shape[1]
    x, y, z = np.moveaxis(np.rot90(scene.normals), -1, 0)
    return replace(
        scene,
        normals=np.stack((y, -x, z), axis=-1),
        mask=np.rot90(scene.mask).copy(),
        depth=None if scene.depth is None else np.rot90(scene.depth).copy(),
        camera=replace(
            camera,
            fx=camera.fy,
            fy=camera.fx,
            cx=camera.cy,
            cy=width - 1 - camera.cx,
            size=None if camera.size is None else camera.size[::-1],
        ),
    )
