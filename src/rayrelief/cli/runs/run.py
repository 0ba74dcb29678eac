"""One run from a scene to files: shared by integrate and demo."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer

from rayrelief.cli.options.mesh import MeshOptions
from rayrelief.cli.options.surface import SurfaceOptions
from rayrelief.cli.runs.places import REPORT, check_folder, result_files
from rayrelief.cli.runs.report import (
    build_report,
    describe_mesh,
    earlier_files,
    mesh_summary,
    to_json,
)
from rayrelief.cli.terminal.console import EXIT_FAILED, beyond_range, progress, say, show, tell
from rayrelief.cli.terminal.signals import postponed
from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError, Outcome
from rayrelief.estimate import check_memory, directions_of
from rayrelief.evaluation.metrics import DepthErrors, depth_errors
from rayrelief.integration import integrate
from rayrelief.io.atomic import together, write_whole
from rayrelief.mesh import Mesh
from rayrelief.methods.base import Method, usual_iterations
from rayrelief.methods.devices import DeviceName, backend_for
from rayrelief.result import Integration
from rayrelief.scene import Scene

# The files are written all the same: they show what there was to see.
NO_SURFACE = (Outcome.NO_EQUATIONS, Outcome.NOT_FINITE, Outcome.IMPLAUSIBLE)
# Bytes per pixel inside that it takes to write some formats, beside the mesh itself.
MESH_BYTES = {"obj": 25, "glb": 290, "stl": 690}


@dataclass(frozen=True)
class Finished:
    """What a run has written, and what there is to tell about it."""

    result: Integration
    report: dict[str, Any]
    errors: DepthErrors | None
    mesh: Mesh | None
    written: list[Path]


def run_and_write(scene: Scene, method: Method, out: Path, *, as_json: bool, **how: Any) -> None:
    """Integrate a scene, write its files as ``integrate_into`` does, and tell how it went."""
    finished = integrate_into(out, scene, method, **how)
    if as_json:
        show(to_json(finished.report | {"files": [str(p) for p in finished.written]}))
    else:
        _tell_summary(finished)
        tell("  written: " + ", ".join(str(p) for p in finished.written))
    if finished.result.status.outcome in NO_SURFACE:
        raise typer.Exit(EXIT_FAILED)


def integrate_into(
    out: Path,
    scene: Scene,
    method: Method,
    *,
    threads: int | None,
    memory_check: bool,
    depth_formats: list[str],
    mesh_formats: list[str],
    mesh_options: MeshOptions | None = None,
    surface: SurfaceOptions | None = None,
    device: DeviceName = "cpu",
    memory_limit: int | None = None,
    fingerprint: str | None = None,
) -> Finished:
    """Integrate a scene and write its files into a folder.

    The fingerprint, by which the same run is known again, goes into the report.
    """
    written = result_files(out, scene.camera, depth_formats, mesh_formats)
    check_folder(out, written)
    say_notes(scene)
    surface, mesh_options = surface or SurfaceOptions(), mesh_options or MeshOptions()
    mesh_options.check(scene)
    surface.check()
    if memory_check:
        pixels, inside = scene.mask.size, int(np.count_nonzero(scene.mask))
        afterwards = files_memory(pixels, inside, method, mesh_formats, mesh_options.solid)
        backend = backend_for(device, method, threads)
        check_memory(pixels, inside, method, backend, afterwards=afterwards, limit=memory_limit)
    began = time.perf_counter()
    known = surface.arguments(scene)
    result = surface.scaled(run(scene, method, threads, memory_check, device, **known))
    return write_result(
        scene,
        result,
        written,
        seconds=time.perf_counter() - began,
        mesh_options=mesh_options,
        surface=surface,
        fingerprint=fingerprint,
    )


def write_result(
    scene: Scene,
    result: Integration,
    files: list[Path],
    *,
    seconds: float,
    mesh_options: MeshOptions,
    surface: SurfaceOptions,
    fingerprint: str | None = None,
) -> Finished:
    """Write the files of a result that took so many seconds; they lie in one folder."""
    out = files[0].parent
    errors = _errors_or_warning(scene, result)
    truth = scene.depth if errors and scene.depth_kind == result.depth_kind else None
    began = time.perf_counter()
    # Files of two runs must not lie beside each other.
    with beyond_range(result.status.outcome in NO_SURFACE), together() as batch:
        written, mesh = _write_files(result, truth, files, mesh_options)
        written += surface.write(result)
        took = {"integrate": seconds, "write": time.perf_counter() - began}
        _say_what_is_left(out, written)
        report = build_report(scene, result, took, errors, [path.name for path in written])
        report["mesh"] = None if mesh is None else describe_mesh(mesh)
        report["prior"] = None if result.prior is None else result.prior.numbers()
        report |= {"unit": mesh_options.unit, "surface": surface.lines(result)}
        report |= {} if fingerprint is None else {"fingerprint": fingerprint}
        write_whole(out / REPORT, to_json(report) + "\n")
        with postponed():
            batch.commit(out)
    return Finished(result, report, errors, mesh, written)


def files_memory(
    pixels: int,
    inside: int,
    method: Method,
    mesh_formats: Iterable[str] = (),
    solid: bool = False,
) -> int:
    """Bytes at the peak of mesh, preview, angle and files, measured as those of ``estimate``."""
    writing = max((MESH_BYTES.get(form, 0) for form in mesh_formats), default=0)
    more = writing * 3 // 2 + 200 if solid else writing  # a body has twice the faces
    return 140_000_000 + 128 * pixels + (28 + 46 * directions_of(method) + more) * inside


def _tell_summary(finished: Finished) -> None:
    tell(str(finished.result))
    angle = finished.report["mean_angle_degrees"]
    if math.isfinite(angle):  # a surface without a face has none
        tell(f"  angle to the input: {angle:.2f} degrees (mean)")
    if finished.errors is not None:
        tell(f"  against the ground truth: {finished.errors}")
    if finished.report["unit"] is not None:
        tell(f"  unit: {finished.report['unit']}")
    for line in finished.report["surface"]:
        tell(f"  {line}")
    if finished.mesh is not None:
        tell(f"  mesh: {mesh_summary(finished.mesh)}")


def say_notes(scene: Scene, named: bool = False) -> None:
    """Say what the reader of a scene assumed, with its name where there are several."""
    for note in scene.notes:
        say(f"note: {scene.name}, {note}" if named else f"note: {note}")


def run(
    scene: Scene,
    method: Method,
    threads: int | None,
    memory_check: bool,
    device: DeviceName = "cpu",
    **known: Any,
) -> Integration:
    """Integrate a scene under a progress bar, with what is known of its surface."""
    limit = usual_iterations(method)
    with progress(f"integrating {scene.name}", limit) as advance:
        return integrate(
            scene.normals,
            scene.camera,
            mask=scene.mask,
            confidence=scene.confidence,
            method=method,
            backend=backend_for(device, method, threads, repeats="periodic" in known),
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


def _write_files(
    result: Integration, truth: FloatArray | None, files: list[Path], mesh_options: MeshOptions
) -> tuple[list[Path], Mesh | None]:
    """Write all files of a result but the report, which tells how long this took.

    Returns the files that there are, and their mesh: a surface that is none must not cost its
    report.
    """
    from rayrelief.cameras.calibration import write_camera
    from rayrelief.io.depth import write_depth
    from rayrelief.io.meshes import write_mesh
    from rayrelief.viewer.layers import Layers
    from rayrelief.viewer.preview import write_preview

    written, mesh = [], None
    for path in files:
        try:
            if path.stem == "depth":
                write_depth(path, result.depth, result.depth_kind)
            elif path.stem == "mesh":
                mesh = mesh_options.mesh_of(result, truth) if mesh is None else mesh
                write_mesh(path, mesh, quads=mesh_options.quads)
            elif path.stem == "preview":
                write_preview(path, result, truth=truth)
            elif path.stem == "layers":
                Layers.of(result, truth).write(path)
            elif path.name != REPORT:
                write_camera(path, result.camera)
            written.append(path)
        except InputError as error:
            say(f"warning: {path} is not written: {error}")
    return written, mesh


def _say_what_is_left(out: Path, written: list[Path]) -> None:
    """Name what the report of an earlier run lists and this one did not write.

    A camera or a depth of the earlier surface would pass for that of the new one.
    """
    names = [name for name in earlier_files(out / REPORT) if (out / name).is_file()]
    left = [name for name in names if out / name not in written]
    if left:
        say("note: left from an earlier run, not of this one: " + ", ".join(left))
