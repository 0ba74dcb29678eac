"""JSON, XML and YAML of foreign files, within limits: a few bytes can stand for any amount of work.

The limits are far beyond the calibration of any camera; what they leave is read within seconds.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rayrelief.errors import FileError
from rayrelief.io import sources
from rayrelief.io.sources import check_parts

LARGEST_YAML = 1_000_000  # characters: its parser is slow
MOST_NODES = 100_000  # of YAML, with every alias as often as it is used
DEEPEST = 60  # of YAML, whose parser in C has no limit of its own
LONGEST_NUMBER = 400  # characters
BREAKS = "," + "".join(filter(str.isspace, map(chr, range(0x3001))))  # all that texts are split at
NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")

# What PyYAML raises for a text that is not of the type that its tag says, such as !!int ''.
BROKEN_SCALARS = (ValueError, IndexError, KeyError, AttributeError, OverflowError, TypeError)


def parse_json(path: Path, text: str) -> Any:
    """Content of JSON."""
    try:
        return sources.parse_json(text)
    except ValueError as error:
        raise broken(path, "JSON", str(error)) from error


def parse_xml(path: Path, text: str) -> ET.Element:
    """Root of XML."""
    try:
        check_parts(text, "<")
        return ET.fromstring(text)
    except (ET.ParseError, ValueError) as error:
        raise broken(path, "XML", str(error)) from error


def parse_text(path: Path, text: str) -> str:
    """Plain text: lines and words."""
    try:
        check_parts(text, BREAKS)
    except ValueError as error:
        raise broken(path, "text", str(error)) from error
    return text


def parse_yaml(path: Path, text: str) -> Any:
    """Mapping of YAML, also with the tags and the head of OpenCV; None for plain text."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """YAML whose matrices become mappings, with numbers of a length that has a meaning."""

    def matrix(loader: Any, node: Any) -> Any:
        return loader.construct_mapping(node, deep=True)

    def number(loader: Any, node: Any) -> Any:
        if len(node.value) > LONGEST_NUMBER:
            raise ValueError(f"a number of {len(node.value):,} characters")
        usual = loader.construct_yaml_int if node.tag == NUMBERS[0] else loader.construct_yaml_float
        return usual(node)

    for name in ("opencv-matrix", "opencv-nd-matrix"):
        Loader.add_constructor(f"tag:yaml.org,2002:{name}", matrix)
    for tag in NUMBERS:
        Loader.add_constructor(tag, number)
    declared = text.startswith("%YAML")
    if declared:  # OpenCV writes "%YAML:1.0", which YAML itself does not know
        text = "\n" + text.partition("\n")[2]
    try:
        if len(text) > LARGEST_YAML:
            raise ValueError(f"{len(text):,} characters, at most {LARGEST_YAML:,} are read")
        check_nodes(yaml.parse(text, Loader))
        # The first of several documents: messages printed by ROS end with the mark of another one.
        return next(yaml.load_all(text, Loader), None)
    except (yaml.YAMLError, RecursionError, *BROKEN_SCALARS) as error:
        if not declared and path.suffix.lower() not in (".yaml", ".yml"):
            return None
        raise broken(path, "YAML", " ".join(str(error).split())) from error


def check_nodes(events: Iterable[Any]) -> None:
    """Raise ValueError if a first document of YAML is too deep, or too large with aliases unfolded.

    Takes the events of the parser, which have no depth: nothing is built before this is known.
    """
    import yaml

    sizes: dict[str, int] = {}  # of finished nodes with an anchor
    open_nodes: list[tuple[str | None, int]] = []  # anchor, and nodes before it
    total = 0
    for event in events:
        if isinstance(event, yaml.DocumentEndEvent):
            return
        if isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in open_nodes):
                raise ValueError(f"the alias *{event.anchor} stands within what it refers to")
            total += sizes.get(str(event.anchor), 1)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_nodes.pop()
            if anchor is not None:
                sizes[anchor] = total - before
        elif isinstance(event, yaml.NodeEvent):
            total += 1
            if isinstance(event, yaml.CollectionStartEvent):
                open_nodes.append((event.anchor, total - 1))
        if total > MOST_NODES:
            raise ValueError(f"more than {MOST_NODES:,} entries")
        if len(open_nodes) > DEEPEST:
            raise ValueError(f"entries more than {DEEPEST} levels deep")


def broken(path: Path, syntax: str, error: str) -> FileError:
    """Error for a text that cannot be parsed."""
    return FileError(
        f"{path} is not valid {syntax} ({error})",
        expected="a calibration",
        remedy="Correct the file, or write it again",
    )
