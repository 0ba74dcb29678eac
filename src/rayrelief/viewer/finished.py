"""Finished: a result read back from the folder that a run has written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rayrelief.cameras.base import Camera
from rayrelief.cameras.calibration import read_camera
from rayrelief.cameras.view import View
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.errors import FileError
from rayrelief.io.depth import WRITERS, read_depth
from rayrelief.io.reports import REPORT_NAME, notes_of, read_report, result_in
from rayrelief.io.sources import as_path, missing
from rayrelief.mesh.units import METRES
from rayrelief.viewer.layers import NAME as LAYERS
from rayrelief.viewer.layers import Layers

DEPTHS = tuple(f"depth{suffix}" for suffix in WRITERS)  # the more a file stores the earlier
CAMERAS = ("camera.json", "rays.npy")


@dataclass(frozen=True, eq=False)
class Finished:
    """A surface that has been integrated, in the camera frame.

    Attributes
    ----------
    name, folder
        Name of the folder, and where it is.
    depth
        (H, W), NaN outside.
    camera
        The one that saw it.
    layers
        What else is known at every pixel.
    unit
        Unit of the depth; empty where nobody said it.
    summary
        How the run went, in a few words; empty where no report says it.
    """

    name: str
    folder: Path
    depth: FloatArray
    camera: Camera
    layers: Layers
    unit: str = ""
    summary: str = ""

    @property
    def mask(self) -> BoolArray:
        """(H, W): pixels that have a depth."""
        return np.isfinite(self.depth)

    @cached_property
    def view(self) -> View:
        """The camera, looking at an image of this size."""
        return View.of(self.camera, *self.depth.shape)


def read_finished(path: str | os.PathLike[str]) -> Finished:
    """Read a folder that ``rayrelief integrate`` has written."""
    folder = as_path(path)
    if not folder.exists():
        raise missing(folder, "a folder that rayrelief integrate has written")
    report = read_report(folder / REPORT_NAME)
    depth, _ = read_depth(_one_of(folder, DEPTHS, report))
    if not np.isfinite(depth).any():
        raise FileError(
            f"the depth in {folder} has no finite value",
            expected="a surface",
            remedy="Check how the run ended: rayrelief integrate says it",
        )
    height, width = depth.shape
    camera = read_camera(_one_of(folder, CAMERAS, report), height=height, width=width)
    beside = result_in(folder, [LAYERS], report)
    layers = Layers() if beside is None else Layers.read(beside, depth.shape)
    unit, summary = _told(report)
    return Finished(folder.resolve().name, folder, depth, camera, layers, unit, summary)


def told_apart(folders: Sequence[Path]) -> list[str]:
    """Name of each folder, with as many of those above it as no other one has."""
    places = [folder.resolve().parts for folder in folders]

    def name(place: tuple[str, ...]) -> str:
        others = [other for other in places if other != place]
        ends = (place[-length:] for length in range(1, len(place)))
        own = next((end for end in ends if all(o[-len(end) :] != end for o in others)), place)
        return "/".join(own)

    return [name(place) for place in places]


def _one_of(folder: Path, names: tuple[str, ...], report: dict[str, Any] | None) -> Path:
    """First of these files that a folder has."""
    if path := result_in(folder, names, report):
        return path
    inside, remedy = results_inside(folder)
    raise FileError(
        f"{folder} is not a folder with a result: it has no {names[0]}{inside}",
        expected="a folder that rayrelief integrate has written, with " + " or ".join(names),
        remedy=remedy or "Run rayrelief integrate first, and give the folder of its -o",
    )


def results_inside(folder: Path) -> tuple[str, str]:
    """Words on results that a folder of many maps holds, and what to give; empty without any."""
    results = sorted(each.parent.name for each in folder.glob(f"*/{REPORT_NAME}"))
    if not results:
        return "", ""
    shown = ", ".join(results[:3]) + (", ..." if len(results) > 3 else "")
    return f" of its own, but holds results: {shown}", f"Give these: {folder}/*/"


def _told(report: dict[str, Any] | None) -> tuple[str, str]:
    """Unit and summary from a report; empty where there is none to be understood."""
    if report is None:
        return "", ""
    parts = [(report.get("method"), "type"), (report.get("status"), "cause")]
    words = [str(part.get(name, "")) for part, name in parts if isinstance(part, dict)]
    summary = "; ".join((", ".join(filter(None, words)), *notes_of(report)))
    unit = report.get("unit")
    return unit if isinstance(unit, str) and unit in METRES else "", summary
