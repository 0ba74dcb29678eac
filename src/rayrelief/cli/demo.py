"""rayrelief demo: the main job on a built-in scene, with its error against the known truth."""

from __future__ import annotations

from pathlib import Path

from rayrelief.cli.options import shared
from rayrelief.cli.terminal.console import plain_errors

HEIGHT, WIDTH = 240, 320


def demo(
    out: shared.Out = Path("demo"),
    threads: shared.Threads = None,
    as_json: shared.Json = False,
) -> None:
    """Integrate a built-in still life; depth, mesh, preview and report land in the folder OUT."""
    with plain_errors():
        from rayrelief.cli.runs.run import run_and_write
        from rayrelief.methods.catalogue import default_method
        from rayrelief.synthetic.gallery import still_life

        run_and_write(
            still_life(HEIGHT, WIDTH),
            default_method(),
            out,
            threads=threads,
            memory_check=True,
            depth_formats=["npy"],
            mesh_formats=["ply"],
            as_json=as_json,
        )
