"""The maps that experiments take: an object, its principal point, noise and perturbations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

import rayrelief
from benchmarks import diligent
from benchmarks.accuracy.perturbations import UNPERTURBED, Perturbation
from benchmarks.accuracy.settings import PrincipalPoint
from rayrelief.synthetic.perturb import with_outliers, with_rotation_noise

NoiseKind = Literal["outliers", "rotations"]
PAPER_SHIFT = 0.75  # pixels in v: the paper's 255.875 against the 255.125 of K.txt
TO_PAPER = Perturbation("the paper's principal point", shift=(0.0, PAPER_SHIFT))


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


class MapSource(Protocol):
    """Where a map comes from: small enough to be handed to another process."""

    @property
    def name(self) -> str:
        """Name of the map, for tables."""

    def scene(self) -> rayrelief.Scene:
        """Read or make the map."""


@dataclass(frozen=True)
class Source:
    """A map of DiLiGenT."""

    name: str
    principal_point: PrincipalPoint = "file"
    noise: Noise | None = None
    perturbation: Perturbation = UNPERTURBED

    def scene(self) -> rayrelief.Scene:
        """Read the map, the principal point moved, the noise added, and all of it perturbed."""
        (scene,) = diligent.scenes((self.name,))
        if self.principal_point == "paper":
            scene = moved(scene)
        if self.noise is not None:
            scene = self.noise.added_to(scene)
        return self.perturbation.applied_to(scene)


def moved(scene: rayrelief.Scene) -> rayrelief.Scene:
    """Scene with the paper's principal point."""
    return TO_PAPER.applied_to(scene)
