"""What a run covers, and its maps: objects, principal points, noise and perturbations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Literal, Protocol, get_args

import numpy as np

import rayrelief
from benchmarks.diligent import OBJECTS, pinhole_of, read_map, shifted
from rayrelief.synthetic.perturb import with_outliers, with_rotation_noise

PrincipalPoint = Literal["file", "paper"]
PRINCIPAL_POINTS: tuple[PrincipalPoint, ...] = get_args(PrincipalPoint)
PUBLISHED_ITERATIONS = 1200
PAPER_SHIFT = 0.75  # pixels in v: the paper's 255.875 against the 255.125 of K.txt
HALF_STEP = 1 / 65535  # of a component n = 2 v / 65535 - 1 that 16 bits hold


@dataclass(frozen=True)
class Settings:
    """The defaults are what the paper did; fewer objects or iterations give a quick look.

    Attributes
    ----------
    objects
        Objects of DiLiGenT.
    iterations
        Instead of the 1200 of the published schedule; shorter schedules shrink alike.
    principal_point
        "file" for that of K.txt, "paper" for the one that some of the paper's rows fit.
    spread
        Whether tables of MADE are over perturbed inputs.
    """

    objects: tuple[str, ...] = OBJECTS
    iterations: int = PUBLISHED_ITERATIONS
    principal_point: PrincipalPoint = "file"
    spread: bool = False

    @property
    def full(self) -> bool:
        """Whether schedules are as long as published."""
        return self.iterations == PUBLISHED_ITERATIONS

    @property
    def held_to_limits(self) -> bool:
        """Whether errors have limits: those are of full schedules on the maps as they are."""
        return self.full and self.principal_point == "file" and not self.spread

    def file_stem(self, *parts: str) -> str:
        """Name of a file without its suffix: runs with other settings never share one."""
        spread = ["spread"] * self.spread
        moved = ["moved"] * (self.principal_point != "file")
        objects = self.objects if self.objects != OBJECTS else ()
        quick = [f"{self.iterations}_iterations"] * (not self.full)
        return "-".join([*parts, *spread, *moved, *objects, *quick])

    def source(self, name: str) -> Source:
        """The map of an object."""
        return Source(name, self.principal_point)

    def sources(self, name: str) -> tuple[Source, ...]:
        """The map, and where the spread is asked for all its perturbations."""
        source = self.source(name)
        if not self.spread:
            return (source,)
        return tuple(replace(source, perturbation=each) for each in PERTURBATIONS)


class MapSource(Protocol):
    """Where a map comes from: small enough to be handed to another process, and hashable."""

    @property
    def name(self) -> str:
        """Name of the map, for tables."""

    def scene(self) -> rayrelief.Scene:
        """Read or make the map."""

    def __hash__(self) -> int:
        """Sources of the same map are equal."""


@dataclass(frozen=True)
class Noise:
    """Outliers in percent of the normals, or rotations in degrees."""

    kind: str
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
    """A map of DiLiGenT; the perturbation is one of PERTURBATIONS."""

    name: str
    principal_point: PrincipalPoint = "file"
    noise: Noise | None = None
    perturbation: str = "as it is"

    def scene(self) -> rayrelief.Scene:
        """Read the map, move the principal point, add the noise, perturb it."""
        scene = read_map(self.name)
        if self.principal_point == "paper":
            scene = shifted(scene, 0.0, PAPER_SHIFT)
        if self.noise is not None:
            scene = self.noise.added_to(scene)
        return PERTURBATIONS[self.perturbation](scene)


@lru_cache(maxsize=24)
def scene_of(source: MapSource) -> rayrelief.Scene:
    """Map of a source; the last ones are remembered."""
    return source.scene()


def rounded_anew(scene: rayrelief.Scene, seed: int) -> rayrelief.Scene:
    """Scene with normals that 16 bits may have rounded to its own."""
    rng = np.random.default_rng(seed)
    noisy = scene.normals + rng.uniform(-HALF_STEP, HALF_STEP, scene.normals.shape)
    return replace(scene, normals=noisy / np.linalg.norm(noisy, axis=-1, keepdims=True))


def quarter_turned(scene: rayrelief.Scene) -> rayrelief.Scene:
    """Scene as its camera sees it after a quarter turn about the optical axis.

    The image turns counter-clockwise: what was at (u, v) is at (v, width - 1 - u), and the vector
    (x, y, z) becomes (y, -x, z).
    """
    camera, width = pinhole_of(scene), scene.mask.shape[1]
    x, y, z = np.moveaxis(np.rot90(scene.normals), -1, 0)
    size = None if camera.size is None else camera.size[::-1]
    cx, cy = camera.cy, width - 1 - camera.cx
    return replace(
        scene,
        normals=np.stack((y, -x, z), axis=-1),
        mask=np.rot90(scene.mask).copy(),
        depth=None if scene.depth is None else np.rot90(scene.depth).copy(),
        camera=replace(camera, fx=camera.fy, fy=camera.fx, cx=cx, cy=cy, size=size),
    )


def mirrored(scene: rayrelief.Scene) -> rayrelief.Scene:
    """Scene with left and right exchanged."""
    camera, width = pinhole_of(scene), scene.mask.shape[1]
    return replace(
        scene,
        normals=scene.normals[:, ::-1] * (-1.0, 1.0, 1.0),
        mask=scene.mask[:, ::-1].copy(),
        depth=None if scene.depth is None else scene.depth[:, ::-1].copy(),
        camera=replace(camera, cx=width - 1 - camera.cx),
    )


# Changes that should not matter: no error is known better than it follows them.
PERTURBATIONS: Mapping[str, Callable[[rayrelief.Scene], rayrelief.Scene]] = {
    "as it is": lambda scene: scene,
    "principal point moved by (0.1, 0)": partial(shifted, du=0.1, dv=0.0),
    "principal point moved by (0, 0.1)": partial(shifted, du=0.0, dv=0.1),
    "principal point moved by (-0.1, -0.1)": partial(shifted, du=-0.1, dv=-0.1),
    "16-bit rounding noise": partial(rounded_anew, seed=0),
    "other 16-bit rounding noise": partial(rounded_anew, seed=1),
    "turned by 90 degrees": quarter_turned,
    "mirrored": mirrored,
}
