"""The files of a run: those that can be written, and the report last."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rayrelief.cli.options.mesh import MeshOptions
from rayrelief.cli.options.surface import SurfaceOptions
from rayrelief.cli.runs.report import (
    FAILURES,
    build_report,
    describe_mesh,
    earlier_files,
    failed_status,
    left_in_words,
    plain,
    reported,
    to_json,
)
from rayrelief.cli.terminal.console import beyond_range, in_parts, say
from rayrelief.cli.terminal.signals import postponed
from rayrelief.conventions import FloatArray
from rayrelief.errors import FileError, InputError, Outcome, RayreliefError
from rayrelief.evaluation.metrics import DepthErrors, depth_errors
from rayrelief.io.atomic import together, write_whole
from rayrelief.io.reports import REPORT_NAME
from rayrelief.mesh import Mesh
from rayrelief.result import Integration
from rayrelief.scene import Scene

# The files are written all the same: they show what there was to see.
NO_SURFACE = (Outcome.NO_EQUATIONS, Outcome.NOT_FINITE, Outcome.IMPLAUSIBLE)


@dataclass(frozen=True)
class Finished:
    """What a run has written, and what there is to tell about it."""

    result: Integration
    report: dict[str, Any]
    errors: DepthErrors | None
    mesh: Mesh | None
    written: list[Path]


def write_result(
    scene: Scene,
    result: Integration,
    files: list[Path],
    *,
    seconds: float,
    mesh_options: MeshOptions,
    surface: SurfaceOptions,
    compiling: float = 0.0,
    fingerprint: str | None = None,
) -> Finished:
    """Write the files of a result that took so many seconds, some of them for compiling kernels.

    They lie in one folder.

    A file that cannot be written is left out, and raises once the others and the report are there.
    """
    out, failures = files[0].parent, list[RayreliefError]()
    began = time.perf_counter()
    # Files of two runs must not lie beside each other.
    with (
        reported(out / REPORT_NAME, scene=scene.name, method=plain(result.method)),
        beyond_range(result.status.outcome in NO_SURFACE),
        together() as batch,
    ):
        errors = _errors_or_warning(scene, result)
        truth = scene.depth if errors and scene.depth_kind == result.depth_kind else None
        written, mesh = _write_files(result, truth, files, mesh_options, failures)
        with _left_out(surface.height_file, failures):
            written += surface.write(result)
        writing = time.perf_counter() - began
        took = {"integrate": seconds, "compile": compiling, "write": writing}
        left = _say_what_is_left(out, written)
        report = build_report(scene, result, took, errors, [path.name for path in written])
        report["left"] = left
        if mesh is None:
            report["mesh"] = None
        else:
            told: dict[str, Any] = {"options": mesh_options.told()}
            if surface.tells_scale:
                told["rescaled"] = mesh_options.rescaled(result, mesh)
            report["mesh"] = describe_mesh(mesh, quads=mesh_options.quads) | told
        report["prior"] = None if result.prior is None else result.prior.numbers()
        unit = mesh_options.depth_unit(told=surface.tells_scale)
        report |= {"unit": unit, "surface": surface.lines(result)}
        for error in failures[:1]:
            report["status"] = failed_status(error)
        # Without it the run is done again.
        report |= {} if fingerprint is None or failures else {"fingerprint": fingerprint}
        write_whole(out / REPORT_NAME, to_json(report) + "\n")
        with postponed():
            batch.commit(out)
    for error in failures[:1]:
        raise error
    return Finished(result, report, errors, mesh, written)


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
    result: Integration,
    truth: FloatArray | None,
    files: list[Path],
    mesh_options: MeshOptions,
    failures: list[RayreliefError],
) -> tuple[list[Path], Mesh | None]:
    """Write all files of a result but the report, which tells how long this took.

    Returns the files that there are, and their mesh.
    """
    from rayrelief.cameras.calibration import write_camera
    from rayrelief.io.depth import write_depth
    from rayrelief.io.meshes import write_mesh
    from rayrelief.viewer.layers import Layers
    from rayrelief.viewer.preview import write_preview

    written, mesh = [], None
    is_surface = result.status.outcome not in NO_SURFACE  # else the status has told it
    for path in files:
        is_asked = is_surface and path.stem == "mesh" and mesh_options.asked(path.suffix)
        with _left_out(path, failures, is_asked=is_asked):
            if path.stem == "depth":
                write_depth(path, result.depth, result.depth_kind)
            elif path.stem == "mesh":
                mesh = mesh_options.mesh_of(result, truth) if mesh is None else mesh
                write_mesh(path, mesh, quads=mesh_options.quads)
            elif path.stem == "preview":
                write_preview(path, result, truth=truth)
            elif path.stem == "layers":
                Layers.of(result, truth).write(path)
            elif path.name != REPORT_NAME:
                write_camera(path, result.camera)
            written.append(path)
    return written, mesh


@contextmanager
def _left_out(
    path: Path | None, failures: list[RayreliefError], *, is_asked: bool = False
) -> Iterator[None]:
    """Go on without a file that cannot be written: it must cost neither others nor the report.

    What a surface has nothing for is a failure where it was asked for.
    """
    try:
        yield
    except (InputError, *FAILURES) as error:
        told = in_parts(error)
        if isinstance(error, InputError) and not is_asked:
            say(f"warning: {path} is not written: {error}")
            return
        expected = told.expected if isinstance(error, InputError) else "room for it"
        found = f"{path} is not written: {told.found}"
        failures.append(FileError(found, expected=expected, remedy=told.remedy))


def _say_what_is_left(out: Path, written: list[Path]) -> list[str]:
    """Name what the reports of earlier runs list and this one did not write.

    A camera or a depth of the earlier surface would pass for that of the new one.
    """
    left = [name for name in earlier_files(out / REPORT_NAME) if out / name not in written]
    if left:
        say(f"warning: {out}: {left_in_words(left)}")
    return left
