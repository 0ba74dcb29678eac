"""Placed: a result where it is looked at: y up, z towards the viewer, its radius 1."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rayrelief.conventions import FloatArray, from_opencv
from rayrelief.io.glb import glb_of
from rayrelief.mesh import Mesh
from rayrelief.shading import Image
from rayrelief.viewer.display import display_mesh
from rayrelief.viewer.finished import Finished
from rayrelief.viewer.sheet import scaled
from rayrelief.viewer.window import Window

LARGEST_TEXTURE = 2048  # pixels a side: browsers load no larger ones everywhere
WIDEST_VIEW = 100.0  # degrees: beyond, a flat picture shows little


@dataclass(frozen=True, eq=False)
class Placed:
    """A result, moved and scaled so that its middle is the origin and its radius 1.

    Attributes
    ----------
    shown
        The result.
    middle, radius
        Of its surface, in the camera frame.
    """

    shown: Finished
    middle: FloatArray
    radius: float

    @classmethod
    def of(cls, shown: Finished) -> Placed:
        """Place a result by its points: far ones that are few have no say."""
        points = shown.view.points(shown.depth)[shown.mask]
        low, high = np.percentile(points, (1, 99), axis=0)
        middle = (low + high) / 2
        radius = float(np.linalg.norm(high - low)) / 2
        return cls(shown, middle, radius or 1.0)

    def to_page(self, points: FloatArray) -> FloatArray:
        """Points (..., 3) of the camera frame in the space of the page."""
        placed: FloatArray = from_opencv((points - self.middle) / self.radius, "opengl")
        return placed

    def mesh(self, cut: float) -> tuple[Mesh, int]:
        """Mesh to be drawn, in the camera frame, scaled; and every how many pixels it samples."""
        mesh, stride = display_mesh(self.shown, cut)
        return replace(mesh, vertices=(mesh.vertices - self.middle) / self.radius), stride

    def glb(self, mesh: Mesh, picture: Image) -> bytes:
        """Mesh with a picture of the whole map on it, as a browser loads it."""
        textured = mesh.coloured(picture, self.shown.depth.shape)
        factor = LARGEST_TEXTURE / max(picture.shape)
        if factor < 1 and textured.texture is not None:  # a thin picture changes its shape
            small = replace(textured.texture, picture=scaled(picture, factor))
            textured = replace(textured, texture=small)
        return glb_of(textured)

    @cached_property
    def outline(self) -> FloatArray:
        """Lines (N, 2, 3) on the page from the camera to the corners of what it saw, and around."""
        window = Window.around(self.shown.mask, longest_side=2**31)
        rows, columns = (
            (side.start, (side.start + side.stop) // 2, side.stop - 1)
            for side in (window.rows, window.columns)
        )
        around = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0)]
        pixels = tuple(np.array([(rows[r], columns[c]) for r, c in around]).T)
        view, depth = self.shown.view, np.full(len(around), np.nanmedian(self.shown.depth))
        rim = depth[:, None] * view.rays[pixels]
        eyes = np.zeros_like(rim)
        if view.origins is not None:  # parallel rays start beside each other, outside the surface
            eyes = view.origins[pixels] + view.rays[pixels] * (self.middle[2] - 3 * self.radius)
            rim = rim + view.origins[pixels]
        lines = np.concatenate(
            (np.stack((eyes, rim), axis=1)[::2], np.stack((rim, np.roll(rim, -1, axis=0)), axis=1))
        )
        return self.to_page(lines[np.isfinite(lines).all(axis=(1, 2))])

    @cached_property
    def camera_place(self) -> tuple[FloatArray, float]:
        """Where on the page the camera stands, and its vertical field of view in radians.

        One with parallel rays stands far away.
        """
        window = Window.around(self.shown.mask, longest_side=2**31)
        if self.shown.view.origins is not None:
            place = self.middle - (0, 0, 50 * self.radius)
            return self.to_page(place), 2 * np.arctan(1 / 50)
        rays = self.shown.view.rays[window.rows, window.columns]
        units = rays[np.isfinite(rays).all(axis=-1)]
        units = units / np.linalg.norm(units, axis=-1, keepdims=True)
        far = float(np.linalg.norm(self.middle))
        inside = far < self.radius / 2  # the surface goes around the camera
        forward = np.array([0.0, 0.0, 1.0]) if inside else self.middle / far
        angle = 2.2 * float(np.arccos(np.clip(units @ forward, -1, 1)).max())
        return self.to_page(np.zeros(3)), min(angle, np.radians(WIDEST_VIEW))

    def length(self, distance: float) -> str:
        """A distance on the page in words, in the unit of the depth."""
        return f"{distance * self.radius:.4g} {self.shown.unit}".strip()
