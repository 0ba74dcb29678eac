"""One page of HTML that shows results: nothing is fetched, and the surface turns."""

from __future__ import annotations

import base64
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from rayrelief.checks import is_number
from rayrelief.conventions import FloatArray, from_opencv
from rayrelief.errors import FileError, InputError, in_number
from rayrelief.io.atomic import write_whole
from rayrelief.io.images import encode_png, read_picture
from rayrelief.io.mesh_reading import read_triangles
from rayrelief.io.meshes import SUFFIXES
from rayrelief.io.reports import REPORT_NAME, notes_of, read_report, result_in
from rayrelief.io.sources import missing, read_bytes
from rayrelief.mesh import Mesh
from rayrelief.mesh.words import in_words
from rayrelief.meshing import CUT
from rayrelief.notebook import data_url
from rayrelief.optional import library
from rayrelief.shading import Image
from rayrelief.viewer.display import Colouring, colourings, display_mesh
from rayrelief.viewer.finished import (
    CAMERAS,
    DEPTHS,
    Finished,
    read_finished,
    results_inside,
    told_apart,
)
from rayrelief.viewer.layers import NAME as LAYERS
from rayrelief.viewer.sheet import scaled
from rayrelief.viewer.window import Window

PREVIEW = "preview.png"
WIDEST_PICTURE = 600  # pixels
# Of all results together, so that a page has less than 10 MB: faces, and bytes of pictures.
MOST_FACES, MOST_BYTES = 200_000, 4_000_000
FEWEST_BYTES = 1000
ERRORS = {"made": "MADE, in the unit of the truth", "re": "RE, %", "era": "ERA, %"}
MESHES = tuple(f"mesh{suffix}" for suffix in SUFFIXES)
READ = (REPORT_NAME, LAYERS, PREVIEW, *DEPTHS, *CAMERAS, *MESHES)  # of a folder, if there


def _no_report(folder: Path) -> FileError:
    """What to do with a folder that has no report, but may hold some that have."""
    expected = "a folder that 'rayrelief integrate' has written for one map"
    if not folder.exists():
        return missing(folder, expected)
    inside, remedy = results_inside(folder)
    return FileError(
        f"{folder} has no {REPORT_NAME}{inside}",
        expected=expected,
        remedy=remedy or "Give the folder after its -o",
    )


