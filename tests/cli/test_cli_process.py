"""The command as a process of its own: exit codes, streams, signals and a terminal."""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from rayrelief.io.exr import write_exr

TIMEOUT = 600  # seconds: only a run that hangs gets there

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals of POSIX"),
]


def test_streams_of_a_piped_run(start, sphere, out):
    process = start("integrate", sphere, "-o", out, "--json", "--threads", 1)
    printed, said = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0
    assert json.loads(printed)["scene"] == "sphere"
    assert all(line.startswith("note: ") for line in said.splitlines())
    assert "\x1b" not in printed + said


def test_bad_input(start, out):
    process = start("integrate", out / "nowhere", "-o", out)
    printed, said = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 1
    assert printed == ""
    assert said.startswith("error: ")
    assert said.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_output_that_cannot_be_written(start, sphere, out):
    with open("/dev/full", "w") as full:
        process = start("integrate", sphere, "-o", out, "--json", "--threads", 1, stdout=full)
        _, said = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 1
    assert "Traceback" not in said
    assert said.splitlines()[-1].startswith("error: the output cannot be used: No space left")


def test_interrupt_during_a_run(start, sphere, out):
    endless = ("--method", "ray-plane", "--tolerance", 0, "--max-iterations", 10**9)
    process = start("integrate", sphere, "-o", out, *endless, "--threads", 1)
    assert process.stderr.readline().startswith("note: ")  # the scene is read
    time.sleep(0.5)  # into the iterations, most likely; anywhere will do
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 130
    assert printed == ""
    assert "Traceback" not in said
    assert said.splitlines()[-1].startswith("interrupted: ")
    assert not out.exists()


def test_progress_on_a_terminal(start_on_terminal, sphere, out):
    shown = start_on_terminal("integrate", sphere, "-o", out, "--threads", 1)
    assert "integrating sphere" in shown
    assert "Integration of 32x24 pixels" in shown
    assert (out / "report.json").exists()


def test_a_cut_off_exr_gives_one_message_and_an_empty_stdout(start, tmp_path):
    write_exr(tmp_path / "cut.exr", {name: np.ones((24, 32), np.float32) for name in "RGB"})
    whole = (tmp_path / "cut.exr").read_bytes()
    (tmp_path / "cut.exr").write_bytes(whole[: len(whole) // 2])
    process = start(
        *("integrate", tmp_path / "cut.exr", "--convention", "opencv", "--fov", 50),
        *("-o", tmp_path / "out", "--json"),
    )
    out, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 1
    assert out == ""
    assert len(err.splitlines()) == 1, err
