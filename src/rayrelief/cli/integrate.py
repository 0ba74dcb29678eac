"""rayrelief integrate: a normal map in, depth, mesh, picture and report out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rayrelief.cli.options import shared
from rayrelief.cli.options.surface import SurfaceOptions
from rayrelief.cli.terminal import console
from rayrelief.cli.terminal.console import plain_errors

DEPTH_FORMATS = ("npy", "npz", "exr", "png")
DEPTH_FORMAT = DEPTH_FORMATS[0]
MESH_FORMATS = ("ply", "obj", "glb", "stl")
_MANY = "Many maps"
_LARGE = "Maps larger than memory"


def integrate(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="MAPS...",
            help="Normal maps, folders that hold one, or folders of such folders.",
        ),
    ],
    out: shared.Out,
    *,
    depth_format: Annotated[
        str, typer.Option(help=f"Depth files: {', '.join(DEPTH_FORMATS)} (commas), or none.")
    ] = DEPTH_FORMAT,
    mesh_format: Annotated[
        str, typer.Option(help=f"Mesh files: {', '.join(MESH_FORMATS)} (commas), or none.")
    ] = "ply",
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Tell pixels, memory and expected time; write nothing."),
    ] = False,
    no_memory_check: shared.NoMemoryCheck = False,
    threads: shared.Threads = None,
    device: shared.Device = shared.DeviceChoice.CPU,
    as_json: shared.Json = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Say nothing but warnings and errors.")
    ] = False,
    workers: Annotated[
        str, typer.Option(metavar="auto|NUMBER", help="Maps at a time.", rich_help_panel=_MANY)
    ] = "auto",
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="tcp://...",
            help="Compute on a dask cluster that sees the same files; needs rayrelief[dask].",
            rich_help_panel=_MANY,
        ),
    ] = None,
    sequence: Annotated[
        bool,
        typer.Option(
            "--sequence",
            help="Frames of a video, in order: each starts from the surface of the last one, "
            "unless there is a cut.",
            rich_help_panel=_MANY,
        ),
    ] = False,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="4GB",
            help="Memory of all workers for a map in blocks: one whose path, or whose OUT, ends in "
            ".zarr, or OUT in .tif or .exr. Three quarters of what is available by default; zarr "
            "and TIFF need rayrelief[large].",
            rich_help_panel=_LARGE,
        ),
    ] = None,
    **chosen: Any,
) -> None:
    """Integrate normal maps: depth, mesh, preview and report land in the folder OUT.

    Each of several maps has a folder of its own in it; those that are done are not done again.
    """
    with plain_errors(), console.quiet(quiet):
        from rayrelief.batch.plan import frames, is_one_map
        from rayrelief.cli.options.groups import options_given
        from rayrelief.cli.options.mesh import MeshOptions
        from rayrelief.cli.options.settings import build_method
        from rayrelief.cli.runs.dry_run import dry_run as estimate
        from rayrelief.cli.runs.inputs import check_apart, check_not_replaced
        from rayrelief.cli.runs.large import check_options, integrate_large, is_large
        from rayrelief.cli.runs.many import check_height_name, integrate_many, worker_count
        from rayrelief.cli.runs.one_of_many import files_of
        from rayrelief.cli.runs.places import formats, result_files
        from rayrelief.cli.runs.run import run_and_write

        depth_formats = formats(depth_format, DEPTH_FORMATS, "--depth-format")
        mesh_formats = formats(mesh_format, MESH_FORMATS, "--mesh-format")
        meshing = MeshOptions.taken_from(chosen)
        meshing.check_formats(mesh_formats)
        source = shared.Input.taken_from(chosen)
        surface = SurfaceOptions.taken_from(chosen)
        method = build_method(chosen.pop("method"), chosen.pop("published"), chosen)
        count = worker_count(workers)
        if scheduler is not None and count is not None:
            raise typer.BadParameter("--scheduler has workers of its own: leave out --workers")
        how: Any = {"threads": threads, "memory_check": not no_memory_check, "as_json": as_json}
        given: dict[str, Any]
        made: Any = {"depth_formats": depth_formats, "mesh_formats": mesh_formats}
        made |= {"surface": surface, "device": device.value}
        if is_large(paths, out):
            asked = options_given()
            check_options(asked, device.value, paths)
            tiles = mesh_formats if "mesh_format" in asked else []
            given = {"source": source, "method": method, "memory": memory, "as_json": as_json}
            given |= {"workers": count, "scheduler": scheduler, "threads": threads}
            given |= {"mesh_formats": tiles, "memory_check": not no_memory_check}
            integrate_large(paths, out, dry_run=dry_run, **given)
            return
        if memory is not None:
            raise typer.BadParameter(
                "--memory goes with maps in blocks: zarr, tiled TIFF or EXR, with -o in .zarr, "
                ".tif or .exr"
            )
        paths = frames(paths) if sequence else paths
        if not is_one_map(paths):
            if dry_run:
                raise typer.BadParameter("--dry-run goes with one map, not with several")
            check_height_name(surface.height_file)
            given = {"source": source, "method": method, "meshing": meshing}
            given |= {"workers": count, "scheduler": scheduler}
            if sequence and (scheduler is not None or count is not None):
                raise typer.BadParameter("--sequence goes with neither --workers nor --scheduler")
            integrate_many(paths, out, sequence=sequence, **given, **how, **made)
            return
        for option, value in {"--scheduler": scheduler, "--workers": count}.items():
            if value is not None:
                raise typer.BadParameter(f"{option} goes with several maps, or with one in blocks")
        if sequence:
            raise typer.BadParameter("--sequence goes with several maps")
        (path,) = paths
        scene = source.scene(path)
        results = result_files(out, scene.camera, depth_formats, mesh_formats)
        written = results if surface.height_file is None else [*results, surface.height_file]
        check_not_replaced(files_of(path, source, meshing, surface), written)
        check_apart(written)
        if dry_run and device is shared.DeviceChoice.CUDA:
            raise typer.BadParameter("--dry-run tells time and memory of --device cpu alone")
        if dry_run:
            surface.arguments(scene)  # what a run would refuse
            body = meshing.solid
            estimate(scene, method, out, mesh_formats=mesh_formats, solid=body, **how)
        else:
            run_and_write(scene, method, out, mesh_options=meshing, **how, **made)
