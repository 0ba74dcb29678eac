"""What a run depends on, so that what an earlier one left is gone on with by the same run alone."""

from __future__ import annotations

import hashlib
import secrets
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from rayrelief.batch.fingerprint import fingerprint
from rayrelief.cameras.base import Camera
from rayrelief.cameras.ray_map import RayMap
from rayrelief.errors import InputError
from rayrelief.large.job import Job
from rayrelief.large.store import RUN, Store

FORMAT = 4  # of the files of a working folder: another one is not gone on with
REFUSED, OWN = "refused", "folder"
RAYS = 33  # along each side of an image, of a camera that numbers describe


@runtime_checkable
class Filed(Protocol):
    """A map in files."""

    def files(self) -> dict[str, Path]:
        """Files and folders that it is read from, by what they hold: "map", and perhaps "mask"."""


def kept(job: Job, folder: Path) -> Store | None:
    """Where the same run has left its parts in a working folder, in a folder of their own.

    None if it left nothing; InputError if the working folder holds parts of another run.
    """
    return _kept(_identity(job), folder)


def _kept(own: dict[str, str], folder: Path) -> Store | None:
    noted = Store(folder).noted(RUN)
    if noted is None or noted.get(REFUSED):
        return None
    told = noted.get(RUN)
    before = told if isinstance(told, dict) else {}
    changed = [name for name in own if before.get(name) != own[name]]
    if changed:
        raise InputError(
            f"{folder} holds parts of a run with other settings, or another map "
            f"(changed: {', '.join(changed)})",
            expected="the same map, camera, method and memory",
            remedy="Give the same ones to go on, or remove the folder to begin again",
        )
    return Store(folder / noted[OWN])


def claim(job: Job, folder: Path) -> Store:
    """Where a run keeps its parts in a working folder; InputError if that holds those of another.

    What the same run has left is there, in a folder whose name no other run knows.
    """
    folder.mkdir(parents=True, exist_ok=True)
    working, own = Store(folder), _identity(job)
    parts = _kept(own, folder)
    if parts is None:
        if working.noted(RUN) is not None:  # a map was refused: there is nothing to go on with
            working.clear()
        parts = Store(folder / secrets.token_hex(8))
    working.note(RUN, {RUN: own, OWN: parts.folder.name, **job.layout.as_lists()})
    parts.folder.mkdir(exist_ok=True)
    return parts


def give_up(job: Job, folder: Path) -> None:
    """Leave nothing in the folder that another run could go on with: the map was refused."""
    working = Store(folder)
    working.note(RUN, {REFUSED: True, **job.layout.as_lists()})
    working.clear()


def _identity(job: Job) -> dict[str, str]:
    """Digests of all that decides what is computed, by what they stand for."""
    files = job.source.files() if isinstance(job.source, Filed) else {}
    return {
        "version": fingerprint([FORMAT, _version()], ()),
        "map": fingerprint([job.source, *map(_mark, [files["map"]] if "map" in files else [])], ()),
        "mask": fingerprint([_mark(files["mask"])] if "mask" in files else [], ()),
        "camera": fingerprint([_camera_mark(job.camera), job.kind], ()),
        "method": fingerprint([job.method], ()),
        "blocks": fingerprint([job.layout], ()),
    }


def _mark(path: Path) -> list[Any]:
    """Names, sizes and times of the files of a map: its content is too large to be read for it."""
    files = sorted(file for file in path.rglob("*")) if path.is_dir() else [path]
    digest = hashlib.sha256()
    for file in files:
        if file.is_file():
            about = file.stat()
            name = file.relative_to(path).as_posix()
            digest.update(repr((name, about.st_size, about.st_mtime_ns)).encode())
    return [str(path), digest.hexdigest()]


def _camera_mark(camera: Camera) -> list[str]:
    """Its parameters in full, and rays all over the image; of a ray map every ray."""
    height, width = camera.resolution[::-1] if camera.resolution else (1, 1)
    grid = np.stack(np.meshgrid(*(np.linspace(0, n - 1, RAYS) for n in (width, height))), axis=-1)
    rays = camera.unit if isinstance(camera, RayMap) else camera.directions(grid)
    digest = hashlib.sha256(np.ascontiguousarray(rays).data).hexdigest()
    return [camera.summary(), repr(camera.parameters()), repr(camera.resolution), digest]


def _version() -> str | None:
    try:
        return version("rayrelief")
    except PackageNotFoundError:  # of sources that were not installed
        return None
