"""The documentation keeps its word: links, code, names, equation numbers and options exist."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import textwrap
import tomllib
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

import rayrelief
from benchmarks.accuracy.__main__ import parser
from rayrelief.cli.app import app

ROOT = Path(__file__).parents[1]
PAGES = sorted((*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")))
VERBS = ("integrate", "demo", "evaluate", "camera", "doctor", "report", "view", "video")

FENCE = re.compile(r"^([ ]*)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
NAME = re.compile(r"\brayrelief((?:\.[A-Za-z_]\w*)+)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*|(?<![\w-])-[a-z]\b")

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def blocks(page: Path, language: str) -> list[str]:
    """Code blocks of a language, without their indentation."""
    text = page.read_text(encoding="utf-8")
    return [textwrap.dedent(code) for _, name, code in FENCE.findall(text) if name == language]


def prose(page: Path) -> str:
    """Return a page without its code blocks."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def inline_code(page: Path) -> list[str]:
    return re.findall(r"`([^`\n]+)`", prose(page))


def anchors(page: Path) -> set[str]:
    """Anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def resolves(dotted: str) -> bool:
    """Whether rayrelief.a.b.c is a public name, a module, or something in a module."""
    first, *rest = dotted.removeprefix("rayrelief.").split(".")
    if first not in dir(rayrelief) and importlib.util.find_spec(f"rayrelief.{first}") is None:
        return False
    value: object = rayrelief
    path = "rayrelief"
    for name in (first, *rest):
        path = f"{path}.{name}"
        if not hasattr(value, name):
            try:
                importlib.import_module(path)
            except ImportError:
                return False
        value = getattr(value, name)
    return True


@cache
def options(verb: str) -> frozenset[str]:
    """Options that the help of a verb names."""
    result = CliRunner().invoke(app, [verb, "--help"])
    assert result.exit_code == 0
    return frozenset(OPTION.findall(result.output))


@cache
def options_of_a_benchmark(module: str) -> frozenset[str]:
    """Options that the source of a benchmark declares."""
    file = Path(str(importlib.util.find_spec(module).origin))  # type: ignore[union-attr]
    files = file.parent.glob("*.py") if file.name == "__init__.py" else [file]
    sources = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return frozenset(re.findall(r'add_argument\(\s*"(--[a-z-]+)"', sources))


def commands(page: Path) -> list[str]:
    """Calls of the command line in code blocks and in the text."""
    lines = [line.split("#")[0] for block in blocks(page, "sh") for line in block.splitlines()]
    return [
        line.strip()
        for line in (*lines, *inline_code(page))
        if re.match(r"\s*rayrelief [a-z]", line)
    ]


@pages
def test_links_resolve(page: Path) -> None:
    broken = []
    for target in LINK.findall(prose(page)):
        if target.startswith(("https://", "http://")):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert broken == []


@pages
def test_python_blocks_parse_and_their_imports_exist(page: Path) -> None:
    missing = []
    for code in blocks(page, "python"):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rayrelief"):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                missing += [name for name in names if not resolves(name)]
    assert missing == []


@pages
def test_names_of_the_package_exist(page: Path) -> None:
    text = "\n".join((*inline_code(page), *blocks(page, "python")))
    dotted = {f"rayrelief{name}" for name in NAME.findall(text)}
    assert [name for name in sorted(dotted) if not resolves(name)] == []


@pages
def test_options_of_commands_exist(page: Path) -> None:
    unknown = []
    for command in commands(page):
        verb = command.split()[1]
        known = options(verb) if verb in VERBS else frozenset[str]()
        unknown += [f"{verb} {option}" for option in OPTION.findall(command) if option not in known]
        unknown += [] if verb in VERBS else [verb]
    assert unknown == []


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *(ROOT / "docs").glob("*.md")], ids=lambda page: page.name
)
def test_options_in_the_text_exist(page: Path) -> None:
    experiments = frozenset(OPTION.findall(parser().format_help()))
    everything = experiments.union(*(options(verb) for verb in VERBS))
    unknown = []
    for code in inline_code(page):
        benchmark = re.match(r"python -m (benchmarks[\w.]*)", code)
        known = options_of_a_benchmark(benchmark[1]) if benchmark else everything
        unknown += [name for name in re.findall(r"--[a-z][a-z-]+", code) if name not in known]
    assert unknown == []


def test_files_and_functions_of_the_equations_exist() -> None:
    text = (ROOT / "docs" / "equations.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "rayrelief"
    found = re.findall(r"`([\w/]+\.py)`: ((?:`\w+`(?:, )?)+)", text)
    assert found
    missing = []
    for file, names in found:
        source = (package / file).read_text(encoding="utf-8")
        defined = {
            node.name
            for node in ast.parse(source).body
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
        }
        missing += [f"{file}: {name}" for name in re.findall(r"\w+", names) if name not in defined]
    assert missing == []


def test_every_equation_number_in_the_code_is_mapped_to_its_file() -> None:
    rows = {}
    for line in (ROOT / "docs" / "equations.md").read_text(encoding="utf-8").splitlines():
        if match := re.match(r"\| (\d+) \|", line):
            rows[int(match[1])] = line
    assert sorted(rows) == list(range(1, 17))
    package = ROOT / "src" / "rayrelief"
    unmapped = [
        f"{path.name}: Eq. {number}"
        for path in sorted(package.rglob("*.py"))
        for number in re.findall(r"# Eq\. (\d+)", path.read_text(encoding="utf-8"))
        if path.relative_to(package).as_posix() not in rows[int(number)]
    ]
    assert unmapped == []


def test_the_way_around_a_second_opencv_names_all_other_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = [re.split("[<>=]", each)[0] for each in project["dependencies"]]
    (command,) = (
        line
        for block in blocks(ROOT / "docs" / "troubleshooting.md", "sh")
        for line in block.splitlines()
        if "numpy" in line
    )
    assert command.split()[2:] == [name for name in names if not name.startswith("opencv")]
