"""One run from a scene to files: shared by integrate and demo."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import typer

from rayrelief.backends.compilation import on_compilation
from rayrelief.cameras.intrinsics import OUTSIDE
from rayrelief.cli.options.mesh import MeshOptions
from rayrelief.cli.options.surface import SurfaceOptions
from rayrelief.cli.runs.places import check_folder, result_files
from rayrelief.cli.runs.report import mesh_summary, plain, reported, to_json
from rayrelief.cli.runs.writing import NO_SURFACE, Finished, write_result
from rayrelief.cli.terminal.console import EXIT_FAILED, NOTE, progress, say, show, tell
from rayrelief.estimate import check_memory, directions_of
from rayrelief.integration import integrate
from rayrelief.io.reports import REPORT_NAME
from rayrelief.methods.base import Method, usual_iterations
from rayrelief.methods.devices import DeviceName, backend_for
from rayrelief.result import Integration
from rayrelief.scene import Scene

# Bytes per pixel inside that it takes to write some formats, beside the mesh itself.
MESH_BYTES = {"obj": 25, "glb": 290, "stl": 690}
WORTH_TELLING = 1.0  # seconds


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
    unit = mesh_options.depth_unit(told=surface.tells_scale)
    if unit and scene.camera.central and not surface.tells_scale:
        say(
            f"warning: nothing tells how large this surface is: its median depth becomes 1 "
            f"{unit}. Say how wide it is (--width), or give a known depth or "
            "length (--depth-prior, --point, --distance, --scale-to)"
        )
    if memory_check:
        pixels, inside = scene.mask.size, int(np.count_nonzero(scene.mask))
        afterwards = files_memory(pixels, inside, method, mesh_formats, mesh_options.solid)
        backend = backend_for(device, method, threads)
        check_memory(pixels, inside, method, backend, afterwards=afterwards, limit=memory_limit)
    began = time.perf_counter()
    known = surface.arguments(scene)
    with (
        reported(out / REPORT_NAME, scene=scene.name, method=plain(method)),
        on_compilation(lambda: None) as compiled,
    ):
        result = surface.scaled(run(scene, method, threads, memory_check, device, **known))
    return write_result(
        scene,
        result,
        written,
        seconds=time.perf_counter() - began,
        compiling=compiled.seconds,
        mesh_options=mesh_options,
        surface=surface,
        fingerprint=fingerprint,
    )


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
    text, status = str(finished.result), finished.result.status
    # Remedy and notes of a failure have been said as its warning.
    tell(text if status.ok else text.replace(str(status), status.cause))
    took = finished.report["seconds"]
    if took["compile"] > WORTH_TELLING:  # not only in the iterations
        part = f"{took['compile']:.1f} s of {took['integrate']:.1f} s in all"
        tell(f"  kernels: compiled for {part}, once on this machine")
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
        tell(f"  mesh: {mesh_summary(finished.report, finished.mesh.left_out)}")


def say_notes(scene: Scene, named: bool = False) -> None:
    """Say what the reader of a scene assumed, with its name where there are several."""
    for note in scene.notes:
        say(as_said(note, f"{scene.name}, " if named else ""))


def as_said(note: str, name: str = "") -> str:
    """A note as it is said: as a warning where nothing says that the image is a part."""
    return f"{'warning: ' if OUTSIDE in note else NOTE}{name}{note}"


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
