"""One run from a scene to files: shared by integrate and demo."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import typer

from rayrelief.backends.cpu import CPU
from rayrelief.cameras.base import Camera
from rayrelief.cli.console import EXIT_FAILED, progress, say
from rayrelief.cli.report import build_report, earlier_files, to_json
from rayrelief.cli.surface_options import SurfaceOptions
from rayrelief.conventions import FloatArray
from rayrelief.errors import FileError, InputError, Outcome
from rayrelief.estimate import check_memory, directions_of
from rayrelief.evaluation.metrics import DepthErrors, depth_errors
from rayrelief.integration import integrate
from rayrelief.io.height import check_height_suffix
from rayrelief.methods.base import Method
from rayrelief.result import Integration
from rayrelief.scene import Scene

# The files are written all the same: they show what there was to see.
NO_SURFACE = (Outcome.NO_EQUATIONS, Outcome.NOT_FINITE)
REPORT = "report.json"


def run_and_write(
    scene: Scene,
    method: Method,
    out: Path,
    *,
    threads: int | None,
    memory_check: bool,
    depth_formats: list[str],
    mesh_formats: list[str],
    as_json: bool,
    surface: SurfaceOptions | None = None,
) -> None:
    """Integrate a scene, write its files into a folder, and tell how it went."""
    check_folder(out)
    say_notes(scene)
    surface = surface or SurfaceOptions()
    if surface.height_file is not None:
        check_height_suffix(surface.height_file)
    if memory_check:
        pixels, inside = scene.mask.size, int(np.count_nonzero(scene.mask))
        afterwards = files_memory(pixels, inside, method)
        check_memory(pixels, inside, method, CPU(threads), afterwards=afterwards)
    seconds: dict[str, float] = {}
    began = time.perf_counter()
    known = surface.arguments(scene)
    result = surface.scaled(run(scene, method, threads, memory_check, **known))
    seconds["integrate"] = time.perf_counter() - began
    errors = _errors_or_warning(scene, result)
    truth = scene.depth if errors and scene.depth_kind == result.depth_kind else None
    written = result_files(out, scene.camera, depth_formats, mesh_formats)
    began = time.perf_counter()
    _write_files(result, truth, written)
    written += surface.write(result)
    seconds["write"] = time.perf_counter() - began
    _say_what_is_left(out, written)
    report = build_report(scene, result, seconds, errors, [path.name for path in written])
    report |= {"unit": surface.unit, "surface": surface.lines(result)}
    report["prior"] = None if result.prior is None else result.prior.numbers()
    _write_text(out / REPORT, to_json(report))
    if as_json:
        typer.echo(to_json(report | {"files": [str(p) for p in written]}))
    else:
        _print_summary(result, report, errors, written)
    if result.status.outcome in NO_SURFACE:
        raise typer.Exit(EXIT_FAILED)


def files_memory(pixels: int, inside: int, method: Method) -> int:
    """Bytes at the peak of mesh, preview, angle and files, measured as those of ``estimate``."""
    return 140_000_000 + 128 * pixels + (28 + 46 * directions_of(method)) * inside


def _print_summary(
    result: Integration, report: dict[str, Any], errors: DepthErrors | None, written: list[Path]
) -> None:
    typer.echo(str(result))
    angle = report["mean_angle_degrees"]
    if math.isfinite(angle):  # a surface without a face has none
        typer.echo(f"  angle to the input: {angle:.2f} degrees (mean)")
    if errors is not None:
        typer.echo(f"  against the ground truth: {errors}")
    for line in report["surface"]:
        typer.echo(f"  {line}")
    typer.echo("  written: " + ", ".join(str(p) for p in written))


def say_notes(scene: Scene, named: bool = False) -> None:
    """Say what the reader of a scene assumed, with its name where there are several."""
    for note in scene.notes:
        say(f"note: {scene.name}, {note}" if named else f"note: {note}")


def run(
    scene: Scene, method: Method, threads: int | None, memory_check: bool, **known: Any
) -> Integration:
    """Integrate a scene under a progress bar, with what is known of its surface."""
    limit = getattr(method, "max_iterations", None)
    with progress(f"integrating {scene.name}", limit) as advance:
        return integrate(
            scene.normals,
            scene.camera,
            mask=scene.mask,
            method=method,
            backend=CPU(threads),
            callback=advance,
            memory_check=memory_check,
            **known,
        )


def scene_errors(scene: Scene, result: Integration) -> DepthErrors | None:
    """Errors against the ground truth of a scene, where it has one of the same kind."""
    if scene.depth is None:
        return None
    estimate = result.depth
    if scene.depth_kind != result.depth_kind:
        estimate = result.distance() if scene.depth_kind == "distance" else result.points()[..., 2]
    return depth_errors(estimate, scene.depth, "scale" if result.camera.central else "shift")


def _errors_or_warning(scene: Scene, result: Integration) -> DepthErrors | None:
    """Errors where they can be had: a ground truth that is no use must not cost the result."""
    try:
        return scene_errors(scene, result)
    except InputError as error:
        say(f"warning: not compared with the ground truth: {error}")
        return None


def check_folder(out: Path) -> None:
    """Raise FileError before a long run rather than after it, if its results have no place."""
    existing = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    found = "may not be written to" if existing.is_dir() else "is a file"
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise FileError(
            f"{existing} {found}", expected="a folder for the results", remedy="Choose another -o"
        )


def result_files(
    out: Path, camera: Camera, depth_formats: list[str], mesh_formats: list[str]
) -> list[Path]:
    """Paths of all that a run writes, in the order of writing."""
    from rayrelief.cameras.ray_map import RayMap

    depths = (f"depth.{suffix}" for suffix in depth_formats)
    meshes = (f"mesh.{suffix}" for suffix in mesh_formats)
    rays = "rays.npy" if isinstance(camera, RayMap) else "camera.json"
    return [out / name for name in (*depths, *meshes, "preview.png", rays, REPORT)]


def _write_files(result: Integration, truth: FloatArray | None, files: list[Path]) -> None:
    """Write all files of a result but the report, which tells how long this took."""
    from rayrelief.cameras.calibration import write_camera
    from rayrelief.io.depth import write_depth
    from rayrelief.io.meshes import write_mesh
    from rayrelief.viewer.preview import write_preview

    mesh = None
    for path in files:
        if path.stem == "depth":
            write_depth(path, result.depth, result.depth_kind)
        elif path.stem == "mesh":
            mesh = result.mesh() if mesh is None else mesh
            write_mesh(path, mesh)
        elif path.stem == "preview":
            write_preview(path, result, truth=truth)
        elif path.name != REPORT:
            write_camera(path, result.camera)


def _say_what_is_left(out: Path, written: list[Path]) -> None:
    """Name what the report of an earlier run lists and this one did not write.

    A camera or a depth of the earlier surface would pass for that of the new one.
    """
    names = [name for name in earlier_files(out / REPORT) if (out / name).is_file()]
    left = [name for name in names if out / name not in written]
    if left:
        say("note: left from an earlier run, not of this one: " + ", ".join(left))


def _write_text(path: Path, text: str) -> None:
    from rayrelief.io.atomic import atomic_write

    with atomic_write(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def formats(text: str, known: tuple[str, ...], option: str) -> list[str]:
    """Suffixes out of a comma-separated option; "none" for none."""
    if text == "none":
        return []
    chosen = [part.strip().lower().lstrip(".") for part in text.split(",") if part.strip()]
    unknown: list[Any] = [part for part in chosen if part not in known]
    if unknown or not chosen:
        raise typer.BadParameter(
            f"{option} {text!r}: expected some of {', '.join(known)}, separated by commas, or none"
        )
    return list(dict.fromkeys(chosen))
