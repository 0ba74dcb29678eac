"""A film of a result: it turns, then the light goes around it."""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rayrelief.checks import Rule, is_count, is_not_negative, require
from rayrelief.conventions import from_opencv
from rayrelief.errors import FileError, InputError
from rayrelief.io.atomic import atomic_write
from rayrelief.io.sources import as_path, check_suffix, open_file
from rayrelief.meshing import CUT
from rayrelief.optional import library
from rayrelief.shading import PAPER, Image
from rayrelief.viewer.display import colourings
from rayrelief.viewer.finished import Finished
from rayrelief.viewer.placed import Placed

SUFFIXES = (".mp4", ".gif")
SMALLER = {"size": 480, "rate": 15}  # usual for a .gif, which holds every frame as a picture
CODEC = "vp09"  # what browsers play, and OpenCV brings along
EYE = 4.0  # radii from the middle
FIELD = 30.0  # degrees
PITCH = 10.0  # degrees from above
LIGHT = 35.0  # degrees to the left and up from the eye

_SIZE = Rule(
    # Of an odd one an .mp4 would lose the last row and column.
    lambda size: is_count(size) and 16 <= size <= 4096 and size % 2 == 0,
    "an even number of pixels from 16 to 4096",
    "Use 720",
)
_NUMBERS = Rule(is_not_negative, "a finite number >= 0", "Leave it out")
_FRAMES = Rule(lambda count: 2 <= count <= 10_000, "2 to 10,000 frames", "Use 8 s of 30 each")


@dataclass(frozen=True, kw_only=True)
class Film:
    """How long a film is, how large, and what it shows.

    Attributes
    ----------
    size, seconds, rate
        Pixels of either side, its length, and frames per second.
    turn
        Degrees that the surface turns to either side; 180 for all the way around.
    colour
        A colouring of ``display.colourings``.
    """

    size: int = 720
    seconds: float = 8.0
    rate: int = 30
    turn: float = 40.0
    colour: str = "clay"

    def __post_init__(self) -> None:
        _SIZE.check("the size", self.size)
        for name in ("seconds", "rate", "turn"):
            _NUMBERS.check(name, getattr(self, name))
        _FRAMES.check("seconds * rate", self.seconds * self.rate)

    @classmethod
    def usual(cls, path: Path, **chosen: Any) -> Film:
        """Film for a file, with what was chosen; of None nothing was."""
        known = {name: value for name, value in chosen.items() if value is not None}
        return cls(**((SMALLER if path.suffix.lower() == ".gif" else {}) | known))

    @property
    def count(self) -> int:
        """Number of frames."""
        return round(self.seconds * self.rate)

    def directions(self) -> Iterator[tuple[float, float, float, float]]:
        """Yaw and pitch of the eye, then of the light, in degrees, of each frame.

        In the first half the surface turns under a light at the eye's upper left; in the second
        the light goes around once. The end joins the beginning.
        """
        for number in range(self.count):
            phase = 2 * number / self.count
            if phase < 1:
                swing = 360 * phase if self.turn >= 180 else self.turn * math.sin(math.tau * phase)
                yield swing, PITCH, swing - LIGHT, PITCH + LIGHT
            else:
                around, far = math.radians(225 + 360 * (phase - 1)), math.hypot(LIGHT, LIGHT)
                yield 0.0, PITCH, far * math.cos(around), PITCH - far * math.sin(around)


def write_video(
    path: str | os.PathLike[str],
    shown: Finished,
    film: Film | None = None,
    *,
    advance: Callable[[], None] = lambda: None,
) -> None:
    """Write a film of a result as .mp4 or .gif, rendered off-screen by the optional pyvista.

    Parameters
    ----------
    path
        The suffix chooses the format.
    shown
        What ``read_finished`` read.
    film
        Its length, size and colours.
    advance
        Called after each frame.
    """
    path = as_path(path)
    check_video_suffix(path)
    film = film or Film.usual(path)
    frames = _counted(render_frames(shown, film), advance)
    with atomic_write(path) as temporary:
        write = _write_gif if path.suffix.lower() == ".gif" else _write_mp4
        write(temporary, frames, film)


