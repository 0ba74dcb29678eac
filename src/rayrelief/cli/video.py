"""rayrelief video: a film of a result that turns, and of a light that goes around it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rayrelief.cli.terminal.console import counting, plain_errors, quiet_libraries, show


def video(
    path: Annotated[Path, typer.Argument(help="A folder that integrate has written.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write: .mp4 or .gif.")],
    *,
    colour: Annotated[
        str, typer.Option(help="clay, normals, depth, jumps, segments, weights or error.")
    ] = "clay",
    seconds: Annotated[float, typer.Option(help="Length of the film.", min=0.1)] = 8.0,
    rate: Annotated[
        int | None,
        typer.Option(help="Frames per second.", min=1, max=120, show_default="30, 15 in a .gif"),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(
            help="Pixels of either side, an even number.", show_default="720, 480 in a .gif"
        ),
    ] = None,
    turn: Annotated[
        float, typer.Option(help="Degrees to either side; 180: all around.", min=0, max=180)
    ] = 40.0,
) -> None:
    """Write a film of a result: it turns, then the light goes around it."""
    with plain_errors():
        from rayrelief.io.atomic import discard_leftovers
        from rayrelief.viewer.finished import read_finished
        from rayrelief.viewer.video import Film, check_video_suffix, write_video

        check_video_suffix(out)
        film = Film.usual(out, size=size, seconds=seconds, rate=rate, turn=turn, colour=colour)
        with quiet_libraries():
            shown = read_finished(path)
        with counting(f"filming {shown.name}", film.count) as advance:
            write_video(out, shown, film, advance=advance)
        discard_leftovers(out.parent)
        show(f"written: {out}")
