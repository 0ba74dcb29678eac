"""DiLiGenT-MV: five objects of DiLiGenT from twenty views each; depth is ray-cast from the mesh.

The folder is ``RAYRELIEF_DILIGENT_MV``, or else ``diligent_mv`` in ``RAYRELIEF_DATA``:

    mvpmsData/<object>PNG/mesh_Gt.ply                          in the frame of the world, in mm
    mvpmsData/<object>PNG/Calib_Results.mat                    KK; Rc_<i> and Tc_<i> of view i
    mvpmsData/<object>PNG/view_<ii>/mask.png, Normal_gt.mat
    estNormal/<object>PNG_Normal_TIP19Li_view<i>.mat           photometric stereo, Normal_est

The names of meshes, normals and folders are those that public code uses. Not verified against a
copy of the data: the keys of the calibration, with camera = Rc world + Tc and pixels that count
from 0, the masks, the unit, and that the normals have OpenGL axes in the frame of the camera, as
those of DiLiGenT. If one of them were very different, the true normals would not be those of the
mesh: that is checked in every view. A lens distortion (kc) of the calibration is not read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import Literal

import numpy as np

import rayrelief
from benchmarks.accuracy.experiments import Cell, scaled
from benchmarks.accuracy.predictions import Cache, Task, input_digest, key_of
from benchmarks.accuracy.raycast import render
from benchmarks.accuracy.settings import Settings
from benchmarks.accuracy.tables import Sheet, by_name, score, sheet_of
from benchmarks.diligent import truth
from benchmarks.published import published_tables
from benchmarks.report import UnavailableError
from rayrelief.conventions import FloatArray
from rayrelief.errors import FileError
from rayrelief.io.matlab import read_mat
from rayrelief.io.sources import read_bytes
from rayrelief.mesh import Mesh
from rayrelief.methods.base import Method

Normals = Literal["true_normals", "photometric_stereo"]
NORMALS: tuple[Normals, ...] = ("true_normals", "photometric_stereo")
METHODS: dict[str, Method] = {
    "bini": rayrelief.BiNI.published(),
    "no_jumps": rayrelief.RayPlane.published(jumps=False, outlier_threshold=0.1),
    "jumps": rayrelief.RayPlane.published(outlier_threshold=0.1),
}
MOST_DEGREES = 10.0  # between true normals and those of the mesh, in the median


VIEWS = 20

# What trimesh raises for bytes that are no PLY file, or the beginning of one.
BROKEN = (ValueError, TypeError, KeyError, IndexError, EOFError, NotImplementedError)


@dataclass(frozen=True)
class ViewSource:
    """A view of an object, counted from 1, with its true or its estimated normals."""

    item: str
    view: int
    normals: Normals

    @property
    def name(self) -> str:
        """Object and view; both kinds of normals have the same true depth."""
        return f"{self.item} view {self.view}"

    def scene(self) -> rayrelief.Scene:
        """Read a view in the OpenCV camera frame, with the z-depth of the mesh."""
        root = data_folder()
        folder = object_folder(root, self.item)
        view = folder / f"view_{self.view:02d}"
        camera, mesh = read_view(folder, self.view)
        path, mask = view / "Normal_gt.mat", view / "mask.png"
        scene = rayrelief.read_scene(path, convention="opengl", camera=camera, mask=mask)
        seen = render(mesh, camera, *scene.mask.shape)
        check_normals(path, scene, seen)
        if self.normals == "photometric_stereo":
            path = root / "estNormal" / f"{self.item}PNG_Normal_TIP19Li_view{self.view}.mat"
            scene = rayrelief.read_scene(path, convention="opengl", camera=camera, mask=mask)
        return replace(scene, depth=np.where(scene.mask, truth(seen), np.nan), name=self.name)


def view_cells(settings: Settings, library: str) -> Iterator[Cell]:
    """Cells object by object, each with one task for every view."""
    table = published_tables()["diligent_mv"]
    root = data_folder()
    for item in wanted_objects(settings, table["objects"]):
        for kind in NORMALS:
            sources = [ViewSource(item, view, kind) for view in views(object_folder(root, item))]
            digests = {source: input_digest(source.scene()) for source in sources}
            for row, recipe in METHODS.items():
                method = scaled(recipe, settings.iterations)
                tasks = tuple(
                    Task(source, method, key_of(digest, method, library))
                    for source, digest in digests.items()
                )
                printed = table[kind][row][table["objects"].index(item)]
                yield Cell(f"{row} on {kind.replace('_', ' ')}", item, printed, tasks)


def view_sheet(title: str, command: str, cells: Sequence[Cell], cache: Cache) -> Sheet:
    """MADE, the mean over the views of an object."""
    scored, counts = [], {}
    for item, group in groupby(cells, key=lambda cell: cell.column):
        own = list(group)
        truths = {task.source.name: truth(task.source.scene()) for task in own[0].tasks}
        each = [score(cell, cache, by_name(truths)) for cell in own]
        scored += [replace(found, made=(float(np.mean(found.made)),)) for found in each]
        counts[item] = len(truths)
    notes = tuple(
        f"{item}: {count} views, the paper has {VIEWS}"
        for item, count in counts.items()
        if count != VIEWS
    )
    sheet = sheet_of("diligent_mv", title, command, scored, limits={})
    table = replace(sheet.table, notes=(*notes, *sheet.table.notes))
    # The objects are those of other maps: they do not count among the stable ones of DiLiGenT.
    return replace(sheet, table=table, scored=())


def data_folder() -> Path:
    """Folder of the data set."""
    named, data = os.environ.get("RAYRELIEF_DILIGENT_MV"), os.environ.get("RAYRELIEF_DATA")
    if named is not None:
        root = Path(named)
    elif data is not None:
        root = Path(data) / "diligent_mv"
    else:
        raise UnavailableError("neither RAYRELIEF_DILIGENT_MV nor RAYRELIEF_DATA names a folder")
    if not (root / "mvpmsData").is_dir():
        raise UnavailableError(f"there is no folder {root / 'mvpmsData'}")
    return root


def wanted_objects(settings: Settings, known: Sequence[str]) -> list[str]:
    """Objects of the table that a run covers."""
    wanted = [item for item in known if not settings.objects or item in settings.objects]
    if not wanted:
        raise UnavailableError("it needs an object that is left out")
    return wanted


def object_folder(root: Path, item: str) -> Path:
    """Folder of one object."""
    return root / "mvpmsData" / f"{item}PNG"


def views(folder: Path) -> list[int]:
    """Numbers of the views that an object has."""
    names = [path.name for path in folder.glob("view_[0-9][0-9]")]
    if not names:
        raise FileError(
            f"{folder} has no view",
            expected=f"folders view_01 to view_{VIEWS}",
            remedy="Leave this object out with --objects, or download it again",
        )
    return sorted(int(name.removeprefix("view_")) for name in names)


def read_view(folder: Path, view: int) -> tuple[rayrelief.Pinhole, Mesh]:
    """Camera of a view, and the mesh in its frame."""
    path = folder / "Calib_Results.mat"
    matrix = read_array(path, "KK", (3, 3))
    rotation = read_array(path, f"Rc_{view}", (3, 3))
    translation = read_array(path, f"Tc_{view}", (3, 1))
    if matrix[0, 1] != 0.0:
        raise FileError(
            f"{path} has the skew {matrix[0, 1]:g}",
            expected="0, that of a pinhole with upright pixels",
            remedy="Check that KK is a camera matrix",
        )
    if not np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-6):
        raise FileError(
            f"Rc_{view} of {path} is no rotation",
            expected="columns at right angles, of unit length",
            remedy="Download the file again",
        )
    camera = rayrelief.Pinhole(matrix[0, 0], matrix[1, 1], matrix[0, 2], matrix[1, 2])
    mesh = read_mesh(folder / "mesh_Gt.ply")
    return camera, replace(mesh, vertices=mesh.vertices @ rotation.T + translation.T)


def read_array(path: Path, key: str, shape: tuple[int, ...]) -> FloatArray:
    """Finite numbers of a known name and shape from a MATLAB file."""
    array = read_mat(path, (key,))
    if array.shape != shape or not np.isfinite(array).all():
        raise FileError(
            f"{key} of {path} has the shape {array.shape}",
            expected=f"finite numbers of the shape {shape}",
            remedy="Check that this is the calibration of DiLiGenT-MV",
        )
    return array.astype(np.float64)


def read_mesh(path: Path) -> Mesh:
    """Triangles of a PLY file."""
    import trimesh

    stream = BytesIO(read_bytes(path))
    try:
        mesh = trimesh.load(stream, file_type="ply", process=False)
    except BROKEN as error:
        raise FileError(
            f"{path} is damaged or cut off ({error})",
            expected="a complete PLY file",
            remedy="Write or download it again",
        ) from error
    if not isinstance(mesh, trimesh.Trimesh):
        raise FileError(
            f"{path} has no faces",
            expected="a mesh of triangles",
            remedy="Check that this is the mesh, not its points",
        )
    vertices = np.asarray(mesh.vertices, dtype=np.float64)
    return Mesh(vertices, np.asarray(mesh.faces, dtype=np.int32))


def check_normals(path: Path, scene: rayrelief.Scene, seen: rayrelief.Scene) -> None:
    """Raise FileError unless true normals are those of the mesh that the camera sees."""
    both = scene.mask & seen.mask
    cosines = np.einsum("ni,ni->n", scene.normals[both], seen.normals[both])
    cosines /= np.linalg.norm(scene.normals[both], axis=1)
    if both.sum() < scene.mask.sum() / 2:
        found = f"the mesh is behind {both.sum():,} of {scene.mask.sum():,} pixels of {path}"
    else:
        degrees = float(np.degrees(np.arccos(np.clip(np.nanmedian(cosines), -1.0, 1.0))))
        if degrees <= MOST_DEGREES:
            return
        found = f"the mesh and the normals of {path} differ by {degrees:.0f} degrees in the median"
    raise FileError(
        found,
        expected=f"at most {MOST_DEGREES:g} degrees, in most of the mask",
        remedy="Check pose and camera matrix, and that the normals have OpenGL axes",
    )
