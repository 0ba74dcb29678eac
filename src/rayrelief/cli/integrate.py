"""rayrelief integrate: a normal map in, depth, mesh, picture and report out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rayrelief.cli import options
from rayrelief.cli.console import plain_errors, quiet_libraries

DEPTH_FORMATS = ("npy", "npz", "exr", "png")
MESH_FORMATS = ("ply", "obj", "glb", "stl")


def integrate(
    path: Annotated[Path, typer.Argument(help="A normal map, or a folder that holds one.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the results.")],
    *,
    convention: options.Convention = None,
    camera: options.CameraText = None,
    fov: options.Fov = None,
    mask: options.Mask = None,
    which: options.Which = None,
    k_order: options.KOrder = options.KOrderName.AUTO,
    method: options.MethodOption = options.MethodName.RAY_PLANE,
    published: options.Published = False,
    max_iterations: options.MaxIterations = None,
    tolerance: options.Tolerance = None,
    connectivity: options.Connectivity = None,
    sharpness: options.Sharpness = None,
    jumps: options.Jumps = None,
    activation_slope: options.ActivationSlope = None,
    activation_threshold: options.ActivationThreshold = None,
    midpoint: options.Midpoint = None,
    outlier_threshold: options.OutlierThreshold = None,
    facing_away: options.FacingAway = None,
    outlier_ratio: options.OutlierRatio = None,
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
    threads: options.Threads = None,
    as_json: options.Json = False,
) -> None:
    """Integrate a normal map: depth, mesh, preview and report land in the folder OUT."""
    with plain_errors():
        from rayrelief.cli.dry_run import dry_run as estimate
        from rayrelief.cli.inputs import check_not_replaced, scene_files
        from rayrelief.cli.run import formats, result_files, run_and_write
        from rayrelief.datasets.folder import read_scene

        depth_formats = formats(depth_format, DEPTH_FORMATS, "--depth-format")
        mesh_formats = formats(mesh_format, MESH_FORMATS, "--mesh-format")
        recipe = options.build_method(
            method,
            published,
            facing_away=facing_away,
            outlier_ratio=outlier_ratio,
            connectivity=connectivity,
            tolerance=tolerance,
            max_iterations=max_iterations,
            sharpness=sharpness,
            jumps=jumps,
            activation_slope=activation_slope,
            activation_threshold=activation_threshold,
            midpoint=midpoint,
            outlier_threshold=outlier_threshold,
        )
        camera_words = options.camera_text(camera, fov, which, k_order)
        with quiet_libraries():
            scene = read_scene(
                path,
                convention=None if convention is None else convention.value,
                camera=camera_words,
                mask=mask,
                which=which,
                k_order=k_order.value,
            )
        results = result_files(out, scene.camera, depth_formats, mesh_formats)
        check_not_replaced(scene_files(path, camera_words, mask), results)
        if dry_run:
            estimate(scene, recipe, out, threads=threads, as_json=as_json)
            return
        run_and_write(
            scene,
            recipe,
            out,
            threads=threads,
            depth_formats=depth_formats,
            mesh_formats=mesh_formats,
            as_json=as_json,
        )
