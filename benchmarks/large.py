"""Maps in blocks: rate, error, seams, memory, and the cost on many machines.

python -m benchmarks.large PART [options]; the parts are the functions below.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import zarr

import rayrelief
from rayrelief.batch.here import Here
from rayrelief.batch.processes import Processes
from rayrelief.cameras import Camera, Orthographic
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.evaluation.metrics import depth_errors
from rayrelief.large.layout import Layout, Window
from rayrelief.large.results import windows
from rayrelief.large.running import Finished, integrate_blocks
from rayrelief.methods import Smooth
from rayrelief.methods.catalogue import RECIPES
from rayrelief.synthetic.crowd import crowd, crowd_camera, crowd_shapes
from rayrelief.synthetic.render import render
from rayrelief.synthetic.surroundings import wavy_relief

RENDERED = 1024  # pixels along a side of what is rendered at a time
NEAR = 4  # pixels from the border of a core that count as next to it
NOISE, TWIST = 0.05, 0.05  # of the slopes of the relief that no surface has exactly


@dataclass(frozen=True)
class Noisy:
    """A wavy relief with noise, and with a twist: in one piece it differs from any block's own."""

    side: int
    noise: float = NOISE
    normals: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        scene = wavy_relief(self.side, self.side)
        slopes = scene.normals[..., :2] / -scene.normals[..., 2:]
        slopes += self.noise * np.random.default_rng(0).normal(size=slopes.shape)
        v, u = np.mgrid[: self.side, : self.side] / self.side - 0.5
        slopes += TWIST * np.stack((v, -u), axis=-1)
        normals = np.concatenate((slopes, -np.ones((self.side, self.side, 1))), axis=-1)
        object.__setattr__(self, "normals", normals)

    @property
    def shape(self) -> tuple[int, int]:
        return self.side, self.side

    @property
    def camera(self) -> Camera:
        return Orthographic(size=(self.side, self.side))

    def read(self, window: Window) -> tuple[FloatArray, BoolArray]:
        part = self.normals[window]
        return part, np.ones(part.shape[:2], np.bool_)


@dataclass(frozen=True)
class Rendered:
    """Normals in memory, to be read in parts."""

    side: int
    normals: FloatArray = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        return self.side, self.side

    def read(self, window: Window) -> tuple[FloatArray, BoolArray]:
        part = self.normals[window]
        return part, np.ones(part.shape[:2], np.bool_)


def in_blocks(
    source: Noisy | Rendered, layout: Layout, *, camera: Camera | None = None, **how: Any
) -> tuple[FloatArray, Finished]:
    if camera is None:
        camera = Orthographic(size=(source.side, source.side))
    with tempfile.TemporaryDirectory() as folder:
        given: Any = {"method": Smooth(), "layout": layout, "engine": Here(1), "threads": 1}
        done = integrate_blocks(source, camera, Path(folder), **(given | how))
        whole = slice(0, source.side), slice(0, source.side)
        return done.job.store.window(layout, "depth", whole).astype(np.float64), done


def next_to_borders(layout: Layout) -> BoolArray:
    """Pixels (H, W) next to the border between two cores."""
    near = np.zeros(layout.shape, np.bool_)
    for border in layout.rows[1:-1]:
        near[border - NEAR : border + NEAR] = True
    for border in layout.columns[1:-1]:
        near[:, border - NEAR : border + NEAR] = True
    return near


def deviation(difference: FloatArray) -> float:
    return float(np.sqrt(np.nanmean((difference - np.nanmean(difference)) ** 2)))


