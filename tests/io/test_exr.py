"""OpenEXR prints to the standard output, which is that of all threads and of what they fork."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from rayrelief.io import exr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of a process with threads
def test_a_fork_waits_until_a_file_is_read():
    reading = threading.Event()

    def read():
        with exr._refusing_damage(Path("large.exr")):
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