@dataclass(frozen=True, eq=False)
class Shown:
    """What a folder of results holds."""

    folder: Path
    report: dict[str, Any]

    @cached_property
    def finished(self) -> Finished | None:
        """What it knows at every pixel; None without its layers."""
        layers = result_in(self.folder, [LAYERS], self.report)
        return None if layers is None else read_finished(self.folder)

    @classmethod
    def read(cls, folder: Path) -> Shown:
        """Results of a run; FileError where there are none."""
        path = folder / REPORT_NAME
        if not path.is_file():
            raise _no_report(folder)
        report = read_report(path)
        if report is None:
            raise FileError(
                f"{path} is no report of rayrelief",
                expected="the JSON that 'rayrelief integrate' writes",
                remedy="Run it again",
            )
        return cls(folder, report)

    def entry(self, name: str, share: int, beside: Sequence[Finished]) -> dict[str, Any]:
        """All that the page shows of it, with one of so many shares, in comparison with others."""
        report = self.report
        method, status = _part(report, "method"), _part(report, "status")
        history = [each for each in _list(report.get("history")) if isinstance(each, dict)]
        causes = filter(None, (status.get("cause"), *notes_of(report)))
        size = _list(_part(report, "input").get("size")) or ["?", "?"]
        summary = {
            "map": f"{'x'.join(map(str, size))} pixels",
            "method": method.get("type"),
            "camera": _part(report, "camera").get("type"),
            "status": "; ".join(map(str, causes)) or None,
            "iterations": len(history),
            "seconds in all": _rounded(_part(report, "seconds").get("integrate")),
            "of these for compiling": _rounded(_part(report, "seconds").get("compile") or None),
            "angle to the input, degrees": _rounded(report.get("mean_angle_degrees")),
            "mesh": _mesh_in_words(_part(report, "mesh")),
        }
        found = _part(report, "errors")
        errors = {words: _rounded(found.get(name)) for name, words in ERRORS.items()}
        settings = {
            f"{title}: {key}": value
            for title, part in (
                *((name, _part(report, name)) for name in ("method", "camera", "preprocessing")),
                ("mesh", _part(_part(report, "mesh"), "options")),
                ("versions", _part(report, "versions")),
            )
            for key, value in part.items()
        }
        preview = result_in(self.folder, [PREVIEW], self.report)
        return {
            "title": f"{report.get('scene', name)} ({name})",
            "summary": _rows(summary | errors),
            "changes": [_number(each.get("change")) for each in history],
            "details": _rows({"rayrelief": report["rayrelief"], **settings}),
            "preview": None if preview is None else _preview(preview, MOST_BYTES // share // 2),
            "pictures": self._pictures(beside, MOST_BYTES // share // 4),
            "mesh": self._surface(MOST_FACES // share),
        }

    def _pictures(self, beside: Sequence[Finished], most: int) -> list[tuple[str, str]]:
        """Continuous parts, and the error in colours that mean the same for all; with words."""
        if self.finished is None:
            return []
        ways = colourings(self.finished, beside=beside)
        wanted = ("segments", "error") if beside else ("segments",)  # the preview has its own error
        found = [ways[name]() for name in wanted if name in ways]
        return [(each.label, _picture(each, self.finished, most)) for each in found]

    def _surface(self, most_faces: int) -> dict[str, Any] | None:
        """The mesh in the axes of WebGL, within a cube around the origin; None without a file."""
        path = result_in(self.folder, MESHES, self.report)
        if path is None:
            return None
        mesh = read_triangles(path)
        vertices, faces = mesh.vertices, mesh.faces
        if not len(faces):
            return None
        solid = _part(self.report, "mesh").get("solid")
        if path.suffix != ".glb" and not solid:
            vertices = from_opencv(vertices, "opengl")
        note = f"{in_number(len(faces), 'face')} of {path.name}"
        vertices = _in_cube(vertices)
        if len(faces) > most_faces:
            vertices, faces = self._fewer(vertices, faces, most_faces, bool(solid))
            note += f", shown with {len(faces):,}"
        low, high = vertices.min(axis=0), vertices.max(axis=0)
        side = float((high - low).max()) or 1.0
        steps = np.rint((vertices - low) / side * 65535).astype("<u2")
        return {
            "positions": base64.b64encode(steps.tobytes()).decode("ascii"),
            "faces": base64.b64encode(faces.astype("<u4").tobytes()).decode("ascii"),
            "low": low.tolist(),
            "high": high.tolist(),
            "side": side,
            # Around the camera a surface is looked into from outside, through the backs of faces.
            "around": self.report.get("depth_kind") == "distance" and not solid,
            "note": note,
        }

    def _fewer(self, vertices: Any, faces: Any, count: int, solid: bool) -> tuple[Any, Any]:
        """Vertices within a cube of side 2 and faces, of which only so many are left."""
        purpose = f"a page with a mesh of {len(faces):,} faces"
        try:
            simplify = library("fast_simplification", purpose, "mesh").simplify
        except InputError:
            mesh = None if solid else self._sampled(count)  # of a surface, which is no body
            if mesh is None or not len(mesh.faces):
                raise
            return _in_cube(from_opencv(mesh.vertices, "opengl")), mesh.faces
        # More patient than usual, for this size: of 340 turned faces in plant 38 are left.
        fewer: tuple[Any, Any] = simplify(
            vertices, faces.astype(np.int32), target_count=count, agg=3
        )
        return fewer

    def _sampled(self, count: int) -> Mesh | None:
        """Mesh of every few pixels with at most so many faces; None without layers."""
        if self.finished is None:
            return None
        window = Window.around(self.finished.mask, longest_side=2**31)
        stride = math.ceil(math.sqrt(2 * math.prod(window.shape) / count))
        cut = _part(_part(self.report, "mesh"), "options").get("cut")
        known = float(cut) if cut is not None and (is_number(cut) or cut == "inf") else CUT
        return display_mesh(self.finished, known, math.ceil(max(window.shape) / stride))[0]


def write_page(path: str | os.PathLike[str], folders: list[Path]) -> None:
    """Write a page about the results in folders, side by side if there are several."""
    shown = [Shown.read(folder) for folder in folders]
    known = [each.finished for each in shown if each.finished is not None]
    beside = known if len(shown) > 1 else []
    named = zip(told_apart(folders), shown, strict=True)
    entries = [each.entry(name, len(shown), beside) for name, each in named]
    # Inside a script element nothing but this begins what ends or comments it out.
    data = json.dumps(entries, allow_nan=False).replace("<", "\\u003c")
    template = files("rayrelief.viewer").joinpath("report_page.html").read_text(encoding="utf-8")
    write_whole(path, template.replace("DATA", data, 1))


def _picture(colouring: Colouring, shown: Finished, most: int) -> str:
    """What a result is coloured with, where it is."""
    window = Window.around(shown.mask, longest_side=2**31)
    whole = np.where(shown.mask[..., None], colouring.picture, 255).astype(np.uint8)
    picture = window.samples(whole)
    factor = min(1.0, WIDEST_PICTURE / picture.shape[1])
    return _address(scaled(picture, factor, mixed=False), most)


def _in_cube(vertices: FloatArray) -> FloatArray:
    """Vertices (V, 3) within a cube of side 2 around the origin."""
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    side = float((high - low).max()) or 1.0
    placed: FloatArray = (vertices - (low + high) / 2) / (side / 2)
    return placed


def _part(report: dict[str, Any], name: str) -> dict[str, Any]:
    part = report.get(name)
    return part if isinstance(part, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mesh_in_words(mesh: dict[str, Any]) -> str | None:
    """How large a mesh is, and where it was cut; None without one that can be understood."""
    faces, vertices, sides = mesh.get("faces"), mesh.get("vertices"), _list(mesh.get("size"))
    if not all(map(is_number, (faces, vertices, *sides))):
        return None
    unit = mesh.get("unit")
    words = in_words(
        int(faces or 0),
        int(vertices or 0),
        sides,
        unit if isinstance(unit, str) else None,
        bool(mesh.get("solid")),
    )
    cut = _part(mesh, "options").get("cut")
    return f"{words}; cut at jumps of more than {cut:g} pixels" if is_number(cut) else words


def _number(value: Any) -> float:
    return float(value) if is_number(value) else 0.0


def _rounded(value: Any) -> Any:
    return f"{value:.4g}" if isinstance(value, float) else value


def _rows(values: dict[str, Any]) -> list[tuple[str, str]]:
    """Names and values as text, without what is not known."""
    return [(name, _text(value)) for name, value in values.items() if value is not None]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _preview(path: Path, most: int) -> str:
    """A picture in a file as an address that holds it, of at most so many bytes."""
    data = read_bytes(path)
    return data_url(data) if len(data) <= most else _address(read_picture(path), most)


def _address(picture: Image, most: int) -> str:
    """A picture as an address that holds it: a smaller one, where it has more bytes than these."""
    while len(data := encode_png(picture)) > max(most, FEWEST_BYTES):
        picture = scaled(picture, 0.9 * math.sqrt(most / len(data)))
    return data_url(data)
