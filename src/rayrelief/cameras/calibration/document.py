"""A calibration file as it lies on disk: its text parsed, and its entries asked for by key."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from rayrelief.cameras.calibration.syntax import parse_json, parse_text, parse_xml, parse_yaml
from rayrelief.errors import CameraError, FileError, shown
from rayrelief.io.sources import empty, read_bytes

Syntax = Literal["json", "yaml", "xml", "text", "binary"]

# A mapping, or a list of mappings or texts; one of numbers may be a matrix that was printed.
JSON_START = re.compile(r'\{|\[\s*[{"]')
# Lines of OpenCV's JSON that JSON does not know; no text within JSON goes over a line's end.
JSON_COMMENT = re.compile(r"^[ \t]*//.*$", re.MULTILINE)
SHOWN = 8  # names in one message
LARGEST_FILE = 16_000_000  # bytes: some ten thousand cameras with their poses


@dataclass(frozen=True, eq=False)
class Document:
    """A file, its syntax, and what it holds.

    Attributes
    ----------
    path, syntax
        Where it lies, and "json", "yaml", "xml", "text", or "binary" for what is none of them.
    content
        Parsed JSON or YAML, the root element of XML, the text itself, or the bytes.
    text
        The text, without the comments of JSON; empty for binary files.
    """

    path: Path
    syntax: Syntax
    content: Any
    text: str = ""

    @property
    def mapping(self) -> Mapping[str, Any]:
        """JSON or YAML as a mapping; empty for anything else."""
        return self.content if isinstance(self.content, dict) else {}

    def entries(self) -> Entries:
        """The outermost mapping of JSON or YAML."""
        return Entries(self.path, self.mapping)

    def error(self, found: str, *, expected: str, remedy: str = "") -> FileError:
        """Error that names the file; ``found`` follows its path."""
        fallback = "Check that this is the right file, or write it again"
        return FileError(f"{self.path}: {found}", expected=expected, remedy=remedy or fallback)


@dataclass(frozen=True, eq=False)
class Entries:
    """A mapping within a file, asked for by key; every error names the file and the key."""

    path: Path
    content: Mapping[str, Any]
    where: str = ""
    """Keys that lead to this mapping, such as "cam0.", for messages."""

    def __contains__(self, key: str) -> bool:
        return self.content.get(key) is not None

    def value(self, key: str) -> Any:
        """Whatever stands under a key."""
        if key not in self:
            known = shortened(self.content) or "nothing"
            raise self.error(key, "is missing", f"this key next to {known}")
        return self.content[key]

    def number(self, key: str, default: float | None = None) -> float:
        """A finite number."""
        if default is not None and key not in self:
            return default
        return self._finite(key, self.value(key))

    def positive(self, key: str, default: float | None = None) -> float:
        """A finite number above 0."""
        number = self.number(key, default)
        if number <= 0:
            raise self.error(key, f"is {number:g}", "a positive number")
        return number

    def integer(self, key: str) -> int:
        """A positive integer."""
        number = self.number(key)
        if number < 1 or number != int(number):
            raise self.error(key, f"is {number:g}", "a positive integer")
        return int(number)

    def size(self, width: str, height: str) -> tuple[int, int]:
        """(width, height) in pixels, each under its own key."""
        return self.integer(width), self.integer(height)

    def numbers(self, key: str, *counts: int) -> list[float]:
        """A list of finite numbers, as many as one of ``counts`` says (any number without)."""
        value = self.value(key)
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise self.error(key, f"is {shown(value)}", "a list of numbers")
        if counts and len(value) not in counts:
            wanted = " or ".join(map(str, counts))
            raise self.error(key, f"holds {len(value)} values", f"{wanted} numbers")
        numbers = [number for each in value if (number := as_number(each)) is not None]
        if len(numbers) < len(value):
            index = next(i for i, each in enumerate(value) if as_number(each) is None)
            raise self.error(f"{key}[{index}]", f"is {shown(value[index])}", "a finite number")
        return numbers

    def text(self, key: str, *choices: str) -> str:
        """A text, one of ``choices`` (any without)."""
        value = self.value(key)
        if not isinstance(value, str):
            raise self.error(key, f"is {shown(value)}", "a string")
        if choices and value not in choices:
            raise self.error(key, f"is {value!r}", "one of " + ", ".join(choices))
        return value

    def entries(self, key: str) -> Entries:
        """A mapping under a key."""
        value = self.value(key)
        if not isinstance(value, dict):
            raise self.error(key, f"is {shown(value)}", "a mapping")
        return Entries(self.path, value, f"{self.where}{key}.")

    def error(self, key: str, found: str, expected: str, remedy: str = "") -> FileError:
        """Error that names the file and the key; ``found`` follows the key."""
        return FileError(
            f"{self.path}: {self.where}{key} {found}",
            expected=expected,
            remedy=remedy or "Correct the file, or write it again",
        )

    def _finite(self, key: str, value: object) -> float:
        number = as_number(value)
        if number is None:
            raise self.error(key, f"is {shown(value)}", "a finite number")
        return number


def shortened(names: Collection[object]) -> str:
    """Names in one line: the first few of many, and how many there are."""
    few = ", ".join(str(name) for name in islice(names, SHOWN))
    return few if len(names) <= SHOWN else f"{few}, ... ({len(names)} in all)"


def as_number(value: object) -> float | None:
    """A finite number, or a text that is one; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and "_" in value:  # 1_000 is a number for Python, and a typo here
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def read_document(path: Path) -> Document:
    """Read and parse a file; what it looks like tells its syntax, not its name."""
    data = read_bytes(path, largest=LARGEST_FILE)
    if not data.strip():
        raise empty(path, "a calibration")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return Document(path, "binary", data)
    if "\0" in text:
        return Document(path, "binary", data)
    start = text.lstrip()
    if start.startswith("<"):
        return Document(path, "xml", parse_xml(path, text), text)
    is_list = start.startswith("[") and path.suffix.lower() == ".json"
    if is_list or (JSON_START.match(start) and not _python_literal(start)):
        text = JSON_COMMENT.sub("", text)
        return Document(path, "json", parse_json(path, text), text)
    content = parse_yaml(path, text)
    if isinstance(content, dict):
        return Document(path, "yaml", content, text)
    return Document(path, "text", parse_text(path, text), text)


def _python_literal(text: str) -> bool:
    """Whether a text in braces is Python's, as mrcal writes it: its keys have single quotes."""
    return text[1:].lstrip().startswith("'")


@contextmanager
def naming_file(path: Path, where: str = "") -> Iterator[None]:
    """Turn the error of a camera that cannot exist into one that names its file, and where."""
    try:
        yield
    except CameraError as error:
        place = f"{path}, {where}," if where else f"{path}"
        raise FileError(
            f"{place} holds {error.found}", expected=error.expected, remedy=error.remedy
        ) from error
