"""Where a run writes: its folder, its files, their formats."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import typer

from rayrelief.cameras.base import Camera
from rayrelief.errors import FileError
from rayrelief.io.atomic import target_of
from rayrelief.io.reports import REPORT_NAME


def check_folder(out: Path, results: Iterable[Path] = ()) -> None:
    """Raise FileError before a long run rather than after it, if its results have no place."""
    try:
        existing = next(folder for folder in (out, *out.absolute().parents) if _is_there(folder))
    except (OSError, ValueError) as error:  # a link to itself, a null character
        raise FileError(
            f"{out} cannot be used: {getattr(error, 'strerror', None) or error}",
            expected="a folder for the results",
            remedy="Choose another -o",
        ) from error
    found = "may not be written to" if existing.is_dir() else "is a file"
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise FileError(
            f"{existing} {found}", expected="a folder for the results", remedy="Choose another -o"
        )
    for path in results:
        target_of(path)


def _is_there(path: Path) -> bool:
    """Whether a path leads to something, or is a link that does not."""
    if os.path.lexists(path):
        path.stat()
        return True
    return False


def result_files(
    out: Path, camera: Camera, depth_formats: list[str], mesh_formats: list[str]
) -> list[Path]:
    """Paths of all that a run writes, in the order of writing."""
    from rayrelief.cameras.ray_map import RayMap
    from rayrelief.viewer.layers import NAME as LAYERS

    depths = (f"depth.{suffix}" for suffix in depth_formats)
    meshes = (f"mesh.{suffix}" for suffix in mesh_formats)
    layers = [LAYERS] if depth_formats else []  # they are looked at together
    rays = "rays.npy" if isinstance(camera, RayMap) else "camera.json"
    return [out / name for name in (*depths, *meshes, "preview.png", *layers, rays, REPORT_NAME)]


def formats(text: str, known: tuple[str, ...], option: str) -> list[str]:
    """Suffixes out of a comma-separated option; "none" for none."""
    if text == "none":
        return []
    chosen = [part.strip().lower().lstrip(".") for part in text.split(",") if part.strip()]
    unknown = [part for part in chosen if part not in known]
    if unknown or not chosen:
        raise typer.BadParameter(
            f"{option} {text!r}: expected some of {', '.join(known)}, separated by commas, or none"
        )
    return list(dict.fromkeys(chosen))
