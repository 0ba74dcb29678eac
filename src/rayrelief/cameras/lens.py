"""LensCamera: a lens that distorts the plane of an ideal camera."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.conventions import FloatArray

# Of an ideal camera only the plane is used, which has nothing to do with pixels.
PERSPECTIVE = Pinhole(1, 1, 0, 0)


class Stage(Protocol):
    """What a lens does to the points (n,) of a plane; NaN where nothing is seen."""

    def distort_seen(self, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Distort points."""

    def undistort(self, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Find the points that are distorted to these."""


@dataclass(frozen=True)
class LensCamera(IntrinsicCamera):
    """An ideal camera whose plane a lens distorts, in one stage or more.

    Directions beyond a fold, where the image would turn back, are not seen, and pixels that no
    direction within it reaches have no ray.
    """

    iterative: ClassVar[bool] = True

    @property
    @abstractmethod
    def ideal(self) -> IntrinsicCamera:
        """Camera whose plane the lens distorts."""

    @property
    @abstractmethod
    def stages(self) -> tuple[Stage, ...]:
        """What the lens does to that plane, in the order of the light."""

    def from_plane(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Directions (n, 3) of points (n,) of the distorted plane; NaN where there is none."""
        for stage in reversed(self.stages):
            x, y = stage.undistort(x, y)
        return self.ideal.from_plane(x, y)

    def to_plane(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Points (n,) of the distorted plane of points (n, 3); NaN where not seen."""
        x, y = self.ideal.to_plane(points)
        for stage in self.stages:
            x, y = stage.distort_seen(x, y)
        return x, y


@dataclass(frozen=True)
class RadialTangentialLens(LensCamera):
    """Lens whose first coefficients are the five that OpenCV begins with, in its order and sign.

    Attributes
    ----------
    k1, k2, k3
        Radial coefficients: of r^2, r^4 and r^6 in a factor 1 + ...
    p1, p2
        Tangential coefficients.
    """

    k1: float = 0.0
    k2: float = 0.0
    p1: float = 0.0
    p2: float = 0.0
    k3: float = 0.0
