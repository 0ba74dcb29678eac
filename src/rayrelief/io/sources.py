"""What every reader asks of its file: is it there, is it what its name says, which array."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rayrelief.errors import FileError

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
}


def read_bytes(path: Path, size: int = -1) -> bytes:
    """First ``size`` bytes of a file, or all; raises FileError if there are none."""
    try:
        with path.open("rb") as file:
            data = file.read(size)
    except FileNotFoundError as error:
        raise missing(path, "a file") from error
    except OSError as error:
        raise FileError(
            f"{path} cannot be read: {error.strerror or error}",
            expected="a file with read permission",
            remedy="Check the path and its permissions",
        ) from error
    if not data:
        raise empty(path, "a file with content")
    return data


def missing(path: Path, expected: str) -> FileError:
    """Error for a path that leads nowhere."""
    return FileError(f"{path} does not exist", expected=expected, remedy="Check the path")


def empty(path: Path, expected: str) -> FileError:
    """Error for a file that holds nothing."""
    return FileError(f"{path} is empty", expected=expected, remedy="Write or download it again")


def check_signature(path: Path) -> None:
    """Raise FileError unless a file begins as its suffix promises."""
    head = read_bytes(path, 32)
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
