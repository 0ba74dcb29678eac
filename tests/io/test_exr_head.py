"""Heads of OpenEXR files: what they declare is checked before it is copied."""

from __future__ import annotations

import os
import struct
import tracemalloc

import pytest

from rayrelief.errors import FileError
from rayrelief.io.exr import read_attributes

LARGE = 1_500_000_000  # bytes of a file that takes no room on the disk


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (2**32 - 1, r"an attribute of 4,294,967,295 bytes ends beyond the file"),
        (LARGE - 100, r"1,499,999,\d{3} bytes of its head, at most 16,000,000 are read"),
    ],
)
def test_an_attribute_of_many_bytes_is_not_copied(tmp_path, size, message):
    path = tmp_path / "large.exr"
    path.write_bytes(b"\x76\x2f\x31\x01\2\0\0\0a\0string\0" + struct.pack("<I", size))
    os.truncate(path, LARGE)
    tracemalloc.start()
    try:
        with pytest.raises(FileError, match=message):
            read_attributes(path)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000  # OpenEXR is imported
    finally:
        tracemalloc.stop()
