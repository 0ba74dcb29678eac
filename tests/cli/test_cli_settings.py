"""Options of the methods are those of the recipes, and a recipe in the table is a method."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest

from rayrelief.cameras.calibration import KOrder
from rayrelief.cli.app import complete_verb
from rayrelief.cli.options.mesh import MeshOptions
from rayrelief.cli.options.settings import all_settings, build_method
from rayrelief.cli.options.shared import Input, KOrderName
from rayrelief.cli.options.surface import SurfaceOptions
from rayrelief.methods import BiNI, RayPlane, Smooth, Solution, catalogue
from rayrelief.methods.catalogue import RECIPES

VERBS = ("integrate", "evaluate")


@dataclass(frozen=True)
class Option:
    """What a verb makes of a parameter."""

    default: object
    names: tuple[str, ...]
    help: str
    type: object
    choices: tuple[str, ...]


def options_of(verb):
    """Options of a verb by the names of their parameters."""
    return {
        name: Option(parameter.default, *described(*get_args(parameter.annotation)))
        for name, parameter in inspect.signature(complete_verb(verb).callback).parameters.items()
    }


def described(kind, option):
    (kind, *rest) = get_args(kind) or (kind,)
    assert rest in ([], [type(None)])
    names = (option.default, *(option.param_decls or ()))
    is_choice = isinstance(kind, type) and issubclass(kind, Enum)  # a list of texts is no type
    choices = tuple(word.value for word in kind) if is_choice else ()
    return names, option.help, "choice" if is_choice else kind, choices


def plain_fields(recipe):
    """Name, default and choices of every field that holds a number, a word or a switch."""
    for each in fields(recipe):
        default, hint = getattr(recipe, each.name), get_type_hints(type(recipe))[each.name]
        if isinstance(default, bool | int | float | str | None):
            parts = (hint, *get_args(hint))
            words = [get_args(part) for part in parts if get_origin(part) is Literal]
            yield each.name, default, tuple(str(word) for word in words[0]) if words else ()
        elif is_dataclass(default) and each.name != "solver":
            yield from plain_fields(default)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("method", RECIPES)
def test_every_plain_setting_of_a_recipe_is_an_option(verb, method):
    options, settings = options_of(verb), all_settings()
    found = [*plain_fields(RECIPES[method]())]
    assert len(found) > 5
    for name, default, choices in found:
        option, words = options[name], "--" + name.replace("_", "-")
        switch = f"{words}/--no{words[1:]}" if isinstance(default, bool) else words
        assert option.names == (switch,)
        assert option.default is None, "that of the recipe"
        assert settings[name].defaults[method] == default
        assert option.choices == choices
        assert settings[name].help, "said in the docstring"
        assert option.help.startswith(settings[name].help)


def test_both_verbs_have_the_same_options_of_input_and_method():
    integrate, evaluate = (options_of(verb) for verb in VERBS)
    own = {"out", "depth_format", "mesh_format", "dry_run", "device"}
    own |= {"workers", "scheduler", "quiet", "memory", "sequence"}
    own |= {each.name for group in (MeshOptions, SurfaceOptions) for each in fields(group)}
    assert integrate.keys() - evaluate.keys() == own
    assert not evaluate.keys() - integrate.keys()
    shared = integrate.keys() & evaluate.keys()
    assert shared > {"method", "published", *all_settings(), *(each.name for each in fields(Input))}
    assert integrate["method"].choices == evaluate["method"].choices == tuple(RECIPES)
    differing = {name for name in shared if integrate[name] != evaluate[name]}
    assert differing == {"paths", "method"}, "their help; which may be repeated in one of them"


@pytest.mark.parametrize("method", RECIPES)
def test_a_method_without_options_is_the_recipe_itself(method):
    nothing = dict.fromkeys(all_settings())
    recipe = RECIPES[method]
    assert build_method(method, False, nothing) == recipe()
    if hasattr(recipe, "published"):
        assert build_method(method, True, nothing) == recipe.published()


def test_the_default_of_the_command_is_that_of_the_library():
    assert options_of("integrate")["method"].default == catalogue.DEFAULT
    assert options_of("evaluate")["method"].default == [catalogue.DEFAULT]
    assert catalogue.default_method() == RECIPES[catalogue.DEFAULT]()


def test_choices_of_the_input_are_those_of_the_library():
    assert tuple(KOrderName) == get_args(KOrder)


@pytest.mark.parametrize(
    ("method", "given", "expected"),
    [
        ("smooth", {"tolerance": 0.0}, Smooth(tolerance=None)),
        ("bini", {"tolerance": 0.0, "connectivity": "8"}, BiNI(tolerance=None, connectivity=8)),
        ("ray-plane", {"weight_constant": 0.0}, RayPlane(weight_constant=0.0)),
        ("ray-plane", {"jumps": False}, RayPlane(jumps=False)),
    ],
)
def test_zero_is_none_only_where_the_default_is_a_number(method, given, expected):
    assert build_method(method, False, given) == expected


# A recipe of one's own


@dataclass(frozen=True)
class Weather:
    """Another dataclass in a recipe.

    Attributes
    ----------
    rain : float
        How much it rains.
    """

    rain: float = 0.5


@dataclass(frozen=True)
class Flat:
    """A method that has nothing in common with the others.

    Attributes
    ----------
    height, span
        How large it is.
    mood
        How ``flat`` it is,
        in a word.

    Notes
    -----
    mood
        Not about the field.
    """

    height: int = 3
    span: int | None = None
    mood: Literal["calm", "quiet"] = "calm"
    weather: Weather = field(default_factory=Weather)
    inner: Any = None

    def solve(self, problem, backend, callback=None):
        return Solution(np.zeros(problem.graph.size))


@pytest.fixture
def flat(monkeypatch):
    monkeypatch.setitem(RECIPES, "flat", Flat)


@pytest.mark.usefixtures("flat")
@pytest.mark.parametrize("verb", VERBS)
def test_a_recipe_in_the_table_is_a_method_with_its_options(run, verb):
    shown = " ".join(run(verb, "--help").out.split())
    _, shown = shown.split("Settings of flat:")
    for option, words in {
        "--height": "How large it is. [default: 3]",
        "--span": "How large it is.",
        "--mood": "How flat it is, in a word. [default: calm]",
        "--rain": "How much it rains. [default: 0.5]",
    }.items():
        assert re.search(rf"{option} \S+ {re.escape(words)}", shown)
    assert "--inner" not in shown


@pytest.mark.usefixtures("flat")
def test_a_recipe_in_the_table_runs(run, plane, out, read_report):
    options = ("--method", "flat", "--mood", "quiet", "--rain", 2, "--threads", 1)
    assert run("integrate", plane, "-o", out, *options).code == 0
    method = read_report(out)["method"]
    assert (method["type"], method["mood"], method["weather"]["rain"]) == ("Flat", "quiet", 2.0)
    assert run("integrate", plane, "-o", out, "--dry-run", *options).code == 0
    (row,) = run("evaluate", plane, "--json", *options).json()
    assert row["method"] == "flat"
    refused = run("integrate", plane, "-o", out, *options, "--connectivity", "8")
    assert refused.code == 2
    assert "--connectivity cannot be used with --method flat" in " ".join(refused.err.split())


@pytest.mark.usefixtures("flat")
def test_a_recipe_becomes_the_default_in_one_place(run, plane, out, monkeypatch, read_report):
    monkeypatch.setattr(catalogue, "DEFAULT", "flat")
    assert run("integrate", plane, "-o", out, "--threads", 1).code == 0
    assert read_report(out)["method"]["type"] == "Flat"
    assert catalogue.default_method() == Flat()
