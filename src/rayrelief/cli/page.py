"""rayrelief report: one page of HTML about the results of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rayrelief.cli.terminal.console import plain_errors, quiet_libraries, show


def report(
    paths: Annotated[list[Path], typer.Argument(help="Folders that integrate has written.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The page to write, .html.")] = Path(
        "report.html"
    ),
) -> None:
    """Write one HTML file that shows results and their surfaces, without any network."""
    with plain_errors():
        from rayrelief.cli.runs.inputs import check_not_replaced
        from rayrelief.io.atomic import discard_leftovers
        from rayrelief.io.sources import check_suffix
        from rayrelief.viewer.report_page import READ, write_page

        check_suffix(out, (".html", ".htm"), "a page", "Give such a name with -o")
        check_not_replaced([folder / name for folder in paths for name in READ], [out])
        with quiet_libraries():
            write_page(out, paths)
            discard_leftovers(out.parent)
        size = out.stat().st_size / 1e6
        show(f"written: {out} ({size:.1f} MB)")
