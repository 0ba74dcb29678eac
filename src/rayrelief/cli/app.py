"""The command ``rayrelief`` and what all of its verbs share."""

from __future__ import annotations

from typing import Annotated

import typer

import rayrelief
from rayrelief.cli.camera import camera
from rayrelief.cli.demo import demo
from rayrelief.cli.evaluate import evaluate
from rayrelief.cli.integrate import integrate

app = typer.Typer(
    name="rayrelief",
    help="Depth and a 3D surface from a normal map and any camera.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(integrate)
app.command()(demo)
app.command()(evaluate)
app.command()(camera)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rayrelief {rayrelief.__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Depth and a 3D surface from a normal map and any camera."""
