"""The command line against full, odd and shared places, and against what files may contain."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from rayrelief.cli.terminal import signals
from rayrelief.io.atomic import temporary_name
from rayrelief.synthetic import gallery

TIMEOUT = 600  # seconds: only a run that hangs gets there
ESCAPE = "\x1b]0;gone\x07\x1b[2J"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals, links, names of POSIX")


# What is written where


def test_every_verb_removes_what_killed_ones_left(run, sphere, out, tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    run("integrate", sphere, "-o", out, "--method", "smooth")
    camera = ("camera", out / "camera.json", "--width", 32, "--height", 24)
    for number, words in enumerate(
        (
            ("integrate", sphere, "--method", "smooth", "-o", "."),
            ("report", out, "-o", "page.html"),
            (*camera, "--write", "camera.json"),
            (*camera, "--picture", "rays.png"),
        )
    ):
        place = tmp_path / str(number)
        place.mkdir()
        (place / (temporary_name(dead.pid) + ".png")).write_text("half")
        assert run(*words[:-1], place / words[-1]).code == 0
        assert not [path for path in place.iterdir() if path.name.startswith(".")], words[0]


def test_an_empty_output_path_is_refused(run, sphere, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    ended = run("integrate", sphere, "-o", "")
    assert ended.code == 2
    assert "empty" in ended.err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("option", ["--write", "--picture"])
def test_a_camera_does_not_replace_its_own_file(run, tmp_path, option):
    for name in ("camera.json", "camera.png"):
        (tmp_path / name).write_text('{"fov_x": 90.0, "fov_y": 60.0}')
    path = tmp_path / ("camera.png" if option == "--picture" else "camera.json")
    size = ("--width", 32, "--height", 24)
    assert str(path) in run("camera", path, option, path, *size).error()
    assert "fov_x" in path.read_text()


@pytest.mark.parametrize("name", ["depth.npy", "report.json", "preview.png"])
def test_results_do_not_go_through_links_or_into_pipes(run, sphere, out, tmp_path, name):
    out.mkdir()
    (out / name).symlink_to(tmp_path / "elsewhere")
    assert "out of its folder" in run("integrate", sphere, "-o", out).error()
    assert not (tmp_path / "elsewhere").exists()
    (out / name).unlink()
    os.mkfifo(out / name)
    assert "named pipe" in run("integrate", sphere, "-o", out).error()
    assert [path.name for path in out.iterdir()] == [name]


@pytest.mark.parametrize("name", ["preview.png", "./linked.png"])
def test_two_results_are_not_one_file(run, sphere, out, name):
    out.mkdir()
    (out / "linked.png").symlink_to("preview.png")
    line = run("integrate", sphere, "-o", out, "--height", out / name).error()
    assert "two results would be written to" in line
    assert [path.name for path in out.iterdir()] == ["linked.png"]


def test_a_folder_that_is_a_link_to_itself(run, sphere, tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    assert "loop" in run("integrate", sphere, "-o", tmp_path / "loop" / "out").error()
    assert "loop" in run("integrate", sphere, "-o", tmp_path / "loop").error()


def test_a_null_character_is_no_path(run, sphere, out):
    for option in ("-o", "--mask", "--camera", "--depth-prior", "--colour", "--height"):
        ended = run("integrate", sphere, *(("-o", out) if option != "-o" else ()), option, "a\0b")
        assert ended.code in (1, 2), ended
        assert "Traceback" not in ended.err
    assert not out.exists()


def test_a_working_folder_that_is_gone(run, sphere, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert "cannot be" in run("integrate", sphere, "-o", "out").error()


def test_colours_come_from_images(run, sphere, out):
    assert (
        "no image by its suffix"
        in run("integrate", sphere, "-o", out, "--colour", sphere / "K.txt").error()
    )


@pytest.mark.parametrize("text", ["nan,1,1", "inf,1,1", "1,-inf,1"])
def test_points_that_are_nowhere(run, sphere, out, text):
    for option, value in (("--point", text), ("--distance", f"{text},2,3")):
        assert "outside of the" in run("integrate", sphere, "-o", out, option, value).error()


# What a terminal gets to see


def test_escape_sequences_of_names_and_keys_do_not_reach_the_terminal(run, tmp_path, sphere):
    folder = sphere.rename(tmp_path / f"sphere{ESCAPE}")
    out = tmp_path / f"out{ESCAPE}"
    for more in ((), ("--json",)):
        ended = run("integrate", folder, "-o", out, "--threads", 1, *more)
        assert ended.code == 0
        assert "\x1b" not in ended.out + ended.err
    ended = run("evaluate", folder, "--threads", 1)
    assert "\x1b" not in ended.out + ended.err
    named = (folder / "normal_map.png").rename(tmp_path / f"map{ESCAPE}.png")
    words = ("--convention", "opengl", "--fov", 50, "--dry-run")
    ended = run("integrate", named, "-o", tmp_path / "out", *words)
    assert "note: map\\x1b" in ended.err
    assert "\x1b" not in ended.out + ended.err
    path = tmp_path / "camera.json"
    path.write_text(json.dumps({"camera_matrix": [[1, 0, ESCAPE], [0, 1, 1], [0, 0, 1]]}))
    assert "\x1b" not in run("camera", path).error()


@pytest.mark.slow
def test_markup_in_names_is_shown_as_it_is(start_on_terminal, sphere, tmp_path, out):
    folder = sphere.rename(tmp_path / "[link] [bold]x[:red]")
    assert "[link] [bold]x[:red]" in start_on_terminal(
        "integrate", folder, "-o", out, "--threads", 1
    )


@pytest.mark.slow
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams(sphere, out, closed):
    code = "from rayrelief.cli import main; main()"
    command = f'"{sys.executable}" -c "{code}" integrate "{sphere}" -o "{out}" --threads 1 {closed}'
    ended = subprocess.run(["sh", "-c", command], capture_output=True, timeout=TIMEOUT)
    assert ended.returncode == 0
    assert b"Traceback" not in ended.stdout + ended.stderr
    assert (out / "report.json").exists()


@pytest.mark.parametrize("closed", ["0", "1", "2"])
def test_what_is_opened_next_does_not_take_the_place_of_a_closed_stream(closed):
    code = (
        "import os; from rayrelief.cli.terminal.streams import open_closed_streams;"
        "open_closed_streams(); os._exit(os.open(os.devnull, os.O_RDONLY) <= 2)"
    )
    command = f'"{sys.executable}" -c "{code}" {closed}>&-'
    assert subprocess.run(["sh", "-c", command], timeout=TIMEOUT).returncode == 0


def test_help_without_room_for_it(run, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("rayrelief.cli.app.app", full)
    assert "No space left" in run("--help").error()


# Machines that are not as they should be


def test_a_library_that_cannot_be_loaded(run, sphere, out, monkeypatch, read_report):
    def unmapped(*_, **__):
        raise ImportError("libsome.so: failed to map segment from shared object")

    monkeypatch.setattr("rayrelief.cli.runs.run.integrate", unmapped)
    ended = run("integrate", sphere, "-o", out)
    assert ended.code == 1
    assert "a library cannot be loaded: libsome.so" in ended.lines("error: ")[0]
    assert "libsome.so" in read_report(out)["status"]["cause"]


@pytest.mark.slow
def test_threads_that_numba_cannot_start(start, sphere, out, monkeypatch):
    monkeypatch.setenv("NUMBA_THREADING_LAYER", "none such")
    process = start("integrate", sphere, "-o", out)
    printed, said = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, printed) == (1, "")
    assert "Traceback" not in said
    assert "Unset NUMBA_NUM_THREADS and NUMBA_THREADING_LAYER" in said.splitlines()[-1]


@pytest.mark.parametrize("host", ["999.1.1.1", "192.0.2.1", "a" * 100])
def test_a_page_is_served_at_an_address_of_this_machine(host):
    from rayrelief.errors import InputError
    from rayrelief.viewer.page.server import check_address

    check_address("127.0.0.1")
    with pytest.raises(InputError, match="cannot be served at"):
        check_address(host)


def test_a_port_is_one(run):
    assert run("view", "--port", 65536).code == 2


# Results that are none


@pytest.mark.parametrize("factor", [1e300, 1e-300, 1.0])
def test_known_depths_and_deviations_beyond_all_measure(run, sphere, out, tmp_path, factor):
    scene = gallery.sphere(24, 32)
    np.save(tmp_path / "known.npy", factor * np.where(scene.mask, np.asarray(scene.depth), np.nan))
    known = ("--depth-prior", tmp_path / "known.npy", "--depth-sigma", 1e21)
    ended = run("integrate", sphere, "-o", out, "--threads", 1, *known)
    if factor == 1:
        assert ended.code == 0
        assert "encountered" not in ended.err
    else:
        assert "known depths of up to" in ended.error()


@pytest.mark.parametrize("tilt", [1e-3, 1e-6])
def test_a_surface_that_cannot_be_still_has_its_report(run, out, tmp_path, read_report, tilt):
    generator = np.random.default_rng(0)
    rays = np.dstack(
        [*np.meshgrid(np.linspace(-1, 1, 48), np.linspace(-1, 1, 36)), np.ones((36, 48))]
    )
    normals = np.cross(rays, generator.normal(size=3)) - tilt * rays
    np.save(tmp_path / "map.npy", normals / np.linalg.norm(normals, axis=-1, keepdims=True))
    np.save(tmp_path / "rays.npy", rays)
    for method in ("ray-plane", "bini", "smooth", "ordered"):
        ended = run(
            *("integrate", tmp_path / "map.npy", "--convention", "opencv", "-o", out),
            *("--camera", tmp_path / "rays.npy", "--threads", 1, "--method", method),
            *("--mesh-format", "ply,glb,stl,obj", "--depth-format", "npy,npz,exr,png"),
        )
        assert ended.code == 1, ended
        assert "encountered" not in ended.err
        report = read_report(out)
        assert report["status"]["outcome"] in ("implausible", "not_finite", "no_equations")
        assert set(report["files"]) == {path.name for path in out.iterdir()}
        for path in out.iterdir():
            path.unlink()


# Signals and other runs


def test_a_second_run_replaces_the_first_as_a_whole(run, sphere, plane, out, read_report):
    assert run("integrate", sphere, "-o", out, "--threads", 1).code == 0
    assert run("integrate", plane, "-o", out, "--threads", 1).code == 0
    report = read_report(out)
    assert report["scene"] == "plane"
    assert set(report["files"]) == {path.name for path in out.iterdir()}


def test_an_interruption_that_was_renamed_is_still_one(run, sphere, out, monkeypatch):
    def compiled(*_, **__):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        except KeyboardInterrupt:
            raise SystemError("returned a result with an exception set") from None

    monkeypatch.setattr("rayrelief.cli.runs.run.integrate", compiled)
    ended = run("integrate", sphere, "-o", out)
    assert ended.code == 130
    assert ended.err.splitlines()[-1].startswith("interrupted: ")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_that_was_swallowed_ends_the_next_iteration(
    run, sphere, out, monkeypatch, number
):
    def compiled(*_, callback, **__):
        try:
            os.kill(os.getpid(), number)
            time.sleep(1)
        except KeyboardInterrupt:
            pass  # as llvmlite does in a callback
        callback(None)
        raise AssertionError("it went on")

    monkeypatch.setattr("rayrelief.cli.runs.run.integrate", compiled)
    ended = run("integrate", sphere, "-o", out)
    assert ended.code == 128 + number
    assert not out.exists()


def test_a_signal_while_files_take_their_places_waits(run, sphere, out, monkeypatch):
    from rayrelief.io.atomic import Batch

    commit = Batch.commit

    def interrupted(self, folder):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.1)
        commit(self, folder)

    monkeypatch.setattr(Batch, "commit", interrupted)
    assert run("integrate", sphere, "-o", out, "--threads", 1).code == 143
    assert (out / "report.json").exists()
    assert not [path for path in out.iterdir() if path.name.startswith(".")]


def test_a_crash_of_a_library_after_a_signal_is_not_the_exit_code():
    # As LLVM does when it has been interrupted while it compiled, and is taken down.
    code = """
import atexit, os, signal
from rayrelief.cli.terminal.signals import Handled

atexit.register(os.abort)
print("said", end="")
with Handled():
    os.kill(os.getpid(), signal.SIGTERM)
    signal.pause()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=TIMEOUT
    )
    assert (done.returncode, done.stdout, done.stderr) == (143, "said", "")


def test_outside_the_main_thread_signals_are_left_alone():
    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=signals.Handled().__enter__)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is before
