"""Maps that are read in parts, and their integration in blocks."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from rayrelief.batch.here import Here
from rayrelief.cameras import Camera, Orthographic
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.large.layout import Layout, Window
from rayrelief.large.results import windows
from rayrelief.large.running import Finished, integrate_blocks
from rayrelief.methods import Smooth
from rayrelief.synthetic.crowd import crowd_camera, crowd_shapes
from rayrelief.synthetic.render import render
from rayrelief.synthetic.surroundings import wavy_relief

RENDERED = 1024  # pixels along a side of what is rendered at a time
NOISE, TWIST = 0.05, 0.05  # of the slopes of the relief that no surface has exactly


@dataclass(frozen=True)
class Noisy:
    """A wavy relief with noise, and with a twist: in one piece it differs from any block's own."""

    side: int
    noise: float = NOISE
    normals: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        scene = wavy_relief(self.side, self.side)
        slopes = scene.normals[..., :2] / -scene.normals[..., 2:]
        slopes += self.noise * np.random.default_rng(0).normal(size=slopes.shape)
        v, u = np.mgrid[: self.side, : self.side] / self.side - 0.5
        slopes += TWIST * np.stack((v, -u), axis=-1)
        normals = np.concatenate((slopes, -np.ones((self.side, self.side, 1))), axis=-1)
        object.__setattr__(self, "normals", normals)

    @property
    def shape(self) -> tuple[int, int]:
        return self.side, self.side

    @property
    def camera(self) -> Camera:
        return Orthographic(size=(self.side, self.side))

    def read(self, window: Window) -> tuple[FloatArray, BoolArray]:
        part = self.normals[window]
        return part, np.ones(part.shape[:2], np.bool_)


@dataclass(frozen=True)
class Rendered:
    """Normals in memory, to be read in parts."""

    side: int
    normals: FloatArray = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        return self.side, self.side

    def read(self, window: Window) -> tuple[FloatArray, BoolArray]:
        part = self.normals[window]
        return part, np.ones(part.shape[:2], np.bool_)


def in_blocks(
    source: Noisy | Rendered, layout: Layout, *, camera: Camera | None = None, **how: Any
) -> tuple[FloatArray, Finished]:
    if camera is None:
        camera = Orthographic(size=(source.side, source.side))
    with tempfile.TemporaryDirectory() as folder:
        given: Any = {"method": Smooth(), "layout": layout, "engine": Here(1), "threads": 1}
        done = integrate_blocks(source, camera, Path(folder), **(given | how))
        whole = slice(0, source.side), slice(0, source.side)
        return done.job.store.window(layout, "depth", whole).astype(np.float64), done


def write_map(name: str, side: int, folder: Path, seed: int = 0) -> Camera:
    """Render a scene in parts into zarr arrays: normals.zarr and truth.zarr."""
    camera: Any = (
        crowd_camera(side, side)
        if name == "crowd"
        else Orthographic(2.0 / side, (side - 1) / 2, (side - 1) / 2)
    )
    camera = camera.crop(0, 0, side, side)
    chunks: Any = {"chunks": (RENDERED, RENDERED), "dtype": "float32", "zarr_format": 3}
    truth = zarr.create_array(folder / "truth.zarr", shape=(side, side), **chunks)
    chunks["chunks"] = (RENDERED, RENDERED, 3)
    normals = zarr.create_array(folder / "normals.zarr", shape=(side, side, 3), **chunks)
    normals.attrs["convention"] = "opencv"
    shapes = crowd_shapes(side, side, seed=seed) if name == "crowd" else []
    for rows, columns in windows(side, side, RENDERED):
        height, width = rows.stop - rows.start, columns.stop - columns.start
        part = camera.crop(columns.start, rows.start, width, height)
        relief = name != "crowd"
        scene = wavy_relief(height, width, part) if relief else render(shapes, part, height, width)
        normals[rows, columns] = scene.normals
        truth[rows, columns] = scene.depth
    return camera
