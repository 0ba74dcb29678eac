"""rayrelief integrate: a normal map in, depth, mesh, picture and report out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rayrelief.cli import options
from rayrelief.cli.console import plain_errors
from rayrelief.cli.surface_options import SurfaceOptions

DEPTH_FORMATS = ("npy", "npz", "exr", "png")
MESH_FORMATS = ("ply", "obj", "glb", "stl")


def integrate(
    path: Annotated[Path, typer.Argument(help="A normal map, or a folder that holds one.")],
    out: options.Out,
    *,
    depth_format: Annotated[
        str, typer.Option(help=f"Depth files: {', '.join(DEPTH_FORMATS)} (commas), or none.")
    ] = "npy",
    mesh_format: Annotated[
        str, typer.Option(help=f"Mesh files: {', '.join(MESH_FORMATS)} (commas), or none.")
    ] = "ply",
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Tell pixels, memory and expected time; write nothing."),
    ] = False,
    no_memory_check: options.NoMemoryCheck = False,
    threads: options.Threads = None,
    device: options.Device = options.DeviceChoice.CPU,
    as_json: options.Json = False,
    **chosen: Any,
) -> None:
    """Integrate a normal map: depth, mesh, preview and report land in the folder OUT."""
    with plain_errors():
        from rayrelief.cli.dry_run import dry_run as estimate
        from rayrelief.cli.inputs import check_not_replaced, scene_files
        from rayrelief.cli.mesh_options import MeshOptions
        from rayrelief.cli.run import formats, result_files, run_and_write
        from rayrelief.cli.settings import build_method

        depth_formats = formats(depth_format, DEPTH_FORMATS, "--depth-format")
        mesh_formats = formats(mesh_format, MESH_FORMATS, "--mesh-format")
        meshing = MeshOptions.taken_from(chosen, mesh_formats)
        source = options.Input.taken_from(chosen)
        surface = SurfaceOptions.taken_from(chosen)
        method = build_method(chosen.pop("method"), chosen.pop("published"), chosen)
        scene = source.scene(path)
        results = result_files(out, scene.camera, depth_formats, mesh_formats)
        read = scene_files(path, source.camera_text(), source.mask)
        read += [file for file in (meshing.photo, surface.depth_prior) if file is not None]
        written = results if surface.height_file is None else [*results, surface.height_file]
        check_not_replaced(read, written)
        how: Any = {"threads": threads, "memory_check": not no_memory_check, "as_json": as_json}
        if dry_run and device is options.DeviceChoice.CUDA:
            raise typer.BadParameter("--dry-run tells time and memory of --device cpu alone")
        if dry_run:
            estimate(scene, method, out, mesh_formats=mesh_formats, **how)
        else:
            how |= {"depth_formats": depth_formats, "mesh_formats": mesh_formats}
            how |= {"mesh_options": meshing, "surface": surface, "device": device.value}
            run_and_write(scene, method, out, **how)
