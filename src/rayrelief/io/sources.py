"""What every reader asks of its file: is it there, is it what its name says, which array."""

from __future__ import annotations

import json
import lzma
import os
import stat
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from io import BufferedReader
from pathlib import Path
from typing import Any

from rayrelief.errors import FileError, InputError
from rayrelief.memory import in_words, memory_available

# Beside what a file stores: a value of the result, and what is computed to get there.
READING_BYTES = 20  # per value
SMALL = 1 << 24  # bytes that are there without asking
START = 32  # bytes that tell the kind of a file
LARGEST_HEAD = 16_000_000  # bytes before the values
# Of a file: the time of libraries may grow as the square of their number, and each takes memory.
MOST_ENTRIES = 10_000  # arrays, channels, attributes
MOST_PARTS = 1_000_000  # elements of JSON or XML, words of text
# What decoders raise for bytes that are not as they should be. None of them says all that it may
# raise, and each finds new ways: the kinds of errors, not those that were seen.
BROKEN = (
    *(ArithmeticError, AssertionError, AttributeError, BufferError, EOFError, LookupError),
    *(MemoryError, NameError, OSError, RuntimeError, SyntaxError, TypeError, ValueError),
    *(lzma.LZMAError, struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)
NOT_FILES = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a link that leads back to itself",
}

