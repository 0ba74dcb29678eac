"""rayrelief evaluate: a table over folders with ground truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rayrelief.cli import options
from rayrelief.cli.console import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    plain_errors,
    quiet_libraries,
    say,
)
from rayrelief.errors import RayreliefError


def evaluate(
    paths: Annotated[list[Path], typer.Argument(help="Folders that hold a depth_gt file.")],
    *,
    convention: options.Convention = None,
    camera: options.CameraText = None,
    fov: options.Fov = None,
    which: options.Which = None,
    k_order: options.KOrder = options.KOrderName.AUTO,
    method: options.MethodOption = options.MethodName.RAY_PLANE,
    published: options.Published = False,
    max_iterations: options.MaxIterations = None,
    connectivity: options.Connectivity = None,
    sharpness: options.Sharpness = None,
    jumps: options.Jumps = None,
    facing_away: options.FacingAway = None,
    threads: options.Threads = None,
    as_json: options.Json = False,
) -> None:
    """Integrate folders that have a ground truth, and print the errors as a table."""
    with plain_errors():
        from rayrelief.cli.report import to_json

        recipe = options.build_method(
            method,
            published,
            facing_away=facing_away,
            connectivity=connectivity,
            max_iterations=max_iterations,
            sharpness=sharpness,
            jumps=jumps,
        )
        reading = {
            "convention": None if convention is None else convention.value,
            "camera": options.camera_text(camera, fov, which, k_order),
            "which": which,
            "k_order": k_order.value,
        }
        rows, interrupted = [], False
        for path in paths:
            try:
                rows.append(_evaluate_one(path, recipe, reading, threads))
            except RayreliefError as error:  # the others are worth their while all the same
                say(f"error: {error}" if str(path) in str(error) else f"error: {path}: {error}")
            except KeyboardInterrupt:  # so is what was done before
                say(f"interrupted: {path} and what follows it are left out")
                interrupted = True
                break
        if as_json:
            typer.echo(to_json(rows))
        elif rows:
            typer.echo(_table(rows))
        if interrupted:
            raise typer.Exit(EXIT_INTERRUPTED)
        if len(rows) < len(paths):
            raise typer.Exit(EXIT_FAILED)


def _evaluate_one(
    path: Path, recipe: Any, reading: dict[str, Any], threads: int | None
) -> dict[str, Any]:
    from rayrelief.cli.run import run, scene_errors
    from rayrelief.datasets.folder import read_scene
    from rayrelief.errors import FileError

    with quiet_libraries():
        scene = read_scene(path, **reading)
    if scene.depth is None:
        raise FileError(
            f"{path} has no ground truth",
            expected="a depth_gt.npz, depth_gt.npy or depth_gt.exr in the folder",
            remedy="Use 'rayrelief integrate' for maps without ground truth",
        )
    result = run(scene, recipe, threads)
    errors = scene_errors(scene, result)
    return {
        "scene": scene.name,
        "pixels": int(result.mask.sum()),
        "alignment": errors.alignment if errors else None,
        "made": errors.made if errors else None,
        "re_percent": errors.re if errors and errors.alignment == "scale" else None,
        "era_percent": errors.era if errors and errors.alignment == "scale" else None,
        "angle_degrees": result.mean_angle(),
        "iterations": len(result.history),
        "seconds": sum(i.seconds for i in result.history),
        "status": result.status.outcome.name.lower(),
    }


def _table(rows: list[dict[str, Any]]) -> str:
    """Plain text: it goes to files and pipes as often as to a terminal."""
    head = ("scene", "pixels", "MADE", "RE %", "ERA %", "angle", "iterations", "seconds", "aligned")
    lines = [head]
    lines += [
        (
            row["scene"],
            f"{row['pixels']:,}",
            f"{row['made']:.4f}",
            *(
                "-" if row[key] is None else f"{row[key]:.4f}"
                for key in ("re_percent", "era_percent")
            ),
            "-" if row["angle_degrees"] != row["angle_degrees"] else f"{row['angle_degrees']:.2f}",
            str(row["iterations"]),
            f"{row['seconds']:.2f}",
            f"median {row['alignment']}",
        )
        for row in rows
    ]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i in (0, len(head) - 1) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