def check_video_suffix(path: Path) -> None:
    """Raise FileError unless the suffix is one that films are stored with."""
    check_suffix(path, SUFFIXES, "a film")


def render_frames(shown: Finished, film: Film) -> Iterator[Image]:
    """Frames (size, size, 3), RGB, one after the other."""
    pyvista = library("pyvista", "a film", "video")
    known = colourings(shown)
    if film.colour not in known:
        raise InputError(
            f"the colour {film.colour!r} for {shown.name}",
            expected="one that the result has: " + ", ".join(known),
            remedy="Leave it out for clay, or integrate the map again with what it needs",
        )
    mesh, _ = Placed.of(shown).mesh(CUT)
    require(
        len(mesh.faces),
        f"the surface of {shown.name} has no faces",
        "four pixels that are joined",
        "Check the mask, and how the run ended",
    )
    u, v = mesh.known_pixels().T
    surface = pyvista.PolyData.from_regular_faces(
        from_opencv(mesh.vertices, "opengl").astype(np.float32), mesh.faces
    )
    surface.point_data["colour"] = known[film.colour]().picture[v, u]
    with pyvista.vtk_verbosity("off"):  # it says that there is no display, and does without
        plotter = pyvista.Plotter(
            off_screen=True, window_size=(film.size, film.size), lighting="none"
        )
        try:
            plotter.set_background([level / 255 for level in PAPER])
            plotter.add_mesh(
                surface,
                scalars="colour",
                rgb=True,
                smooth_shading=True,
                ambient=0.25,
                diffuse=0.8,
                # A room around the camera is looked into, through the backs of its walls.
                culling="back" if shown.view.kind == "distance" else None,
            )
            light = pyvista.Light(light_type="scene light", intensity=1.0)
            plotter.add_light(light)
            plotter.camera.focal_point, plotter.camera.up = (0, 0, 0), (0, 1, 0)
            plotter.camera.view_angle = FIELD
            for yaw, pitch, light_yaw, light_pitch in film.directions():
                plotter.camera.position = EYE * _direction(yaw, pitch)
                light.position = 10 * _direction(light_yaw, light_pitch)
                plotter.camera.reset_clipping_range()
                plotter.render()  # a screenshot alone is that of the frame before
                yield np.ascontiguousarray(plotter.screenshot(None, return_img=True)[..., :3])
        finally:
            plotter.close()


def _direction(yaw: float, pitch: float) -> Any:
    """Unit vector to the right by yaw and up by pitch of the one towards the viewer."""
    across, up = math.radians(yaw), math.radians(pitch)
    return np.array(
        [math.cos(up) * math.sin(across), math.sin(up), math.cos(up) * math.cos(across)]
    )


def _counted(frames: Iterator[Image], advance: Callable[[], None]) -> Iterator[Image]:
    for frame in frames:
        yield frame
        advance()


def _write_mp4(path: Path, frames: Iterator[Image], film: Film) -> None:
    import cv2

    path.touch()  # where nothing can be written the system says why, and OpenCV does not
    code = cv2.VideoWriter.fourcc(*CODEC)
    writer = cv2.VideoWriter(str(path), cv2.CAP_FFMPEG, code, film.rate, (film.size, film.size))
    if not writer.isOpened():
        raise FileError(
            "this build of OpenCV cannot write .mp4 files",
            expected="one with FFmpeg and VP9, such as opencv-python-headless from PyPI",
            remedy="Install that one, or write a .gif",
        )
    try:
        for frame in frames:
            writer.write(frame[..., ::-1])
    finally:
        writer.release()
    _check_mp4(path, film.count)


def _check_mp4(path: Path, count: int) -> None:
    """OSError unless a film holds so many frames: of a full disk its writer says nothing."""
    import cv2

    open_file(path).close()  # which refuses what is no regular file
    film = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG)
    held = 0
    while film.grab():
        held += 1
    film.release()
    if held != count:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _write_gif(path: Path, frames: Iterator[Image], film: Film) -> None:
    pillow = library("PIL.Image", "a .gif film", "video")
    pictures = (pillow.fromarray(frame).quantize(128) for frame in frames)
    first = next(pictures)
    first.save(
        path, save_all=True, append_images=pictures, duration=round(1000 / film.rate), loop=0
    )
