"""rayrelief evaluate: a table over folders with ground truth, for one method or several."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rayrelief.cli.options import shared
from rayrelief.cli.terminal.console import EXIT_FAILED, plain_errors, say, show
from rayrelief.cli.terminal.signals import Interruptible, exit_code
from rayrelief.errors import FileError, RayreliefError

if TYPE_CHECKING:
    from rayrelief.methods.base import Method
    from rayrelief.scene import Scene


def evaluate(
    paths: Annotated[list[Path], typer.Argument(help="Folders that hold a depth_gt file.")],
    *,
    no_memory_check: shared.NoMemoryCheck = False,
    threads: shared.Threads = None,
    as_json: shared.Json = False,
    **chosen: Any,
) -> None:
    """Integrate folders that have a ground truth, and print the errors as a table."""
    with plain_errors():
        from rayrelief.cli.options.settings import build_method
        from rayrelief.cli.runs.error_table import error_table
        from rayrelief.cli.runs.report import to_json
        from rayrelief.cli.runs.run import say_notes

        source = shared.Input.taken_from(chosen)
        names, published = dict.fromkeys(chosen.pop("method")), chosen.pop("published")
        methods = {str(name): build_method(name, published, chosen) for name in names}
        rows: list[dict[str, Any]] = []
        interrupted = False
        for path in paths:
            try:
                with Interruptible():
                    scene = _scene_with_truth(source, path)
                    say_notes(scene, named=len(paths) > 1)
                    _add_rows(rows, scene, methods, threads, not no_memory_check)
            except RayreliefError as error:  # the others are worth their while all the same
                say(f"error: {error}" if str(path) in str(error) else f"error: {path}: {error}")
            except KeyboardInterrupt:
                say(f"interrupted: {path} and what follows it are left out or incomplete")
                interrupted = True
                break
        if as_json:
            show(to_json(rows))
        elif rows:
            show(error_table(rows))
        if interrupted:
            raise typer.Exit(exit_code())
        if len(rows) < len(paths) * len(methods):
            raise typer.Exit(EXIT_FAILED)


def _scene_with_truth(source: shared.Input, path: Path) -> Scene:
    scene = source.scene(path)
    if scene.depth is None:
        raise FileError(
            f"{path} has no ground truth",
            expected="a depth_gt.npz, depth_gt.npy or depth_gt.exr in the folder",
            remedy="Use 'rayrelief integrate' for maps without ground truth",
        )
    return scene


def _add_rows(
    rows: list[dict[str, Any]],
    scene: Scene,
    methods: dict[str, Method],
    threads: int | None,
    memory_check: bool,
) -> None:
    """Add a row for each method that can be used; an interruption leaves those before it."""
    for name, method in methods.items():
        try:
            row = _evaluate_one(scene, method, threads, memory_check)
            rows.append({"scene": scene.name, "method": name, **row})
        except RayreliefError as error:
            say(f"error: {scene.name} with {name}: {error}")


def _evaluate_one(
    scene: Scene, method: Method, threads: int | None, memory_check: bool
) -> dict[str, Any]:
    from rayrelief.cli.runs.run import run
    from rayrelief.cli.runs.writing import scene_errors

    result = run(scene, method, threads, memory_check)
    errors: Any = scene_errors(scene, result)  # there are some: the scene has a truth
    return {
        "pixels": int(result.mask.sum()),
        "alignment": errors.alignment,
        "made": errors.made,
        "re_percent": errors.re,
        "era_percent": errors.era,
        "angle_degrees": result.mean_angle(),
        "iterations": len(result.history),
        "seconds": sum(i.seconds for i in result.history),
        "status": result.status.outcome.name.lower(),
    }