def blocks(options: argparse.Namespace) -> None:
    """Error against the one-piece solve for 4 to 256 blocks of one map, and beside the borders."""
    source = Noisy(options.side)
    whole = rayrelief.integrate(source.normals, source.camera, method=Smooth()).depth
    relief = float(np.std(whole))
    print("| blocks | sweeps | difference / relief | next to borders | elsewhere |")
    print("|---|---|---|---|---|")
    for count in (2, 4, 8, 16):
        core = options.side // count
        layout = Layout.of(options.side, options.side, core + 2 * (core // 8) + 1, core // 8)
        depth, done = in_blocks(source, layout)
        difference, near = depth - whole, next_to_borders(layout)
        difference -= difference.mean()
        beside, away = (np.sqrt(np.mean(difference[at] ** 2)) / relief for at in (near, ~near))
        told = f"{deviation(difference) / relief:.1e} | {beside:.1e} | {away:.1e}"
        print(f"| {len(layout)} | {len(done.changes)} | {told} |", flush=True)


def rate(options: argparse.Namespace) -> None:
    """Factor by which a sweep reduces the error, against the overlap."""
    source, core = Noisy(options.side), options.side // 4
    print("| overlap / core | sweeps to 1e-5 | factor of a sweep | pixels computed |")
    print("|---|---|---|---|")
    for part in (32, 16, 8, 4):
        overlap = core // part
        layout = Layout.of(options.side, options.side, core + 2 * overlap + 1, overlap)
        _, done = in_blocks(source, layout)
        changes = done.changes
        factor = (changes[-1] / changes[0]) ** (1 / (len(changes) - 1))
        sizes = [layout.block(number).whole for number in range(len(layout))]
        pixels = sum((r.stop - r.start) * (c.stop - c.start) for r, c in sizes)
        more = pixels / options.side**2
        print(f"| 1/{part} | {len(changes)} | {factor:.2f} | {more:.2f} |", flush=True)


def jumps(options: argparse.Namespace) -> None:
    """A crowd in blocks against the same in one piece, and both against the truth."""
    side, method = options.side, RECIPES[options.method]()
    scene = crowd(side, side)
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


def write_map(name: str, side: int, folder: Path) -> Camera:
    """Render a scene in parts into zarr arrays: normals.zarr and truth.zarr."""
    camera: Any = (
        crowd_camera(side, side)
        if name == "crowd"
        else Orthographic(2.0 / side, (side - 1) / 2, (side - 1) / 2)
    )
    camera = camera.crop(0, 0, side, side)
    chunks: Any = {"chunks": (RENDERED, RENDERED), "dtype": "float32", "zarr_format": 3}
    truth = zarr.create_array(folder / "truth.zarr", shape=(side, side), **chunks)
    chunks["chunks"] = (RENDERED, RENDERED, 3)
    normals = zarr.create_array(folder / "normals.zarr", shape=(side, side, 3), **chunks)
    normals.attrs["convention"] = "opencv"
    shapes = crowd_shapes(side, side) if name == "crowd" else []
    for rows, columns in windows(side, side, RENDERED):
        height, width = rows.stop - rows.start, columns.stop - columns.start
        part = camera.crop(columns.start, rows.start, width, height)
        relief = name != "crowd"
        scene = wavy_relief(height, width, part) if relief else render(shapes, part, height, width)
        normals[rows, columns] = scene.normals
        truth[rows, columns] = scene.depth
    return camera


def size(options: argparse.Namespace) -> None:
    """A scene through the command within a limit of memory, also against the in-memory run."""
    side, folder = options.side, Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    camera_file = folder / "camera.json"
    if not camera_file.exists():
        rayrelief.cameras.write_camera(camera_file, write_map(options.scene, side, folder))
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
    print(
        f"{options.scene} {pixels / 1e6:.0f} MP, {options.method}, {report['blocks']} blocks, "
        f"{len(report['changes'])} sweeps: peak {used.ru_maxrss / 1e6:.2f} GB of {options.memory}, "
        f"{seconds:.0f} s, {cpu:.0f} s of processor, {1e6 * cpu / pixels:.1f} us per pixel",
        flush=True,
    )
    depth = zarr.open_group(folder / "out.zarr", mode="r")["0"]
    truth = zarr.open_array(folder / "truth.zarr", mode="r")
    print("against the truth: " + compared(depth, truth, report, side), flush=True)
    if options.in_memory:
        began, cpu = time.perf_counter(), time.process_time()
        normals = zarr.open_array(folder / "normals.zarr", mode="r")[:]
        result = rayrelief.integrate(
            normals,
            rayrelief.read_camera(camera_file),
            method=RECIPES[options.method](),
            backend=rayrelief.backends.CPU(options.threads),
        )
        used_here = time.process_time() - cpu
        print(
            f"in memory: {time.perf_counter() - began:.0f} s, {used_here:.0f} s of processor, "
            f"{1e6 * used_here / pixels:.1f} us per pixel"
        )
        print("in memory against the truth: " + compared(result.depth, truth, report, side))
        print("blocks against in memory: " + compared(depth, result.depth, report, side))


def compared(depth: Any, other: Any, report: dict[str, Any], side: int) -> str:
    """Mean relative difference in percent (of the relief for a relief), also beside borders."""
    counts = math.isqrt(report["blocks"])
    borders = [round(i * side / counts) for i in range(1, counts)]
    near_line = np.zeros(side, np.bool_)
    for border in borders:
        near_line[border - NEAR : border + NEAR] = True
    central = "Pinhole" in report["camera"]
    sample = [
        np.asarray(depth[r, c])[::7, ::7].ravel().astype(np.float64)
        / (np.asarray(other[r, c])[::7, ::7].ravel() if central else 1.0)
        - (0.0 if central else np.asarray(other[r, c])[::7, ::7].ravel())
        for r, c in windows(side, side, RENDERED)
    ]
    middle = float(np.nanmedian(np.concatenate(sample)))
    sums: dict[bool, list[float]] = {True: [0.0, 0.0], False: [0.0, 0.0]}
    for r, c in windows(side, side, RENDERED):
        a, b = np.asarray(depth[r, c], np.float64), np.asarray(other[r, c], np.float64)
        error = np.abs(a / (middle * b) - 1) if central else np.abs(a - middle - b)
        near = near_line[r, None] | near_line[None, c]
        for which in (True, False):
            found = error[(near == which) & np.isfinite(error)]
            sums[which][0] += found.sum()
            sums[which][1] += found.size
    total = sum(s for s, _ in sums.values()) / max(sum(n for _, n in sums.values()), 1)
    beside, away = (sums[which][0] / max(sums[which][1], 1) for which in (True, False))
    factor, unit = (100, " %") if central else (1, "")
    texts = (f"{factor * value:.3g}{unit}" for value in (total, beside, away))
    return "{}, next to borders {}, elsewhere {}".format(*texts)


def workers(options: argparse.Namespace) -> None:
    """Time of one map on 1, 2 and 4 processes."""
    source = Noisy(options.side)
    layout = Layout.of(options.side, options.side, options.side // 4 + options.side // 16)
    for count in (1, 2, 4):
        began = time.perf_counter()
        engine = Here(1) if count == 1 else Processes(count, 1, 0)
        _, done = in_blocks(source, layout, engine=engine)
        seconds = time.perf_counter() - began
        print(f"{count} workers: {seconds:.1f} s, {len(done.changes)} sweeps", flush=True)


def cost(options: argparse.Namespace) -> None:
    """Processor time per pixel of a block, by stage: the constants of the model."""
    scene = crowd(options.side, options.side)
    camera = crowd_camera(options.side, options.side).crop(0, 0, options.side, options.side)
    source = Rendered(options.side, scene.normals)
    spent: dict[str, float] = {}
    last = [time.process_time()]

    def progress(stage: str, done: int, _: int) -> None:
        name = "".join(letter for letter in stage if not letter.isdigit())
        now = time.process_time()
        spent[name if done else "between"] = spent.get(name if done else "between", 0.0) + (
            now - last[0]
        )
        last[0] = now

    layout = Layout.of(options.side, options.side, options.block)
    with tempfile.TemporaryDirectory() as folder:
        done = integrate_blocks(
            source,
            camera,
            Path(folder),
            method=RECIPES[options.method](),
            layout=layout,
            engine=Here(1),
            threads=1,
            progress=progress,
        )
    sizes = [layout.block(number).whole for number in range(len(layout))]
    pixels = sum((r.stop - r.start) * (c.stop - c.start) for r, c in sizes)
    sweeps = len(done.changes)
    print(f"{options.method}, {len(layout)} blocks, {sweeps} sweeps; us per pixel of the blocks:")
    for name, seconds in spent.items():
        times = sweeps if name.startswith("sweep") or name == "between" else 1
        print(f"  {name.strip()}: {1e6 * seconds / pixels / times:.2f}", flush=True)


def many(options: argparse.Namespace) -> None:
    """Small maps through two processes, and through a cluster of which one worker is killed."""
    import distributed

    folder = Path(options.folder)
    for number in range(options.count):
        place = folder / "maps" / f"{number:05d}"
        if not (place / "camera.json").exists():
            place.mkdir(parents=True, exist_ok=True)
            scene = crowd(128, 128, seed=number)
            np.save(place / "normal_map.npy", scene.normals.astype(np.float32))
            rayrelief.cameras.write_camera(place / "camera.json", scene.camera)
    words = ["integrate", str(folder / "maps"), "--convention", "opencv", "--mesh-format", "none"]
    words += ["--method", options.method, "--threads", "1", "--quiet"]
    command = [sys.executable, "-c", "from rayrelief.cli import main; main()", *words]
    began = time.perf_counter()
    subprocess.run([*command, "-o", str(folder / "processes"), "--workers", "2"], check=True)
    print(f"two processes: {time.perf_counter() - began:.0f} s", flush=True)
    began, cluster_out = time.perf_counter(), folder / "cluster"
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        more = ["-o", str(cluster_out), "--scheduler", cluster.scheduler_address]
        with subprocess.Popen([*command, *more]) as running:
            while running.poll() is None and _done(cluster_out) < options.count // 2:
                time.sleep(0.2)
            at = _done(cluster_out)
            victim = next(iter(cluster.workers.values())).process.pid
            os.kill(victim, signal.SIGKILL)
            code = running.wait()
    print(f"cluster: {time.perf_counter() - began:.0f} s, a worker killed after {at} maps")
    one, other = ((folder / name / "summary.csv").read_bytes() for name in ("processes", "cluster"))
    rows = len(one.splitlines()) - 1
    same = "equal to the last bit" if one == other else "DIFFERENT"
    print(f"exit {code}, {_done(cluster_out)} of {rows} maps in the output, summaries {same}")


def _done(folder: Path) -> int:
    return sum(1 for _ in folder.glob("*/report.json"))


# Of the model, per pixel: processor seconds of a method and of a sweep with its joining, bytes of
# the files; measured by "cost". Bytes per second of a worker's disk, and seconds of a task.
METHOD, SWEEP, DISK, TASK = {"ordered": 3.5e-5, "smooth": 1.5e-6}, 2.7e-6, 5e8, 0.01
# Seconds per block that the process which joins them takes for rings and coarse problem; 4 ms of
# blocks of 220 pixels a side, of which the rings grow with the side.
RING = 0.01
READ_METHOD, WRITTEN_METHOD, READ_SWEEP, WRITTEN_SWEEP = 12, 37, 33, 8


def model(options: argparse.Namespace) -> None:
    """Hours on many workers by the model of docs/large_maps.md: rounds of equal tasks."""
    side, sweeps = options.block, options.sweeps
    core = side - 2 * (side // 16)
    print(f"blocks of {side} x {side}, {sweeps} sweeps, {options.method}")
    print("| gigapixels | workers | blocks | hours | bytes per sweep | disk |")
    print("|---|---|---|---|---|---|")
    for giga in (1, 10, 100):
        count = math.ceil(math.sqrt(giga * 1e9) / core) ** 2
        pixels = side**2
        once = METHOD[options.method] * pixels + (READ_METHOD + WRITTEN_METHOD) * pixels / DISK
        again = SWEEP * pixels + (READ_SWEEP + WRITTEN_SWEEP) * pixels / DISK
        for number in (2, 64, 1024):
            rounds = math.ceil(count / number)
            serial = RING * count * (sweeps + 1)
            seconds = rounds * (once + sweeps * (again + TASK)) + serial
            moved = (READ_SWEEP + WRITTEN_SWEEP) * pixels * count
            kept = (WRITTEN_METHOD + WRITTEN_SWEEP) * pixels * count
            told = f"{seconds / 3600:.2f} | {moved / 1e9:,.0f} GB | {kept / 1e12:.2f} TB"
            print(f"| {giga} | {number:,} | {count:,} | {told} |")


PARTS = {part.__name__: part for part in (blocks, rate, jumps, size, workers, cost, model, many)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--side", type=int, default=640, help="pixels")
    parser.add_argument("--scene", choices=("crowd", "relief"), default="crowd")
    parser.add_argument("--memory", default="3GB")
    parser.add_argument("--method", choices=tuple(RECIPES), default="ordered")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--folder", default="benchmarks/results/large")
    parser.add_argument("--in-memory", action="store_true")
    parser.add_argument("--overlap", type=int, default=None)
    parser.add_argument("--block", type=int, default=2500)
    parser.add_argument("--count", type=int, default=2000, help="maps")
    parser.add_argument("--sweeps", type=int, default=12)
    options = parser.parse_args()
    PARTS[options.part](options)


if __name__ == "__main__":
    main()
