"""The chunks of a PNG file: the check that it is whole, and text that travels with the pixels.

By hand, because OpenCV neither reads nor writes text chunks, and says of a broken file only that it
is none, after its PNG library has written to the standard error of the process. Pillow, which does
both, would turn 16-bit colours into 8-bit ones.
"""

from __future__ import annotations

import struct
import zlib

from rayrelief.io.sources import MOST_ENTRIES, check_entries

SMALLEST = 1000  # bytes of a chunk on average, where there are very many
PICTURE = (b"IHDR", b"PLTE", b"tRNS", b"IDAT")
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def split_chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    """(type, content) of every chunk up to IEND; ValueError where the file is cut off or broken."""
    chunks: list[tuple[bytes, bytes]] = []
    position = len(SIGNATURE)
    while not chunks or chunks[-1][0] != b"IEND":
        if position + 12 > len(data):
            raise ValueError("the end of the image is missing")
        (length,) = struct.unpack_from(">I", data, position)
        end = position + 8 + length
        if end + 4 > len(data):
            raise ValueError("the end of the image is missing")
        kind, content = data[position + 4 : position + 8], data[position + 8 : end]
        if zlib.crc32(content, zlib.crc32(kind)) != struct.unpack_from(">I", data, end)[0]:
            raise ValueError("a checksum is wrong")
        chunks.append((kind, content))
        check_entries(len(chunks), "chunks", MOST_ENTRIES + len(data) // SMALLEST)
        position = end + 4
    return chunks


def bare_image(data: bytes) -> bytes:
    """PNG file with the chunks alone that hold the picture; ValueError unless it is whole.

    Others make decoders work and take memory for what nobody asked for, such as animations.
    """
    kept = [(kind, content) for kind, content in split_chunks(data) if kind in PICTURE]
    kinds = [kind for kind, _ in kept]
    if kinds[:1] != [b"IHDR"] or len(kept[0][1]) != 13 or b"IDAT" not in kinds:
        raise ValueError("the image is missing")
    return join_chunks([*kept, (b"IEND", b"")])


def declared_values(data: bytes) -> tuple[tuple[int, int, int], int]:
    """Shape and bytes of the values that the head of a PNG file declares."""
    width, height, bits, colour = struct.unpack_from(">IIBB", data, len(SIGNATURE) + 8)
    channels = {0: 1, 2: 3, 3: 3, 4: 4, 6: 4}.get(colour, 4)  # as OpenCV decodes them
    return (height, width, channels), 2 if bits == 16 else 1


def join_chunks(chunks: list[tuple[bytes, bytes]]) -> bytes:
    """Bytes of a PNG file made of (type, content) chunks."""
    parts = [SIGNATURE]
    for kind, content in chunks:
        checksum = zlib.crc32(content, zlib.crc32(kind))
        parts += [struct.pack(">I", len(content)), kind, content, struct.pack(">I", checksum)]
    return b"".join(parts)


def add_text(data: bytes, text: dict[str, str]) -> bytes:
    """PNG file with tEXt chunks, keyword to Latin-1 text, put right after its header."""
    header, *rest = split_chunks(data)
    added = [(b"tEXt", f"{key}\0{value}".encode("latin-1")) for key, value in text.items()]
    return join_chunks([header, *added, *rest])


def read_text(data: bytes) -> dict[str, str]:
    """Keyword and text of every tEXt chunk of a PNG file."""
    pairs = (content.partition(b"\0") for kind, content in split_chunks(data) if kind == b"tEXt")
    return {key.decode("latin-1"): value.decode("latin-1") for key, _, value in pairs}
