"""rayrelief report: one page of HTML about the results of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rayrelief.cli.terminal.console import plain_errors, quiet_libraries


def report(
    paths: Annotated[list[Path], typer.Argument(help="Folders that integrate has written.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The page to write.")] = Path(
        "report.html"
    ),
) -> None:
    """Write one HTML file that shows results and their surfaces, without any network."""
    with plain_errors():
        from rayrelief.viewer.report_page import write_page

        with quiet_libraries():
            write_page(out, paths)
        size = out.stat().st_size / 1e6
        typer.echo(f"written: {out} ({size:.1f} MB)")
