"""Small damage to files, some of it below their checksums and their compression."""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from fuzz.seeds import Seed
from rayrelief.io.png_chunks import SIGNATURE, join_chunks, split_chunks

NUMBER = re.compile(rb"-?\d+\.?\d*(?:[eE][-+]?\d+)?")
ODD_NUMBERS = (
    *(b"0", b"-1", b"nan", b"inf", b"1e308", b"-1e308", b"1e-320", b"1e999", b"9" * 400),
    *(b"2147483648", b"99999999", b"1e9", b"null", b"true", b"''", b"[]", b"{}", b'"x"', b"0x1F"),
    *(b"1:59:59", b"1_000", b".5.", b"\xff", b"\x00", b"\x1b[2J"),
)
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**31, 2**63, 10**30, 0.5, float("nan"), float("inf"), "", "x", "a\0b"),
    *("\x1b[2J", "é١２", "9" * 5000, [], {}, [[[[1]]]], [1] * 3000, {"": {}}, {"name": "x"}),
)
# Chunks of PNG, segments of JPEG, members of archives, zlib streams, lines, attributes of EXR.
BORDERS = re.compile(
    rb"IDAT|IEND|\xff[\xc0-\xfe]|PK[\x01-\x06]|\x78[\x01\x9c\xda]|\n|box2i|chlist|BIN\0"
)
ODD_WORDS = (0, 1, 2, 3, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 10**6)


def mutated(seed: Seed, others: list[Seed], random: Random) -> bytes:
    """Content of a seed with some damage."""
    data = seed.data
    if seed.name.endswith(".zip"):  # only a way to hand over a folder
        return _below(seed.name, seed.data, data, others, random)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        data = random.choice(MUTATIONS)(data, others, random)
    if random.random() < 0.5:
        data = _below(seed.name, seed.data, data, others, random)
    return data


def _flip(data: bytes, others: list[Seed], random: Random) -> bytes:
    if not data:
        return data
    changed = bytearray(data)
    changed[_place(data, random)] = random.randrange(256)
    return bytes(changed)


def _cut(data: bytes, others: list[Seed], random: Random) -> bytes:
    return data[: _place(data, random)]


def _remove(data: bytes, others: list[Seed], random: Random) -> bytes:
    start = _place(data, random)
    return data[:start] + data[start + random.choice((1, 2, 4, 8, 100)) :]


def _repeat(data: bytes, others: list[Seed], random: Random) -> bytes:
    start = _place(data, random)
    piece = data[start : start + random.choice((1, 4, 16, 64, 400))]
    return data[:start] + piece * random.choice((2, 3, 50, 2000)) + data[start:]


def _splice(data: bytes, others: list[Seed], random: Random) -> bytes:
    other = random.choice(others).data
    start = _place(other, random)
    here = _place(data, random)
    return data[:here] + other[start : start + random.choice((4, 40, 400))] + data[here:]


def _word(data: bytes, others: list[Seed], random: Random) -> bytes:
    start = _place(data, random) & ~random.choice((0, 1, 3))
    word = struct.pack(random.choice("<>") + "I", random.choice(ODD_WORDS))
    word = word[: random.choice((2, 4))]
    return data[:start] + word + data[start + len(word) :]


def _number(data: bytes, others: list[Seed], random: Random) -> bytes:
    numbers = list(NUMBER.finditer(data[:100_000]))
    if not numbers:
        return _flip(data, others, random)
    chosen = random.choice(numbers)
    return data[: chosen.start()] + random.choice(ODD_NUMBERS) + data[chosen.end() :]


def _line(data: bytes, others: list[Seed], random: Random) -> bytes:
    lines = data.split(b"\n")
    if len(lines) < 3:
        return _remove(data, others, random)
    at = random.randrange(len(lines))
    action = random.randrange(3)
    if action == 0:
        del lines[at]
    elif action == 1:
        lines.insert(random.randrange(len(lines)), lines[at])
    else:
        lines[at] = lines[at].lstrip() if random.random() < 0.5 else b"    " + lines[at]
    return b"\n".join(lines)


def _place(data: bytes, random: Random) -> int:
    """A byte of a file, rather one of its head."""
    if not data:
        return 0
    end = min(len(data), random.choice((64, 400, len(data))))
    return random.randrange(end)


