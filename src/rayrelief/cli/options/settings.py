"""Options of the methods, read off the recipes: name, type, default and help stand there alone."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import StrEnum
from inspect import Parameter
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

from rayrelief.errors import InputError
from rayrelief.methods import catalogue
from rayrelief.methods.base import Method
from rayrelief.methods.catalogue import RECIPES

PLAIN = (bool, int, float, str)
PUBLISHED = "As in the papers of ray-plane and bini: 1200 iterations and no early stop."


@dataclass(frozen=True)
class Setting:
    """A field of recipes that fits on a command line.

    Attributes
    ----------
    name, kind
        Name of the field, and bool, int, float or str.
    choices
        The values of a Literal; none for any other type.
    optional
        Whether it may be None.
    help
        What the docstring of the recipe says about it.
    holder
        Field of the recipe that holds it, such as "preprocessing"; None for the recipe itself.
    defaults
        By the names of the methods that have it.
    """

    name: str
    kind: type
    choices: tuple[Any, ...]
    optional: bool
    help: str
    holder: str | None
    defaults: dict[str, Any]

    @property
    def option(self) -> str:
        """Its name on the command line."""
        return "--" + self.name.replace("_", "-")

    def value(self, given: Any) -> Any:
        """What a value on the command line stands for."""
        if self.choices:
            return {str(choice): choice for choice in self.choices}[given]
        # None cannot be typed: 0 is the way to it from a default that is another number.
        has_number = any(default is not None for default in self.defaults.values())
        measures = self.optional and has_number and self.kind is float
        return None if measures and given == 0 else given

    def parameter(self) -> Parameter:
        """It as a parameter of a verb."""
        kind = _enumeration(self.name, self.choices) if self.choices else self.kind
        switch = f"/--no{self.option[1:]}" if kind is bool else ""
        owners = "every method" if len(self.defaults) == len(RECIPES) else listed(self.defaults)
        option = typer.Option(
            self.option + switch,
            help=f"{self.help} {self._default_in_words()}".rstrip(),
            show_default=False,
            rich_help_panel=f"Settings of {owners}",
        )
        return _parameter(self.name, kind | None, option, None)

    def _default_in_words(self) -> str:
        methods: dict[Any, list[str]] = {}
        for method, default in self.defaults.items():
            if default is not None or self.kind is float:  # else the help says what it is then
                methods.setdefault(default, []).append(method)
        if [*methods] in ([], [None]):
            return ""
        if len(methods) == 1:
            return f"[default: {self._word(*methods)}]"
        each = (f"{self._word(default)} for {listed(methods[default])}" for default in methods)
        return f"[default: {', '.join(each)}]"

    def _word(self, default: Any) -> str:
        if isinstance(default, bool):
            return self.option[2:] if default else f"no{self.option[1:]}"
        return "none" if default is None else str(default)


def listed(names: Iterable[str]) -> str:
    """Names in a sentence: "a, b and c"."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def all_settings() -> dict[str, Setting]:
    """Settings of all methods by name; those that share a name are one."""
    found: dict[str, Setting] = {}
    for method, recipe in RECIPES.items():
        _add_settings(found, method, recipe())
    return found


def _add_settings(
    found: dict[str, Setting], method: str, recipe: Any, holder: str | None = None
) -> None:
    """Add the plain fields of a recipe, and those of the dataclasses that it holds."""
    hints, helps = get_type_hints(type(recipe)), attribute_help(type(recipe))
    for field in fields(recipe):
        hint, default = hints[field.name], getattr(recipe, field.name)
        members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        kind = next((member for member in members if member in PLAIN), None)
        literals = [member for member in members if get_origin(member) is Literal]
        if kind is not None or literals:
            setting = Setting(
                name=field.name,
                kind=kind or str,
                choices=tuple(value for literal in literals for value in get_args(literal)),
                optional=NoneType in members,
                help=helps.get(field.name, ""),
                holder=holder,
                defaults={},
            )
            found.setdefault(field.name, setting).defaults[method] = default
        elif is_dataclass(hint):
            _add_settings(found, method, default, holder=field.name)


def attribute_help(described: type) -> dict[str, str]:
    """Words of a class and its bases about their attributes, in NumPy's style of docstrings."""
    found: dict[str, str] = {}
    for base in reversed(described.__mro__):
        _, _, section = inspect.cleandoc(base.__doc__ or "").partition("Attributes\n----------\n")
        section = re.split(r"\n\n\w+\n-+\n", section)[0]
        for names, words in re.findall(r"^(\w.*)\n((?:(?: .*)?(?:\n|$))+)", section, re.MULTILINE):
            for name in names.split(":")[0].split(","):
                found[name.strip()] = " ".join(words.replace("``", "").split())
    return found


def parameters(*, several: bool) -> list[Parameter]:
    """Options of all methods, for a verb that takes one method or ``several``."""
    names: Any = _enumeration("methods", RECIPES)
    kind = list[names] if several else names  # type: ignore[valid-type]
    default = [names(catalogue.DEFAULT)] if several else names(catalogue.DEFAULT)
    about = "Which method; ray-plane is the paper's" + ("; may be repeated." if several else ".")
    method = typer.Option("--method", help=about, rich_help_panel="Method")
    published = typer.Option("--published", help=PUBLISHED, rich_help_panel="Method")
    return [
        _parameter("method", kind, method, default),
        _parameter("published", bool, published, False),
        *(setting.parameter() for setting in all_settings().values()),
    ]


def _enumeration(name: str, choices: Iterable[Any]) -> Any:
    words = {str(choice): str(choice) for choice in choices}
    return StrEnum(name, words)  # type: ignore[misc]  # its members are known at run time


def _parameter(name: str, kind: Any, option: Any, default: Any) -> Parameter:
    annotation = Annotated[kind, option]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def build_method(name: str, published: bool, given: dict[str, Any]) -> Method:
    """Method from options; those that are None keep the recipe's own value."""
    settings, recipe = all_settings(), RECIPES[name]
    chosen = [settings[key] for key, value in given.items() if value is not None]
    foreign = [setting for setting in chosen if name not in setting.defaults]
    if foreign:
        options = ", ".join(setting.option for setting in foreign)
        owners = [key for key in RECIPES if all(key in each.defaults for each in foreign)]
        remedy = f": add --method {' or '.join(owners)}" if owners else ""
        raise typer.BadParameter(f"{options} cannot be used with --method {name}{remedy}")
    if published and not hasattr(recipe, "published"):
        known = " or ".join(key for key in RECIPES if hasattr(RECIPES[key], "published"))
        raise typer.BadParameter(
            f"--published cannot be used with --method {name}: add --method {known}"
        )
    method: Any = recipe.published() if published else recipe()
    try:
        for holder in dict.fromkeys(setting.holder for setting in chosen):
            held = method if holder is None else getattr(method, holder)
            changes = {s.name: s.value(given[s.name]) for s in chosen if s.holder == holder}
            held = replace(held, **changes)
            method = held if holder is None else replace(method, **{holder: held})
    except InputError as error:
        raise typer.BadParameter(str(error)) from error
    checked: Method = method
    return checked
