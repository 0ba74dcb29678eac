"""rayrelief view: results in the browser, and new ones integrated there."""

from __future__ import annotations

import time
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rayrelief.cli.terminal import signals
from rayrelief.cli.terminal.console import plain_errors, quiet_libraries, say, show

if TYPE_CHECKING:
    from rayrelief.doctor.focal import FocalLength
    from rayrelief.result import Integration
    from rayrelief.scene import Scene

MEGABYTE = 1_000_000


def view(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[PATH]...", help="Folders that integrate has written."),
    ] = None,
    *,
    photo: Annotated[
        Path | None, typer.Option(help="A photo of the same view, to colour the surface with.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen at; others than this machine: 0.0.0.0.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port, or the next one that is free.", min=1, max=65535)
    ] = 8080,
    max_upload: Annotated[
        int, typer.Option(help="Largest file to be uploaded, in MB.", min=1)
    ] = 200,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Do not open a browser, only tell the address.")
    ] = False,
) -> None:
    """Look at results in the browser, side by side, or integrate normal maps there."""
    with plain_errors():
        from rayrelief.io.images import read_picture
        from rayrelief.mesh.texture import check_picture
        from rayrelief.viewer.finished import read_finished, told_apart
        from rayrelief.viewer.page.server import serve

        with quiet_libraries():
            results = [read_finished(path) for path in paths or ()]
            picture = None if photo is None else read_picture(photo)
        names = told_apart([each.folder for each in results])
        results = [replace(each, name=name) for each, name in zip(results, names, strict=True)]
        if picture is not None:
            for each in results:
                check_picture(picture, each.depth.shape)
        if host not in ("127.0.0.1", "localhost", "::1"):
            say(f"warning: whoever can reach {host} can see the results and upload files")

        def greet(address: str) -> None:
            show(f"{address}  (Ctrl-C ends it)")
            if not no_open:
                webbrowser.open(address)

        with serve(
            results,
            host=host,
            port=port,
            largest_upload=max_upload * MEGABYTE,
            examine=examine,
            write=write,
            photo=picture,
            greet=greet,
        ):
            try:
                while True:
                    time.sleep(1)
            except KeyboardInterrupt:
                say("note: the page is closed, and what was uploaded is deleted")
                raise typer.Exit(signals.exit_code()) from None


def examine(
    path: Path, camera: str | Path | None, mask: Path | None
) -> tuple[str, FocalLength | None]:
    """What the doctor says of an uploaded map, and the focal length that suits it."""
    from rayrelief.cli.doctor import as_text
    from rayrelief.datasets.check_up import check_up

    with quiet_libraries():
        found = check_up(path, camera=camera, mask=mask)
    return as_text(found), found.focal


def write(folder: Path, scene: Scene, result: Integration, seconds: float) -> None:
    """Write the files that integrate writes without options."""
    from rayrelief.cli.options.mesh import MeshOptions
    from rayrelief.cli.options.surface import SurfaceOptions
    from rayrelief.cli.runs.places import result_files
    from rayrelief.cli.runs.writing import write_result

    files = result_files(folder, scene.camera, ["npy"], ["ply"])
    write_result(
        scene,
        result,
        files,
        seconds=seconds,
        mesh_options=MeshOptions(),
        surface=SurfaceOptions(),
    )
