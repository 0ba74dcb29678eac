"""A map in blocks as all of its steps see it: where it is read, how it is cut, what is kept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import numpy.typing as npt

from rayrelief.cameras.base import Camera
from rayrelief.conventions import BoolArray, DepthKind
from rayrelief.graph import Connectivity
from rayrelief.large.layout import Layout, Window, shape_of
from rayrelief.large.planning import kind_of
from rayrelief.large.store import Store
from rayrelief.methods.base import Method
from rayrelief.problem import connectivity_of


class Source(Protocol):
    """A map that is read in parts."""

    @property
    def shape(self) -> tuple[int, int]:
        """(height, width)."""

    def read(self, window: Window) -> tuple[npt.NDArray[Any], BoolArray]:
        """Normals (h, w, 3) in the OpenCV camera frame, and the mask (h, w), of a part."""


@dataclass(frozen=True)
class Job:
    """A map, how it is integrated, and where what is finished is kept.

    Attributes
    ----------
    first, bending
        Number of the first part of each block, and of all parts; how many parts of each block may
        bend. Empty until all are decided.
    look
        0 while blocks are decided on by themselves, 1 once the joined surface is looked at again.
    """

    source: Source
    camera: Camera
    method: Method
    layout: Layout
    store: Store
    kind: DepthKind
    threads: int | None
    first: tuple[int, ...] = ()
    bending: tuple[int, ...] = ()
    look: int = 0

    @classmethod
    def of(
        cls,
        source: Source,
        camera: Camera,
        method: Method,
        layout: Layout,
        folder: Path,
        threads: int | None = None,
    ) -> Self:
        """Job that keeps its parts in a folder; CameraError if the camera is of another size."""
        camera.check_resolution(*source.shape)
        kind = kind_of(camera, *source.shape)
        return cls(source, camera, method, layout, Store(folder), kind, threads)

    @property
    def connectivity(self) -> Connectivity:
        """Neighbours that the method's equations join."""
        return connectivity_of(self.method)

    def surface(self, sweep: int) -> str:
        """Name of the surfaces of blocks after a sweep."""
        return f"surface.{self.look}.{sweep}"

    def camera_of(self, window: Window) -> Camera:
        """Camera of a part of the map."""
        height, width = shape_of(window)
        return self.camera.crop(window[1].start, window[0].start, width, height)
