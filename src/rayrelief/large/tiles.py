"""The mesh of a finished map as tiles: one file per core, and one of all of it with few faces."""

from __future__ import annotations

import json
import math
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rayrelief.batch.base import Engine
from rayrelief.batch.running import run
from rayrelief.cameras.view import points_at
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.errors import RayreliefError
from rayrelief.io.atomic import write_whole
from rayrelief.io.meshes import write_mesh
from rayrelief.io.sources import BROKEN, parse_json, read_bytes
from rayrelief.large.equations import CUT
from rayrelief.large.job import Job
from rayrelief.large.joining import equations_of
from rayrelief.large.layout import Window, shape_of
from rayrelief.large.running import Finished, Progress
from rayrelief.mesh import Mesh
from rayrelief.meshing import LONGEST
from rayrelief.surface import grid_mesh

OVERVIEW_PIXELS = 500_000
INDEX, OVERVIEW = "tiles.json", "overview.glb"
TILE = re.compile(rf"tile_\d+_\d+\.glb|{re.escape(OVERVIEW)}")
LARGEST = 500_000_000  # bytes of an index


def write_tiles(folder: Path, finished: Finished, engine: Engine, progress: Progress) -> None:
    """Write all tiles, the overview, and the index that says where each of them is."""
    discard_tiles(folder)  # else those of an earlier run lie beside these
    folder.mkdir(parents=True, exist_ok=True)
    job, numbers = finished.job, range(len(finished.job.layout))
    entries: dict[int, dict[str, Any]] = {}
    for index, end in run(engine, partial(_write_tile, job, folder), numbers):
        if isinstance(end, BaseException):
            raise end
        entries[index] = end
        progress("writing tiles", len(entries), len(numbers))
    height, width = job.layout.shape
    stride = max(1, math.ceil(math.sqrt(height * width / OVERVIEW_PIXELS)))
    listed = {
        "frame": "opencv",  # of these bounds: x right, y down, z forward
        "overview": {"every": stride, **_written(folder / OVERVIEW, _overview(job, stride))},
        "tiles": [entries[number] for number in numbers if entries[number]["file"]],
    }
    write_whole(folder / INDEX, json.dumps(listed, indent=2) + "\n")


def discard_tiles(folder: Path) -> int:
    """Remove the tiles that the index of an earlier run lists, then the index; their number."""
    listed = _listed(folder)
    for name in listed:
        (folder / name).unlink(missing_ok=True)
    (folder / INDEX).unlink(missing_ok=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
    return len(listed)


def unlisted(folder: Path) -> list[str]:
    """Names of what else lies in the folder of the tiles."""
    known = {*_listed(folder), INDEX}
    return sorted(path.name for path in folder.iterdir() if path.name not in known)


def _listed(folder: Path) -> list[str]:
    """Names of the tiles that an index lists; none where it is missing or not ours."""
    if not (folder / INDEX).is_file():
        return []
    try:
        index = parse_json(read_bytes(folder / INDEX, largest=LARGEST))
        names = [entry["file"] for entry in (index["overview"], *index["tiles"])]
        return [name for name in names if name is not None and TILE.fullmatch(name)]
    except (RayreliefError, *BROKEN):
        return []


def _write_tile(job: Job, folder: Path, number: int) -> dict[str, Any]:
    """Write the mesh of a core, with the row and column after it, where the next ones begin."""
    block = job.layout.block(number)
    (rows, columns), (height, width) = block.core, job.layout.shape
    window = (
        slice(rows.start, min(rows.stop + 1, height)),
        slice(columns.start, min(columns.stop + 1, width)),
    )
    depth = job.store.window(job.layout, "depth", window).astype(np.float64)
    inside = np.isfinite(depth)
    entry: dict[str, Any] = {
        "rows": [rows.start, rows.stop],
        "columns": [columns.start, columns.stop],
        "file": None,
    }
    if np.count_nonzero(inside) < 3 or min(depth.shape) < 2:
        return entry
    points = _points(job, window, depth)
    mesh = grid_mesh(points, inside, *_cuts(job, window))
    return entry | _written(folder / f"tile_{rows.start}_{columns.start}.glb", mesh)


def _points(job: Job, window: Window, depth: FloatArray, every: int = 1) -> FloatArray:
    """Points (h, w, 3) of the depth of every so many pixels of a window."""
    rows, columns = (np.arange(part.start, part.stop, every) for part in window)
    pixels = np.stack(np.meshgrid(columns, rows), axis=-1).astype(np.float64)
    return points_at(job.camera, job.kind, pixels, depth)


def _cuts(job: Job, window: Window) -> tuple[BoolArray, BoolArray]:
    """Where the method cut the surface: to the right of each pixel, and below it."""
    images = equations_of(job, window)
    cuts = [np.ones(shape_of(window), np.bool_) for _ in range(2)]
    if job.connectivity == "diagonal":  # the method has decided nothing there
        return ~cuts[0], ~cuts[1]
    for p in range(2):
        say = images.conductance[p]
        found = say[say > 0]
        cuts[p] = say <= (CUT * float(np.median(found)) if found.size else 0.0)
    return cuts[0], cuts[1]


def _overview(job: Job, every: int) -> Mesh:
    """Mesh of every so many pixels, cut where it is steeper than any surface."""
    height, width = job.layout.shape
    bands = []
    for top in range(0, height, every):
        band = job.store.window(job.layout, "depth", (slice(top, top + 1), slice(0, width)))
        bands.append(band[:, ::every])
    depth = np.concatenate(bands).astype(np.float64)
    whole = slice(0, height), slice(0, width)
    points = _points(job, whole, depth, every)
    cuts = []
    for axis in (1, 0):
        length = np.linalg.norm(np.diff(points, axis=axis), axis=-1)
        # From pixel to pixel a surface that faces the camera goes as far as the rays are apart.
        usual = float(np.nanmedian(length)) if np.isfinite(length).any() else np.inf
        far = ~(length <= LONGEST * usual)
        after = [(0, 0), (0, 0)]
        after[axis] = (0, 1)
        cuts.append(np.pad(far, after, constant_values=True))
    return grid_mesh(points, np.isfinite(depth), *cuts)


def _written(path: Path, mesh: Mesh) -> dict[str, Any]:
    """What an index says of a mesh, which is written if it has faces."""
    if not len(mesh.faces):
        return {"file": None}
    write_mesh(path, mesh)
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    return {
        "file": path.name,
        "faces": len(mesh.faces),
        "low": low.tolist(),
        "high": high.tolist(),
    }
