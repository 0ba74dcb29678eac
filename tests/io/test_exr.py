"""OpenEXR prints to the standard output, which is that of all threads and of what they fork."""

from __future__ import annotations

import os
import struct
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from rayrelief.errors import FileError
from rayrelief.io import exr
from rayrelief.io.exr import read_exr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of a process with threads
def test_a_fork_waits_until_a_file_is_read():
    reading = threading.Event()

    def read():
        with exr.refusing_damage(Path("large.exr")):
            reading.set()
            time.sleep(0.3)

    thread = threading.Thread(target=read)
    thread.start()
    reading.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if exr._ONE_AT_A_TIME.acquire(timeout=10) else 1)
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_tile_that_is_far_larger_than_its_image_is_refused(tmp_path):
    """600 bytes took more than 1 GB: room is made for a whole tile, whatever it holds."""
    import OpenEXR

    path = tmp_path / "tiles.exr"
    header = {"type": OpenEXR.tiledimage, "tiles": OpenEXR.TileDescription()}
    OpenEXR.File(header, {"RGB": np.ones((4, 5, 3), np.float32)}).write(str(path))
    assert read_exr(path).shape == (4, 5, 3)
    mark = b"tiles\0tiledesc\0\x09\0\0\0"
    start, sides, end = path.read_bytes().partition(mark)
    assert sides
    path.write_bytes(start + mark + struct.pack("<2I", 32, 15_000_000) + end[8:])
    with pytest.raises(FileError, match="480,000,000 pixels of a tile, at most 1,048,576"):
        read_exr(path)
