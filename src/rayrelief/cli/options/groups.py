"""How a function becomes a verb: options in sections, in groups, and those defined elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Self

import typer
from typer.core import TyperCommand

from rayrelief.errors import printable

_GIVEN: ContextVar[dict[str, str]] = ContextVar("given")


class Verb(TyperCommand):
    """A verb whose help lists its options in sections."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Options from the arguments; a null character, which no path can have, is refused here."""
        for argument in args:
            if "\0" in argument:
                raise typer.BadParameter(f"{printable(argument)}: a null character")
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = _in_our_words(error)
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the verb, which may ask which of its options were given."""
        given = {}
        for parameter in self.params:
            source = ctx.get_parameter_source(parameter.name)
            if source is not None and source.name == "COMMANDLINE":
                given[str(parameter.name)] = max(parameter.opts, key=len)
        token = _GIVEN.set(given)
        try:
            return super().invoke(ctx)
        finally:
            _GIVEN.reset(token)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each panel, in the order of their first options."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            usual = f"{parameter.param_type_name}s".title()
            title = getattr(parameter, "rich_help_panel", None) or usual
            record = parameter.get_help_record(ctx)
            if record is not None:
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def options_given() -> dict[str, str]:
    """Options that stand in the command of the running verb, by the names of their parameters."""
    return _GIVEN.get()


def _in_our_words(error: typer.BadParameter) -> str:
    """What is wrong with a value, without the phrases of the library that found it."""
    words = error.message.removeprefix("Value error, ").replace("a valid integer", "a whole number")
    expected = re.fullmatch(r"Input should be (.*?)(, unable to .*)?", words)
    if expected is None:
        return words
    wanted = expected[1].replace("a valid", "a")
    words = f"expected {'a number ' if wanted.startswith(('greater', 'less')) else ''}{wanted}"
    found: list[Any] = getattr(error.__cause__, "errors", list)()
    return f"{printable(str(found[0]['input']))!r}: {words}" if found else words


def section(title: str) -> Callable[..., Any]:
    """Function that makes options of a section of the help, from their words and names."""

    def option(words: str, *names: str, **more: Any) -> Any:
        return typer.Option(*names, help=words, rich_help_panel=title, **more)

    return option


@dataclass(frozen=True, kw_only=True)
class OptionGroup:
    """Options that belong together: fields, annotated as the parameters of a verb would be.

    A group raises BadParameter when it is made of options that do not go together.
    """

    @classmethod
    def parameters(cls) -> list[Parameter]:
        """The options, for ``spelled_out``."""
        return [*signature(cls, eval_str=True).parameters.values()]

    @classmethod
    def taken_from(cls, chosen: dict[str, Any]) -> Self:
        """Take the options of this group out of those of a verb."""
        return cls(**{field.name: chosen.pop(field.name) for field in fields(cls)})


def spelled_out(verb: Callable[..., None], options: Iterable[Parameter]) -> Callable[..., None]:
    """Verb with these options in the place of its ``**chosen``."""
    own = signature(verb, eval_str=True)
    named = [p for p in own.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
    parameters = [*named, *options]

    @wraps(verb)
    def call(**given: Any) -> None:
        verb(**given)

    call.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in parameters}
    return call