def _other(data: bytes, others: list[Seed], random: Random) -> bytes:
    """Another kind of file under this name."""
    return random.choice(others).data


def _swap(data: bytes, others: list[Seed], random: Random) -> bytes:
    """Two fields of the head in each other's place, or one of them with its bytes reversed."""
    size = random.choice((2, 4, 8))
    first, second = sorted(random.randrange(max(1, min(len(data), 200) // size)) for _ in "12")
    words = [data[size * at : size * (at + 1)] for at in (first, second)]
    if first == second:
        return data[: size * first] + words[0][::-1] + data[size * (first + 1) :]
    between = data[size * (first + 1) : size * second]
    return data[: size * first] + words[1] + between + words[0] + data[size * (second + 1) :]


def _border(data: bytes, others: list[Seed], random: Random) -> bytes:
    """Cut where a part of the file begins or ends, by a byte more or less."""
    borders = [found.start() for found in BORDERS.finditer(data)]
    return (
        data[: max(0, random.choice(borders) + random.choice((-1, 0, 1, 4)))] if borders else data
    )


def _tree(data: bytes, others: list[Seed], random: Random) -> bytes:
    """JSON with entries that have moved, doubled, sunk or become something else."""
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return _number(data, others, random)
    places = list(_places(tree)) if isinstance(tree, dict | list) else []
    if not places:
        return data
    (holder, key), (other, its) = random.choice(places), random.choice(places)
    action = random.randrange(6)
    if action == 0:
        holder[key] = random.choice(ODD_VALUES)
    elif action == 1:
        del holder[key]
    elif action == 2:
        holder[key], other[its] = other[its], holder[key]
    elif action == 3:
        holder[key] = [holder[key]]
    elif action == 4:
        holder[key] = str(holder[key])
    elif isinstance(holder[key], list):
        holder[key] = holder[key] * random.choice((0, 2, 500))
    try:
        text = json.dumps(tree)
    except (ValueError, RecursionError):  # something was put into itself
        return data
    if random.random() < 0.1 and isinstance(holder, dict):  # a key twice
        text = text[:-1] + f", {json.dumps(str(key))}: null}}"
    return text.encode()


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Holder and key of every entry."""
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in list(pairs):
        yield tree, key
        if isinstance(value, dict | list):
            yield from _places(value)


MUTATIONS: tuple[Callable[[bytes, list[Seed], Random], bytes], ...] = (
    *(_flip, _flip, _cut, _remove, _repeat, _splice, _word, _word, _number, _number, _line),
    *(_other, _swap, _border, _tree, _tree),
)


def _below(name: str, whole: bytes, data: bytes, others: list[Seed], random: Random) -> bytes:
    """Damage to what a format compresses or sums up, with the outside in order."""
    mutate = random.choice(MUTATIONS)
    try:
        if name.endswith(".png"):
            chunks = split_chunks(whole)
            at = random.randrange(len(chunks))
            kind, content = chunks[at]
            if kind == b"IDAT" and random.random() < 0.7:
                content = zlib.compress(mutate(zlib.decompress(content), others, random))
            else:
                content = mutate(content, others, random)
            chunks[at] = (kind, content)
            return join_chunks(chunks) if chunks else SIGNATURE
        if name.endswith((".npz", ".zip")):
            return _rezipped(whole, mutate, others, random)
        if name.endswith(".mat") and b"\x0f\x00\x00\x00" in whole[128:132]:
            (length,) = struct.unpack_from("<I", whole, 132)
            inner = mutate(zlib.decompress(whole[136 : 136 + length]), others, random)
            packed = zlib.compress(inner)
            return (
                whole[:128] + struct.pack("<II", 15, len(packed)) + packed + whole[136 + length :]
            )
    except (ValueError, zlib.error, struct.error, IndexError):
        return data
    return data


def _rezipped(
    data: bytes,
    mutate: Callable[[bytes, list[Seed], Random], bytes],
    others: list[Seed],
    random: Random,
) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if random.random() < 0.7 / max(1, len(old.namelist()) // 3):
                content = mutate(content, others, random)
            new.writestr(name, content, zipfile.ZIP_DEFLATED)
    return stream.getvalue()
