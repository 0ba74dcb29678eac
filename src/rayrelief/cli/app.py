"""The command ``rayrelief`` and what all of its verbs share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import rayrelief
from rayrelief.cli.camera import camera
from rayrelief.cli.demo import demo
from rayrelief.cli.doctor import doctor
from rayrelief.cli.evaluate import evaluate
from rayrelief.cli.integrate import integrate
from rayrelief.cli.options.groups import OptionGroup, Verb, spelled_out
from rayrelief.cli.options.shared import Input, MapOptions
from rayrelief.cli.options.surface import SurfaceOptions
from rayrelief.cli.page import report
from rayrelief.cli.video import video
from rayrelief.cli.view import view

PLAIN: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
}
VERBS_WITH_METHOD: dict[str, Callable[..., None]] = {"integrate": integrate, "evaluate": evaluate}


class Verbs(TyperGroup):
    """The verbs; options of the methods are read off the recipes when a verb is called.

    That loads the methods, and the list of the verbs can do without.
    """

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Verb that is called, with all of its options, and its arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        if name in VERBS_WITH_METHOD:
            command = complete_verb(name)
        return name, command, rest


def complete_verb(name: str) -> Any:
    """Verb with all options of input and method."""
    from rayrelief.cli.options.mesh import MeshOptions
    from rayrelief.cli.options.settings import parameters

    verb = VERBS_WITH_METHOD[name]
    groups: tuple[type[OptionGroup], ...] = (
        (Input, SurfaceOptions, MeshOptions) if verb is integrate else (Input,)
    )
    options = [parameter for group in groups for parameter in group.parameters()]
    more = parameters(several=verb is evaluate)
    single = typer.Typer(**PLAIN)
    single.command(cls=Verb)(spelled_out(verb, [*options, *more]))
    return typer.main.get_command(single)


app = typer.Typer(name="rayrelief", cls=Verbs, no_args_is_help=True, **PLAIN)
app.command(cls=Verb)(spelled_out(integrate, ()))
app.command(cls=Verb)(demo)
app.command(cls=Verb)(spelled_out(evaluate, ()))
app.command(cls=Verb)(camera)
app.command(cls=Verb)(spelled_out(doctor, MapOptions.parameters()))
app.command(cls=Verb)(report)
app.command(cls=Verb)(view)
app.command(cls=Verb)(video)


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
