"""Scenes in blocks, up to sizes that do not fit into memory, against one piece and the truth."""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import zarr

import rayrelief
from benchmarks.large.comparing import compared
from benchmarks.large.maps import Rendered, in_blocks, write_map
from rayrelief.cameras import Camera
from rayrelief.conventions import SingleArray
from rayrelief.evaluation.metrics import depth_errors
from rayrelief.large.layout import Layout
from rayrelief.methods import Ordered
from rayrelief.methods.catalogue import RECIPES
from rayrelief.synthetic.crowd import crowd, crowd_camera

RIM = 20  # a window is so many times as wide as the rim that is not compared


class OneLook(Ordered):
    """The method, which does not say how it goes on from a joined surface."""

    @property
    def continued(self) -> Ordered:
        raise AttributeError("continued")


def jumps(options: argparse.Namespace) -> None:
    """A crowd in blocks against the same in one piece, and both against the truth."""
    side = options.side
    method = OneLook() if options.one_look else RECIPES[options.method]()
    scene = crowd(side, side, seed=options.seed)
    camera = crowd_camera(side, side).crop(0, 0, side, side)
    truth = np.asarray(scene.depth)
    whole = rayrelief.integrate(scene.normals, camera, method=method, on_failure="return").depth
    layout = Layout.of(side, side, options.block, options.overlap)
    source = Rendered(side, scene.normals)
    depth, done = in_blocks(source, layout, camera=camera, method=method)
    print(f"{options.method}, {len(layout)} blocks, {len(done.changes)} sweeps, RE:")
    print(f"  blocks against one piece {depth_errors(depth, whole, 'scale').re:.4f} %")
    print(f"  one piece against the truth {depth_errors(whole, truth, 'scale').re:.4f} %")
    print(f"  blocks against the truth {depth_errors(depth, truth, 'scale').re:.4f} %")


def size(options: argparse.Namespace) -> None:
    """A scene through the command within a limit of memory, also against the in-memory run."""
    side, folder = options.side, Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    camera_file = folder / "camera.json"
    if not camera_file.exists():
        rayrelief.cameras.write_camera(
            camera_file, write_map(options.scene, side, folder, options.seed)
        )
        print(f"rendered {side} x {side}", flush=True)
    command = [
        *(sys.executable, "-c", "from rayrelief.cli import main; main()", "integrate"),
        *(str(folder / "normals.zarr"), "-o", str(folder / "out.zarr")),
        *("--camera", str(camera_file), "--memory", options.memory, "--method", options.method),
    ]
    command += ["--threads", str(options.threads)]
    began = time.perf_counter()
    with (folder / "log.txt").open("a") as log:
        subprocess.run(command, check=True, stderr=log)
    seconds = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    report = json.loads((folder / "out.json").read_text())
    pixels, cpu = side**2, used.ru_utime + used.ru_stime
    peak = 1024 * used.ru_maxrss / 1e9
    print(
        f"{options.scene} {pixels / 1e6:.0f} MP, {options.method}, {report['blocks']} blocks, "
        f"{len(report['changes'])} sweeps: peak {peak:.2f} GB of {options.memory}, "
        f"{seconds:.0f} s, {cpu:.0f} s of processor, {1e6 * cpu / pixels:.1f} us per pixel",
        flush=True,
    )
    depth = zarr.open_group(folder / "out.zarr", mode="r")["0"]
    truth = zarr.open_array(folder / "truth.zarr", mode="r")
    print("against the truth: " + compared(depth, truth, report, side), flush=True)
    if options.in_memory:
        whole = _in_memory(options, rayrelief.read_camera(camera_file))
        print("in memory against the truth: " + compared(whole, truth, report, side))
        print("blocks against in memory: " + compared(depth, whole, report, side))
        if options.window:
            there = np.where(np.isfinite(whole), depth[:], np.nan)
            print("blocks there against the truth: " + compared(there, truth, report, side))


def _in_memory(options: argparse.Namespace, camera: Camera) -> SingleArray:
    """Depth of the map in one piece, or of a window in its middle; NaN at the window's rim.

    What the rim of the window cuts is not what is in the map.
    """
    side, window = options.side, options.window or options.side
    begin, rim = (side - window) // 2, window // RIM if window < side else 0
    part = slice(begin, begin + window)
    normals = zarr.open_array(Path(options.folder) / "normals.zarr", mode="r")[part, part]
    began, cpu = time.perf_counter(), time.process_time()
    result = rayrelief.integrate(
        normals,
        camera.crop(begin, begin, window, window),
        method=RECIPES[options.method](),
        backend=rayrelief.backends.CPU(options.threads),
        on_failure="return",
    )
    used, seconds = time.process_time() - cpu, time.perf_counter() - began
    print(
        f"in memory, {window} x {window}: {seconds:.0f} s, {used:.0f} s of processor, "
        f"{1e6 * used / window**2:.1f} us per pixel",
        flush=True,
    )
    depth: SingleArray = np.full((side, side), np.nan, np.float32)
    inner, own = slice(begin + rim, begin + window - rim), slice(rim, window - rim)
    depth[inner, inner] = result.depth[own, own]
    return depth
