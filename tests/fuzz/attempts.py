"""What is done with a file, by what it is read as: it may be refused, but nothing may break."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

import rayrelief
from fuzz.seeds import HEIGHT, WIDTH
from rayrelief.cameras.survey import survey
from rayrelief.cli.app import app
from rayrelief.errors import IntegrationWarning
from rayrelief.io.depth import read_depth
from rayrelief.io.mesh_reading import read_triangles
from rayrelief.large.arrays import MapFile
from rayrelief.synthetic.gallery import sphere
from rayrelief.viewer.report_page import write_page

SPHERE = sphere(HEIGHT, WIDTH)
OUR_WORDS = ("note: ", "warning: ", "error: ")
MOST_PIXELS = 10_000  # of a map that is also integrated


def read_as_normals(path: Path) -> None:
    """Read a map, and integrate it if that is quickly done."""
    scene = rayrelief.read_scene(path, convention="opencv", camera="fov:50")
    _integrate(scene.normals, scene.camera, scene.mask)


def read_as_mask(path: Path) -> None:
    """Read a mask of the sphere, and integrate what is left of it."""
    scene = sphere(HEIGHT, WIDTH)
    normals = path.with_name("sphere.npy")
    np.save(normals, scene.normals)
    found = rayrelief.read_scene(normals, convention="opencv", camera=scene.camera, mask=path)
    _integrate(found.normals, found.camera, found.mask)


def read_as_depth(path: Path) -> None:
    """Read a depth map."""
    read_depth(path)


def read_as_camera(path: Path) -> None:
    """Read a camera, look through it, and integrate the sphere seen by it."""
    found = rayrelief.read_camera(path, height=None, width=None)
    if found.resolution is not None:
        survey(found, found.resolution[1], found.resolution[0])
    scene = sphere(HEIGHT, WIDTH)
    camera = rayrelief.read_camera(path, height=HEIGHT, width=WIDTH)
    _integrate(scene.normals, camera, scene.mask)


def read_as_mesh(path: Path) -> None:
    """Read triangles."""
    read_triangles(path)


def read_as_large(path: Path) -> None:
    """Read a map in parts: an EXR, a TIFF, or a folder of zarr that comes in an archive."""
    found = MapFile.at(unpacked(path), "opencv")
    height, width = found.shape
    found.read((slice(0, min(height, 64)), slice(0, min(width, 64))))


def unpacked(path: Path) -> Path:
    """Folder that an archive holds; any other file as it is."""
    if path.suffix != ".zip":
        return path
    folder = path.with_suffix("")
    shutil.rmtree(folder, ignore_errors=True)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    return folder


def read_as_report(path: Path) -> None:
    """Read the report of a run, and write a page about it."""
    folder = path.with_name("results")
    folder.mkdir(exist_ok=True)
    (folder / "report.json").write_bytes(path.read_bytes())
    write_page(folder / "page.html", [folder])


def _integrate(normals: Any, camera: Any, mask: Any) -> None:
    if np.size(mask) > MOST_PIXELS:
        return
    result = rayrelief.integrate(
        np.asarray(normals),
        camera,
        mask=np.asarray(mask),
        method=rayrelief.RayPlane(max_iterations=5),
        on_failure="return",
    )
    result.mean_angle()
    repr(result)


def misbehave(path: Path) -> None:
    """Do what the name of a file says: so the watchdog itself is tested."""
    if path.name == "sleep":
        time.sleep(1000)
    elif path.name == "print":
        os.write(1, b"x")
    elif path.name == "network":
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", 9), timeout=1)
    elif path.name == "memory":
        np.ones(1_200_000_000, np.uint8)
    elif path.name == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    else:
        1 / 0  # noqa: B018


@contextlib.contextmanager
def unheard_libraries() -> Iterator[None]:
    """Fail if C libraries write to the standard error, past Python."""
    saved = os.dup(2)
    with tempfile.TemporaryFile() as heard:
        os.dup2(heard.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)
        heard.seek(0)
        said = heard.read()
        assert not said, said


def by_command(role: str) -> Callable[[Path], None]:
    """Let the command read a file: it ends with 0, 1 or 2, and says on stderr what it says."""

    def attempt(path: Path) -> None:
        known = path.with_name("known.npy")
        np.save(known, np.where(SPHERE.mask[..., None], SPHERE.normals, 0.0))
        out = path.with_name("out")
        shutil.rmtree(out, ignore_errors=True)
        run = ["integrate", str(known), "--convention", "opencv", "-o", str(out)]
        run += ["--threads", "1", "--max-iterations", "3"]
        seen = [*run, "--fov", "50"]
        words = {
            "normals": ["integrate", str(path), *seen[2:]],
            "mask": [*seen, "--mask", str(path)],
            "depth": [*seen, "--depth-prior", str(path)],
            "camera": [*run, "--camera", str(path)],
            "mesh": ["doctor", str(path)],
            "report": ["camera", str(path)],
            "large": ["integrate", "", *seen[2:], "--memory", "1GB"],
        }[role]
        if role == "large":
            words[1], words[words.index(str(out))] = str(unpacked(path)), f"{out}.zarr"
        with warnings.catch_warnings(), unheard_libraries():
            warnings.simplefilter("ignore", IntegrationWarning)
            ended = CliRunner().invoke(app, words)
        assert ended.exit_code in (0, 1, 2), ended.exit_code
        assert isinstance(ended.exception, SystemExit | None), repr(ended.exception)
        odd = [line for line in ended.stderr.splitlines() if not line.startswith(OUR_WORDS)]
        assert not odd or ended.exit_code == 2, odd
        assert "\x1b" not in ended.output

    return attempt


ATTEMPTS: dict[str, Callable[[Path], None]] = {
    "normals": read_as_normals,
    "mask": read_as_mask,
    "depth": read_as_depth,
    "camera": read_as_camera,
    "mesh": read_as_mesh,
    "report": read_as_report,
    "large": read_as_large,
    "misbehave": misbehave,
}
BY_COMMAND = " by command"
ATTEMPTS |= {role + BY_COMMAND: by_command(role) for role in ATTEMPTS if role != "misbehave"}
