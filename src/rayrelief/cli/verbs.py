"""How a function becomes a verb: options in sections, and those that are defined elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Parameter, signature
from typing import Any

from typer.core import TyperCommand


class Verb(TyperCommand):
    """A verb whose help lists its options in sections."""

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
