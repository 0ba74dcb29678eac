"""report.json: what was run on what, with which versions, and how it went."""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields, is_dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import rayrelief
from rayrelief.cameras.base import Camera
from rayrelief.cli.terminal.console import EXPECTED, in_parts
from rayrelief.cli.terminal.signals import postponed
from rayrelief.conventions import FloatArray
from rayrelief.errors import FileError, IntegrationError, RayreliefError
from rayrelief.evaluation.metrics import DepthErrors
from rayrelief.io.atomic import together, write_whole
from rayrelief.io.reports import files_of_run, left_beside, read_report
from rayrelief.mesh import Mesh
from rayrelief.mesh.base import LeftOut
from rayrelief.mesh.quads import quads_of
from rayrelief.mesh.words import in_words
from rayrelief.result import Integration
from rayrelief.scene import Scene

# What a run writes: other names in a report are none of its results.
RESULT = re.compile(r"(depth|mesh|preview|layers|camera|rays)\.[a-z]+")

FAILED = "failed"  # how a run ended that has no surface, or not all of its files
LISTED = 1000  # sizes of components: of dust there are millions
LIBRARIES = ("numpy", "scipy", "numba", "OpenEXR", "trimesh")
# Not InputError, which refuses what was given: then nothing is run, and the folder stays as it is.
FAILURES = (MemoryError, OSError, ImportError, FileError, IntegrationError)


def build_report(
    scene: Scene,
    result: Integration,
    seconds: dict[str, float],
    errors: DepthErrors | None,
    files: list[str],
) -> dict[str, Any]:
    """Collect everything that is needed to understand and repeat a run."""
    import cv2

    return {
        "rayrelief": rayrelief.__version__,
        "scene": scene.name,
        "input": {
            "size": [scene.normals.shape[1], scene.normals.shape[0]],
            "sha256": _digest(scene),
            "notes": list(scene.notes),
        },
        "camera": plain(result.camera),
        "method": plain(result.method),
        "preprocessing": asdict(result.preprocessing),
        "status": {
            "outcome": result.status.outcome.name.lower(),
            "ok": result.status.ok,
            "cause": result.status.outcome.cause,
            "remedy": result.status.outcome.remedy,
            "notes": list(result.status.notes),
        },
        "depth_kind": result.depth_kind,
        "pixels": sum(result.components.sizes),
        "component_count": result.components.count,
        "components": list(result.components.sizes[:LISTED]),  # the largest come first
        "mean_angle_degrees": result.mean_angle(),
        "errors": None if errors is None else plain(errors),
        "files": files,
        "seconds": seconds,
        "history": [asdict(iteration) for iteration in result.history],
        "versions": {
            "python": platform.python_version(),
            "platform": platform.platform(),
            **{name: _version(name) for name in LIBRARIES},
            "opencv": cv2.__version__,  # four distributions install it
        },
    }


@contextmanager
def reported(path: Path, **known: Any) -> Iterator[None]:
    """Write a report with the cause, and with what is known, where a run fails in this context.

    What an earlier run has left would pass for the result of this one.
    """
    try:
        yield
    except FAILURES as error:
        ended = {"status": failed_status(in_parts(error)), "files": [], "left": earlier_files(path)}
        report = {"rayrelief": rayrelief.__version__, **known, **ended}
        with suppress(*EXPECTED), together() as batch:  # the first error is the one to be told
            write_whole(path, to_json(report) + "\n")
            with postponed():
                batch.commit(path.parent)
        raise


def failed_status(error: RayreliefError) -> dict[str, Any]:
    """Status of a run that ended by an error."""
    cause, remedy = error.found, error.remedy
    return {"outcome": FAILED, "ok": False, "cause": cause, "remedy": remedy, "notes": []}


def describe_mesh(mesh: Mesh, *, quads: bool = False) -> dict[str, Any]:
    """Size of a mesh, its unit, and what was left out of it."""
    return {
        "vertices": len(mesh.vertices),
        "faces": sum(map(len, quads_of(mesh))) if quads else len(mesh.faces),
        "size": _sides(mesh).tolist(),
        "unit": mesh.unit,
        "solid": mesh.solid,
        "left_out": None if mesh.left_out is None else asdict(mesh.left_out),
    }


def mesh_summary(report: dict[str, Any], left_out: LeftOut | None) -> str:
    """What a report tells of a mesh, in one line."""
    told, scaled = report["mesh"], ""
    if rescaled := told.get("rescaled"):
        before = f"{rescaled['from']:.4g} {report['unit'] or ''}".strip()
        scaled = f"scaled to {rescaled['width']} wide, from {before}"
    size = (told[name] for name in ("faces", "vertices", "size", "unit", "solid"))
    return "; ".join(map(str, filter(None, (in_words(*size), scaled, left_out))))


def _sides(mesh: Mesh) -> FloatArray:
    """Lengths (3,) of the box around a mesh; 0 around nothing."""
    return np.ptp(mesh.vertices, axis=0) if len(mesh.vertices) else np.zeros(3)


def earlier_files(path: Path) -> list[str]:
    """Names of results of earlier runs that lie beside their report; none without such a report."""
    report = read_report(path)
    names = dict.fromkeys((*files_of_run(report), *left_beside(report)))
    return [name for name in names if RESULT.fullmatch(name) and (path.parent / name).is_file()]


def left_by_others(path: Path) -> list[str]:
    """The same after a run that has failed: without what it has written all the same."""
    report = read_report(path) or {}
    status = report.get("status")
    has_failed = isinstance(status, dict) and status.get("outcome") == FAILED
    own = files_of_run(report) if has_failed else []
    return [name for name in earlier_files(path) if name not in own]


def left_in_words(names: list[str]) -> str:
    """What is told of such files."""
    return f"left from an earlier run, not of this one: {', '.join(names)}"


def to_json(report: dict[str, Any] | list[dict[str, Any]]) -> str:
    """Strict JSON of a report."""
    return json.dumps(finite(report), indent=2, allow_nan=False)


def _version(name: str) -> str | None:
    """Version of a library, or None where it was installed under another name."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _digest(scene: Scene) -> str:
    """SHA-256 of the decoded normals (camera frame, float64, NaN as one pattern) and the mask."""
    digest = hashlib.sha256()
    normals = np.where(np.isnan(scene.normals), np.nan, scene.normals)
    digest.update(np.ascontiguousarray(normals).tobytes())
    digest.update(np.ascontiguousarray(scene.mask).tobytes())
    return digest.hexdigest()


def plain(value: Any) -> Any:
    """Reduce dataclasses to dictionaries with their type, and arrays to their shape."""
    if isinstance(value, np.ndarray):
        return {"type": "array", "shape": list(value.shape), "dtype": str(value.dtype)}
    if is_dataclass(value) and not isinstance(value, type):
        content = {f.name: plain(getattr(value, f.name)) for f in fields(value) if f.init}
        return {"type": type(value).__name__, **content}
    if isinstance(value, Camera):  # a ray map: its rays are a file of their own
        size = None if value.resolution is None else list(value.resolution)
        return {"type": type(value).__name__, "size": size}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value


def finite(value: Any) -> Any:
    """What strict JSON holds of a value: null in place of a number that it does not have."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [finite(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
