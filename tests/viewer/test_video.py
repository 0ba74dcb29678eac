"""Films of a result, rendered off-screen."""

from __future__ import annotations

import sys
from ctypes.util import find_library
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from rayrelief.cameras import Equirectangular, Pinhole
from rayrelief.errors import FileError, InputError
from rayrelief.synthetic import surroundings
from rayrelief.viewer import video
from rayrelief.viewer.finished import Finished
from rayrelief.viewer.layers import Layers
from rayrelief.viewer.video import Film, render_frames, write_video

SMALL = Film(size=64, seconds=1.0, rate=6)


@pytest.fixture
def dome(tmp_path):
    v, u = np.indices((24, 32)) - np.array([11.5, 15.5])[:, None, None]
    inside = u**2 + v**2 < 100
    depth = np.where(inside, 3.0 - 0.02 * np.sqrt(np.maximum(100 - u**2 - v**2, 0)), np.nan)
    return Finished("dome", tmp_path, depth, Pinhole(40.0, 40.0, 15.5, 11.5), Layers())


def frames(path):
    """Frames (N, H, W, 3) of a film, as another program reads them."""
    film, found = cv2.VideoCapture(str(path)), []
    while (read := film.read())[0]:
        found.append(read[1].astype(int))
    film.release()
    return np.stack(found)


drawn = pytest.mark.skipif(
    sys.platform == "linux" and not (find_library("EGL") or find_library("OSMesa")),
    reason="neither libEGL nor libOSMesa is installed",
)


@pytest.mark.slow
@drawn
@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
def test_a_film_turns_then_is_lit_from_all_sides(dome, tmp_path, suffix):
    pytest.importorskip("pyvista", reason="pyvista is not installed")
    steps = []
    write_video(tmp_path / f"turn{suffix}", dome, SMALL, advance=lambda: steps.append(1))
    film = frames(tmp_path / f"turn{suffix}")
    assert film.shape == (6, 64, 64, 3)
    assert len(steps) == SMALL.count
    surface = np.abs(film - film[0, 0, 0]).max(axis=-1) > 24
    assert surface[0].mean() > 0.1
    assert (surface[1] != surface[0]).any()  # it has turned
    lit = film[3:].mean(axis=-1)
    moved = np.abs(lit[1] - lit[0]).mean(), np.abs(lit[2] - lit[0]).mean()
    assert min(moved) > 1  # the light has


@pytest.mark.slow
@drawn
def test_a_room_around_the_camera_is_looked_into(tmp_path):
    pytest.importorskip("pyvista", reason="pyvista is not installed")
    camera = Equirectangular.full(48, 96)
    room = surroundings.wavy_room(48, 96, camera)
    assert room.depth is not None
    shown = Finished("room", tmp_path, room.depth, camera, Layers(normals=room.normals))
    frame = next(render_frames(shown, Film(size=64, seconds=1.0, rate=2, colour="normals")))
    red, _, blue = frame[32, 32].astype(int)
    assert blue > red + 40, "the wall ahead, which faces back, and not the one behind the camera"


def test_a_gif_is_smaller_unless_asked():
    assert Film.usual(Path("turn.gif")) == Film(size=480, rate=15)
    assert Film.usual(Path("turn.GIF"), size=64, rate=None) == Film(size=64, rate=15)
    assert Film.usual(Path("turn.mp4"), turn=180.0) == Film(turn=180.0)


@pytest.mark.parametrize("turn", [40.0, 180.0])
def test_the_end_joins_the_beginning(turn):
    way = np.array(list(Film(turn=turn).directions()))
    radians = np.radians(way)
    circle = np.concatenate((np.cos(radians), np.sin(radians)), axis=1)
    steps = np.abs(np.diff(circle, axis=0, append=circle[:1])).max(axis=1)
    assert steps.max() < 0.12  # no leap of more than 7 degrees from any frame to the next


def test_other_files_colours_and_sizes_are_refused(dome, tmp_path, monkeypatch):
    with pytest.raises(FileError, match=r"\.avi.*expected one of \.mp4, \.gif"):
        write_video(tmp_path / "turn.avi", dome)
    for size in (5, 4098, 301):
        with pytest.raises(InputError, match="an even number of pixels from 16 to 4096"):
            Film(size=size)
    monkeypatch.setitem(sys.modules, "pyvista", None)
    with pytest.raises(InputError, match=r"pyvista.*extra video.*pip install"):
        write_video(tmp_path / "turn.mp4", dome)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="nobody can write to /proc")
@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
def test_where_nothing_can_be_written_the_system_says_so(dome, suffix, monkeypatch):
    blank = np.zeros((64, 64, 3), np.uint8)
    monkeypatch.setattr(video, "render_frames", lambda *_: iter([blank, blank]))
    with pytest.raises(FileError, match=rf"/proc/turn\{suffix} cannot be written"):
        write_video(f"/proc/turn{suffix}", dome, SMALL)


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
@pytest.mark.parametrize("room", [100, 30_000])
def test_a_film_that_the_disk_cuts_short_replaces_none(dome, tmp_path, room, monkeypatch):
    import resource

    path, film = tmp_path / "turn.mp4", Film(size=64, seconds=2.0, rate=30)
    noise = np.random.default_rng(0).integers(0, 256, (film.count, 64, 64, 3), np.uint8)
    monkeypatch.setattr(video, "render_frames", lambda *_: iter(noise))
    write_video(path, dome, film)
    before, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    assert len(before) > room
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        with pytest.raises(FileError, match="disk was full"):
            write_video(path, dome, film)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == before


def test_a_surface_without_faces_is_refused(dome, tmp_path):
    pytest.importorskip("pyvista", reason="pyvista is not installed")
    v, u = np.indices(dome.depth.shape)
    points = replace(dome, depth=np.where((u + v) % 2, dome.depth, np.nan))
    with pytest.raises(InputError, match="dome has no faces"):
        write_video(tmp_path / "turn.mp4", points, SMALL)
    assert not list(tmp_path.iterdir())
