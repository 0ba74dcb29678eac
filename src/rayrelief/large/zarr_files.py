"""Zarr arrays of others: regular files, codecs that run no code, pieces of the declared size."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.errors import RayreliefError
from rayrelief.io.sources import (
    BROKEN,
    LARGEST_HEAD,
    check_room,
    is_there,
    parse_json,
    read_bytes,
)
from rayrelief.large.frames import COMPRESSORS, check_chunks, check_frame
from rayrelief.large.layout import Window
from rayrelief.optional import library

ARRAYS = ("zarr.json", ".zarray")  # what describes an array: of version 3, and of version 2
ABOUT = (*ARRAYS, ".zattrs", ".zmetadata")  # files that are no chunks
# Of others some run code (pickle), and of some the size is not known beforehand.
HARMLESS = ("bytes", "transpose", "crc32c", "shuffle", "delta", "bitround", "fixedscaleoffset")
SHARDS = "sharding_indexed"
INDEX = ["bytes", "crc32c"]  # codecs of the index of a shard: 16 bytes a chunk, and a sum


def zarr_package() -> Any:
    """Zarr, or an InputError that says how to install it."""
    return library("zarr", "a map in blocks", "large")


def names_in(path: Path) -> list[str] | None:
    """Arrays in a group; None for an array."""
    if not path.is_dir():
        raise ValueError("not a folder")
    head = read_head(path)
    if head is not None and head.get("node_type", "array") == "array":
        return None
    return [below.name for below in sorted(path.iterdir()) if read_head(below) is not None]


@dataclass(frozen=True)
class ZarrArray:
    """An array of which parts are read, one piece after the other.

    Attributes
    ----------
    array, store
        What zarr opened, and the folder that it reads from.
    piece
        Sides of what is decoded at once.
    count
        Files of chunks, or of shards, if all are stored.
    """

    array: Any
    store: Any
    piece: tuple[int, ...]
    count: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Sides."""
        found: tuple[int, ...] = self.array.shape
        return found

    @property
    def ndim(self) -> int:
        """Dimensions."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values, in the byte order of the machine."""
        found: np.dtype[Any] = self.array.dtype.newbyteorder("=")
        return found

    @property
    def attrs(self) -> Any:
        """What is stored with the array."""
        return self.array.attrs

    @property
    def piece_bytes(self) -> int:
        """Bytes of a piece."""
        return math.prod(self.piece) * self.dtype.itemsize

    def left_out(self) -> str:
        """How many chunks, or shards, are not stored, in words; empty if all are."""
        files = (file for file in self.store.root.rglob("[!.]*") if file.name not in ABOUT)
        missing = self.count - sum(1 for file in files if file.is_file())
        if missing <= 0:
            return ""
        what = "shards" if self.store.count else "chunks"
        fill = self.array.fill_value
        return f"{missing:,} of {self.count:,} {what} are not stored, and read as {fill}"

    def __getitem__(self, window: Window) -> npt.NDArray[Any]:
        try:
            # As many as usual take as many times the memory.
            with zarr_package().config.set({"async.concurrency": 1}):
                return np.asarray(self.array[window], self.dtype)
        except RayreliefError:
            raise
        except BROKEN as error:
            self._find_broken(window)
            raise ValueError(str(error)) from error

    def _find_broken(self, window: Window) -> None:
        """Raise ValueError that names the file of a chunk that cannot be decoded."""
        rows, columns = self.piece[:2]
        for top in range(window[0].start // rows * rows, window[0].stop, rows):
            for left in range(window[1].start // columns * columns, window[1].stop, columns):
                try:
                    self.array[top : top + rows, left : left + columns]
                except BROKEN as error:
                    raise ValueError(f"the chunk {self.store.last}: {error}") from error


def open_array(path: Path) -> ZarrArray:
    """Open an array whose every chunk is checked when it is read; ValueError for what is none."""
    head = read_head(path)
    if head is None:
        raise ValueError("no zarr.json and no .zarray")
    shape, chunks = _sides(head)
    if len(shape) != len(chunks) or min((*shape, *chunks), default=0) < 1:
        raise ValueError(f"chunks of the shape {chunks} of an array of the shape {shape}")
    check_chunks(shape, chunks)
    compressor, is_sharded = _codecs(head)
    store = _store()(path)
    array = zarr_package().open_array(store, mode="r")
    check_room(path, 2 * math.prod(chunks) * array.dtype.itemsize)
    within = array.chunks if is_sharded else chunks
    store.count = math.prod(chunks) // math.prod(within) if is_sharded else 0
    store.compressor, store.largest = compressor, math.prod(within) * array.dtype.itemsize
    count = math.prod(-(-side // chunk) for side, chunk in zip(shape, chunks, strict=True))
    return ZarrArray(array, store, within, count)


def read_head(path: Path) -> dict[str, Any] | None:
    """What describes an array, or a group of version 3; None if nothing does."""
    for name in ARRAYS:
        if is_there(path / name):
            head = parse_json(read_bytes(path / name, largest=LARGEST_HEAD))
            if not isinstance(head, dict):
                raise ValueError(f"{name} holds no mapping")
            return head
    return None


def _sides(head: dict[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape of an array, and of the pieces that are files."""
    grid = head.get("chunk_grid", {})
    shape, chunks = (head["shape"], head.get("chunks") or grid["configuration"]["chunk_shape"])
    if not all(isinstance(side, int) for side in (*shape, *chunks)):
        raise ValueError(f"the shape {shape!r} in chunks {chunks!r}")
    return tuple(shape), tuple(chunks)


def _codecs(head: dict[str, Any]) -> tuple[str | None, bool]:
    """The compressor of an array, and whether its files are shards; ValueError for odd codecs."""
    codecs = head.get("codecs")
    if codecs is None:
        codecs = [
            codec for codec in (*(head.get("filters") or ()), head.get("compressor")) if codec
        ]
    names = list(_names(codecs))
    is_sharded = SHARDS in names
    if is_sharded:
        how = codecs[0]["configuration"]
        if (
            names != [SHARDS]
            or list(_names(how["index_codecs"])) != INDEX
            or how.get("index_location", "end") != "end"
        ):
            raise ValueError("shards with an index of another kind")
        names = list(_names(how["codecs"]))
    odd = [name for name in names if name not in (*HARMLESS, *COMPRESSORS)]
    compressors = [name for name in names if name in COMPRESSORS]
    if odd or len(compressors) > 1:
        raise ValueError(
            f"values in the codecs {', '.join(names)}; one of {', '.join(COMPRESSORS)} is read"
        )
    return next(iter(compressors), None), is_sharded


def _names(codecs: Any) -> Iterator[str]:
    for codec in codecs:
        name = codec if isinstance(codec, str) else codec.get("name", codec.get("id"))
        yield str(name).removeprefix("numcodecs.")


@cache
def _store() -> Any:
    """Class of a folder whose files are looked at before zarr gets them."""
    base = zarr_package().storage.LocalStore

    class Checked(base):  # type: ignore[misc, valid-type]
        """Files of a folder.

        Attributes
        ----------
        compressor, largest
            How chunks are compressed, if at all, and the bytes of their values.
        count
            Chunks of a shard; 0 where each chunk is a file.
        last
            File that was read last.
        """

        compressor: str | None = None
        largest = LARGEST_HEAD
        count = 0
        last = ""

        def __init__(self, root: Path, *, read_only: bool = True) -> None:
            super().__init__(root, read_only=read_only)

        async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
            """Content of a file, or a part of it; None where there is none."""
            self.last = key
            if not is_there(self.root / key):
                return None
            check_room(self.root / key, (self.root / key).stat().st_size)
            return self._checked(await super().get(key, prototype, byte_range), byte_range)

        def get_sync(self, key: str, *, prototype: Any = None, byte_range: Any = None) -> Any:
            """As get, of newer versions of zarr."""
            self.last = key
            if not is_there(self.root / key):
                return None
            check_room(self.root / key, (self.root / key).stat().st_size)
            found = super().get_sync(key, prototype=prototype, byte_range=byte_range)
            return self._checked(found, byte_range)

        def _checked(self, found: Any, part: Any) -> Any:
            if found is not None and self.compressor is not None:
                if self.count and hasattr(part, "suffix"):  # the index
                    return found
                for frame in self._frames(found.to_bytes(), part is None):
                    check_frame(self.compressor, frame, self.largest)
            return found

        def _frames(self, data: bytes, is_whole: bool) -> Iterator[bytes]:
            if not self.count or not is_whole:
                yield data
                return
            index = np.frombuffer(data[-16 * self.count - 4 : -4], "<u8").reshape(-1, 2)
            for start, length in index.tolist():
                if start < len(data):
                    yield data[start : start + length]

    return Checked
