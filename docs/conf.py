"""The documentation site: ``make docs`` builds it into docs/_build, without any network.

The pages are the Markdown files of this folder, which read as well on their own; the reference
comes from the docstrings of the public names.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

import rayrelief

project = "rayrelief"
release = version = rayrelief.__version__
copyright = "the authors of rayrelief, Apache-2.0"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
nitpicky = True
nitpick_ignore_regex = [("py:(?!obj).*", ".*")]  # types in signatures, many of other libraries

html_theme = "furo"
html_title = "rayrelief"
html_math_renderer = "mathml"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4

autosummary_ignore_module_all = False
autosummary_imported_members = True
autosummary_context = {"top": set(rayrelief.__all__)}
autodoc_typehints = "none"  # the docstrings say it in words
autodoc_member_order = "bysource"
napoleon_use_ivar = True

CODE = re.compile(r"`([\w/]+)\.py`: ((?:`\w+`(?:, )?)+)")
FOLDER = Path(__file__).parent


def namespaces() -> list[str]:
    """Modules of public names, as the page of the reference lists them."""
    return re.findall(r"^   (rayrelief\S*)$", (FOLDER / "api.md").read_text("utf-8"), re.MULTILINE)


def public_places() -> dict[str, str]:
    """Where public names are documented, by where they are defined."""
    places: dict[str, str] = {}
    for namespace in namespaces():
        module = importlib.import_module(namespace)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isroutine(value):
                places.setdefault(f"{value.__module__}.{name}", f"{namespace}.{name}")
    return places


def functions_of_equations() -> list[str]:
    """Full names of what the page of the equations names."""
    text = (FOLDER / "equations.md").read_text("utf-8")
    return sorted(
        f"rayrelief.{file.replace('/', '.')}.{name}"
        for file, names in set(CODE.findall(text))
        for name in re.findall(r"\w+", names)
    )


def add_links(app: Any, page: str, source: list[str]) -> None:
    """Link functions that stand after their file, as in `jumps.py`: `jump_sizes`."""
    places = public_places()

    def link(match: re.Match[str]) -> str:
        module = "rayrelief." + match[1].replace("/", ".")
        names = re.sub(
            r"`(\w+)`",
            lambda name: (
                f"{{py:obj}}`{name[1]} "
                f"<{places.get(f'{module}.{name[1]}', f'{module}.{name[1]}')}>`"
            ),
            match[2],
        )
        return f"`{match[1]}.py`: {names}"

    if page == "equations":
        source[0] = CODE.sub(link, source[0])
    if page == "api":
        source[0] += inner_functions(places)


def inner_functions(places: dict[str, str]) -> str:
    """Documentation of the functions of the equations that are not public."""
    lines = []
    for full in dict.fromkeys(functions_of_equations()):
        module, _, name = full.rpartition(".")
        value = getattr(importlib.import_module(module), name)
        if full not in places:
            lines.append(f".. auto{'class' if inspect.isclass(value) else 'function'}:: {full}")
    return "\n## Behind the equations\n\n```{eval-rst}\n" + "\n".join(lines) + "\n```\n"


def escape_bars(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Keep the bars of absolute values in docstrings: they would be substitutions."""
    lines[:] = [re.sub(r"(``.*?``)|\|", lambda match: match[1] or r"\|", line) for line in lines]


def write_formula(visitor: Any, node: Any, display: str) -> None:
    """Write a formula as MathML, which browsers draw without a script."""
    visitor.body.append(convert(node.astext(), display=display))
    raise SkipNode


def setup(app: Any) -> None:
    """Add links and formulas."""
    app.connect("source-read", add_links)
    app.connect("autodoc-process-docstring", escape_bars)
    app.add_html_math_renderer(
        "mathml",
        (lambda visitor, node: write_formula(visitor, node, "inline"), None),
        (lambda visitor, node: write_formula(visitor, node, "block"), None),
    )
