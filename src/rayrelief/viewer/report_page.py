"""One page of HTML that shows results: nothing is fetched, and the surface turns."""

from __future__ import annotations

import base64
import json
import os
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from rayrelief.conventions import from_opencv
from rayrelief.errors import FileError
from rayrelief.io.atomic import write_whole
from rayrelief.io.meshes import SUFFIXES
from rayrelief.io.sources import read_bytes
from rayrelief.optional import library

REPORT = "report.json"
PREVIEW = "preview.png"
MOST_FACES = 200_000  # of all surfaces together: a page of a few megabytes


@dataclass(frozen=True, eq=False)
class Shown:
    """What a folder of results holds."""

    folder: Path
    report: dict[str, Any]

    @classmethod
    def read(cls, folder: Path) -> Shown:
        """Results of a run; FileError where there are none."""
        path = folder / REPORT
        if not path.is_file():
            raise FileError(
                f"{folder} has no {REPORT}",
                expected="a folder that 'rayrelief integrate' has written",
                remedy="Give the folder after its -o",
            )
        try:
            report = json.loads(read_bytes(path))
        except ValueError:
            report = None
        if not isinstance(report, dict) or "rayrelief" not in report:
            raise FileError(
                f"{path} is no report of rayrelief",
                expected="the JSON that 'rayrelief integrate' writes",
                remedy="Run it again",
            )
        return cls(folder, report)

    def entry(self, most_faces: int) -> dict[str, Any]:
        """All that the page shows of it."""
        report = self.report
        method, status = _part(report, "method"), _part(report, "status")
        history = [each for each in report.get("history") or [] if isinstance(each, dict)]
        size = _part(report, "input").get("size") or ["?", "?"]
        summary = {
            "map": f"{size[0]}x{size[1]} pixels",
            "method": method.get("type"),
            "camera": _part(report, "camera").get("type"),
            "status": status.get("cause"),
            "iterations": len(history),
            "seconds": _rounded(_part(report, "seconds").get("integrate")),
            "angle to the input, degrees": _rounded(report.get("mean_angle_degrees")),
        }
        errors = {
            f"error: {name}": _rounded(value)
            for name, value in _part(report, "errors").items()
            if name != "type"
        }
        settings = {
            f"{title}: {key}": value
            for title in ("method", "camera", "preprocessing", "versions")
            for key, value in _part(report, title).items()
        }
        preview = self.folder / PREVIEW
        return {
            "title": f"{report.get('scene', self.folder.name)} ({self.folder.name})",
            "summary": _rows(summary | errors),
            "changes": [each.get("change") or 0 for each in history],
            "details": _rows({"rayrelief": report["rayrelief"], **settings}),
            "preview": _address(read_bytes(preview)) if preview.is_file() else None,
            "mesh": self._surface(most_faces),
        }

    def _surface(self, most_faces: int) -> dict[str, Any] | None:
        """The mesh in the axes of WebGL, within a cube around the origin; None without a file."""
        import trimesh

        named = (self.folder / f"mesh{suffix}" for suffix in SUFFIXES)
        path = next((path for path in named if path.is_file()), None)
        if path is None:
            return None
        mesh: Any = trimesh.load(path, force="mesh", process=False)
        vertices, faces = np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces)
        if not len(faces):
            return None
        if path.suffix != ".glb" and not _part(self.report, "mesh").get("solid"):
            vertices = from_opencv(vertices, "opengl")
        note = f"{len(faces):,} faces of {path.name}"
        if len(faces) > most_faces:
            vertices, faces = _fewer(vertices, faces, most_faces)
            note += f", shown with {len(faces):,}"
        low, high = vertices.min(axis=0), vertices.max(axis=0)
        side = float((high - low).max()) or 1.0
        middle, half = (low + high) / 2, side / 2
        steps = np.rint((vertices - low) / side * 65535).astype("<u2")
        return {
            "positions": base64.b64encode(steps.tobytes()).decode("ascii"),
            "faces": base64.b64encode(faces.astype("<u4").tobytes()).decode("ascii"),
            "low": ((low - middle) / half).tolist(),
            "high": ((high - middle) / half).tolist(),
            "side": 2.0,
            "note": note,
        }


def write_page(path: str | os.PathLike[str], folders: list[Path]) -> None:
    """Write a page about the results in folders, side by side if there are several."""
    shown = [Shown.read(folder) for folder in folders]
    entries = [each.entry(MOST_FACES // len(shown)) for each in shown]
    # Inside a script element nothing else ends it.
    data = json.dumps(entries, allow_nan=False).replace("</", "<\\/")
    template = files("rayrelief.viewer").joinpath("report_page.html").read_text(encoding="utf-8")
    write_whole(path, template.replace("DATA", data, 1))


def _fewer(vertices: Any, faces: Any, count: int) -> tuple[Any, Any]:
    purpose = f"a page with a mesh of {len(faces):,} faces"
    simplify = library("fast_simplification", purpose, "mesh").simplify
    fewer: tuple[Any, Any] = simplify(vertices, faces.astype(np.int32), target_count=count)
    return fewer


def _part(report: dict[str, Any], name: str) -> dict[str, Any]:
    part = report.get(name)
    return part if isinstance(part, dict) else {}


def _rounded(value: Any) -> Any:
    return f"{value:.4g}" if isinstance(value, float) else value


def _rows(values: dict[str, Any]) -> list[tuple[str, str]]:
    """Names and values as text, without what is not known."""
    return [(name, _text(value)) for name, value in values.items() if value is not None]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _address(data: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(data).decode("ascii")
