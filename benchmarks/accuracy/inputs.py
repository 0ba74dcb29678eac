"""The maps that experiments take: an object, its principal point, and noise drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

import rayrelief
from benchmarks import diligent
from benchmarks.accuracy.settings import PrincipalPoint
from rayrelief.synthetic.perturb import with_outliers, with_rotation_noise

NoiseKind = Literal["outliers", "rotations"]
PAPER_SHIFT = 0.75  # pixels in v: the paper's 255.875 against the 255.125 of K.txt


@dataclass(frozen=True)
class Noise:
    """Outliers in percent of the normals, or rotations in degrees."""

    kind: NoiseKind
    level: float
    seed: int

    def added_to(self, scene: rayrelief.Scene) -> rayrelief.Scene:
        """Scene with noise on the normals of its mask."""
        rng = np.random.default_rng(self.seed)
        # What lies outside must not take its share of the outliers.
        inside = np.where(scene.mask[..., None], scene.normals, np.nan)
        if self.kind == "outliers":
            return replace(scene, normals=with_outliers(inside, self.level / 100, rng))
        return replace(scene, normals=with_rotation_noise(inside, self.level, rng))


@dataclass(frozen=True)
class Source:
    """Where a map comes from: small enough to be handed to another process."""

    name: str
    principal_point: PrincipalPoint = "file"
    noise: Noise | None = None

    def scene(self) -> rayrelief.Scene:
        """Read the map, the principal point moved and the noise added."""
        (scene,) = diligent.scenes((self.name,))
        if self.principal_point == "paper":
            scene = moved(scene)
        return scene if self.noise is None else self.noise.added_to(scene)


def moved(scene: rayrelief.Scene) -> rayrelief.Scene:
    """Scene with the paper's principal point."""
    camera = scene.camera
    if not isinstance(camera, rayrelief.Pinhole):
        raise SystemExit(f"{scene.name} has no Pinhole camera, whose principal point could move")
    return replace(scene, camera=replace(camera, cy=camera.cy + PAPER_SHIFT))