SIGNATURES: dict[str, tuple[bytes, ...]] = {
    "NPY": (b"\x93NUMPY",),
    "NPZ": (b"PK\x03\x04", b"PK\x05\x06"),
    "MAT": (b"MATLAB 5.0 MAT-file", b"MATLAB 7.3 MAT-file", b"\x89HDF"),
    "EXR": (b"\x76\x2f\x31\x01",),
    "PNG": (b"\x89PNG\r\n\x1a\n",),
    "TIFF": (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+"),
    "JPEG": (b"\xff\xd8\xff",),
    "HDF5": (b"\x89HDF",),
}
FORMATS: dict[str, str] = {
    ".npy": "NPY",
    ".npz": "NPZ",
    ".mat": "MAT",
    ".exr": "EXR",
    ".png": "PNG",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".h5": "HDF5",
    ".hdf5": "HDF5",
    **{f".{name.lower()}": name for name in ("PLY", "OBJ", "GLB", "STL")},
}


def as_path(path: str | os.PathLike[str]) -> Path:
    """Path of what a user gave as one."""
    if isinstance(path, str) and not path:  # for pathlib that is the current folder
        raise InputError(
            "a path that is empty",
            expected="the path of a file or a folder",
            remedy="Give '.' for the current folder",
        )
    try:
        return Path(path)
    except TypeError as error:
        raise InputError(
            f"a path of the type {type(path).__name__}",
            expected="a text or a pathlib.Path",
            remedy="Give the path of a file or a folder",
        ) from error


def read_bytes(path: Path, size: int = -1, *, largest: int | None = None) -> bytes:
    """First ``size`` bytes of a regular file, or all; FileError if there are none.

    A file of more than ``largest`` bytes, or of more than fit into memory, is refused unread.
    """
    with open_file(path) as file:
        length = os.fstat(file.fileno()).st_size
        if largest is not None and length > largest:
            raise FileError(
                f"{path} has {in_words(length)}",
                expected=f"at most {in_words(largest)} for a file of this kind",
                remedy="Check that this is the right file, or keep only the part that is needed",
            )
        if size < 0:
            check_room(path, length)
        try:
            data = file.read(size)
        except OSError as error:
            raise _unreadable(path, error) from error
    if not data:
        raise empty(path, "a file with content")
    return data


def open_file(path: Path) -> BufferedReader:
    """Open a regular file for reading; FileError for anything else, which is not even opened.

    To open a named pipe waits for its writer, and a device may have no end. What took the place of
    the file between the look and the opening is opened without waiting, and refused, too.
    """
    try:
        kind = stat.S_IFMT(os.stat(path).st_mode)
        if kind == stat.S_IFREG:
            file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
            kind = stat.S_IFMT(os.fstat(file.fileno()).st_mode)
            if kind == stat.S_IFREG:
                return file
            file.close()
    except FileNotFoundError as error:
        raise missing(path, "a file") from error
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise _unreadable(path, error) from error
    raise _no_file(path, kind)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def is_there(path: Path) -> bool:
    """Whether a path leads to a file; FileError for a pipe or a device, False for a folder."""
    try:
        kind = stat.S_IFMT(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    if kind not in (stat.S_IFREG, stat.S_IFDIR):
        raise _no_file(path, kind)
    return kind == stat.S_IFREG


def check_room(path: Path, needed: int) -> None:
    """Raise FileError if what a file holds does not fit into memory: better than to be killed.

    Readers ask with the size that the head of a file declares, before they decode it.
    """
    if needed <= SMALL or needed <= (available := memory_available()):
        return
    raise FileError(
        f"{path} needs {in_words(needed)} of memory to be read, "
        f"but {in_words(available)} is available",
        expected="a file whose content fits into memory",
        remedy="Check that this is the right file, crop it or halve its resolution",
    )


def check_entries(count: int, what: str, most: int = MOST_ENTRIES) -> None:
    """Raise ValueError for more entries than files have, however small each of them is."""
    if count > most:
        raise ValueError(f"{count:,} {what}, at most {most:,} are read")


def check_parts(text: str, marks: str, most: int = MOST_PARTS) -> None:
    """Raise ValueError for a text of more parts, each of which begins with a mark."""
    check_entries(sum(map(text.count, marks)), "parts", most)


def parse_json(data: bytes | str, most: int = MOST_PARTS) -> Any:
    """Content of JSON; ValueError where it is broken, too deep, or has more parts."""
    text = data if isinstance(data, str) else data.decode("utf-8-sig")
    check_parts(text, ",[{", most)
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError(str(error)) from error


def _no_file(path: Path, kind: int) -> FileError:
    return FileError(
        f"{path} is {NOT_FILES.get(kind, 'not a file')}",
        expected="a regular file",
        remedy="Write the data to a file first, and give its path",
    )


def _unreadable(path: Path, error: OSError | ValueError) -> FileError:
    return FileError(
        f"{path} cannot be read: {getattr(error, 'strerror', None) or error}",
        expected="a file with read permission",
        remedy="Check the path and its permissions",
    )


def missing(path: Path, expected: str) -> FileError:
    """Error for a path that leads nowhere."""
    return FileError(f"{path} does not exist", expected=expected, remedy="Check the path")


def empty(path: Path, expected: str) -> FileError:
    """Error for a file that holds nothing."""
    return FileError(f"{path} is empty", expected=expected, remedy="Write or download it again")


def check_suffix(
    path: Path, known: Iterable[str], content: str, remedy: str = "Choose one of these formats"
) -> None:
    """Raise FileError unless a file has one of the suffixes that are known for its content."""
    if path.suffix.lower() not in known:
        found = f"has the suffix {path.suffix!r}" if path.suffix else "has no suffix"
        raise FileError(
            f"{path} {'is a folder' if os.path.isdir(path) else found}",
            expected=f"one of {', '.join(known)} for {content}",
            remedy=remedy,
        )


def check_signature(path: Path) -> None:
    """Raise FileError unless a file begins as its suffix promises."""
    check_start(path, read_bytes(path, START))


def check_start(path: Path, head: bytes) -> None:
    """Raise FileError unless these first bytes of an open file are what its suffix promises."""
    if not head:
        raise empty(path, "a file with content")
    promised = FORMATS[path.suffix.lower()]
    if head.startswith(SIGNATURES[promised]):
        return
    actual = next((name for name, starts in SIGNATURES.items() if head.startswith(starts)), None)
    raise FileError(
        f"{path} holds {actual} data" if actual else f"{path} does not start like {promised} data",
        expected=f"{promised} data, as its suffix says",
        remedy="Give it the suffix of its format" if actual else "Write or download it again",
    )


def damaged(path: Path, cause: object) -> FileError:
    """Error for a file that begins well and cannot be read to its end."""
    if isinstance(cause, MemoryError):
        return FileError(
            f"{path} needs more memory to be read than there is ({cause or 'none is left'})",
            expected="a file whose content fits into memory",
            remedy="Close other programs, crop it or halve its resolution",
        )
    return FileError(
        f"{path} is damaged or truncated ({cause})",
        expected=f"a complete {FORMATS[path.suffix.lower()]} file",
        remedy="Write or download it again",
    )


def choose_name(path: Path, names: Iterable[str], keys: Sequence[str]) -> str:
    """Name of the array to take: the first of ``keys`` that the file has, else the only one.

    A key also matches the end of a dotted name: "Normal" finds the layer "ViewLayer.Normal".
    """
    names = list(names)
    for key in keys:
        matches = [name for name in names if name == key or name.endswith(f".{key}")]
        if len(matches) == 1:
            return matches[0]
    if len(names) == 1:
        return names[0]
    raise FileError(
        f"{path} holds {'the arrays ' + ', '.join(names) if names else 'no array'}",
        expected=f"one array, or one named {' or '.join(keys)}" if keys else "one array",
        remedy="Save only the array" + (f", or under the name {keys[0]}" if keys else ""),
    )
