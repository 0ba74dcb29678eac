"""What blocks cost: by stage, on several processes, and by a model on many machines."""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from pathlib import Path

from benchmarks.large.maps import Noisy, Rendered, in_blocks
from rayrelief.batch.here import Here
from rayrelief.batch.kept import Kept
from rayrelief.batch.processes import Processes
from rayrelief.large.layout import Layout
from rayrelief.large.running import integrate_blocks
from rayrelief.methods.catalogue import RECIPES
from rayrelief.synthetic.crowd import crowd, crowd_camera

# Of the model, per pixel: processor seconds of a method and of a sweep with its joining, bytes of
# the files; measured by "cost". Bytes per second of a worker's disk, and seconds of a task.
METHOD, SWEEP, DISK, TASK = {"ordered": 4.4e-5, "smooth": 3.0e-6}, 3.4e-6, 5e8, 0.01
# Seconds per block that the process which joins them takes for rings and coarse problem; 14 ms of
# blocks of 220 pixels a side, of which the rings grow with the side.
RING = 0.03
READ_METHOD, WRITTEN_METHOD, READ_SWEEP, WRITTEN_SWEEP = 12, 37, 33, 8


def workers(options: argparse.Namespace) -> None:
    """Time of one map on 1, 2 and 4 processes."""
    source = Noisy(options.side)
    layout = Layout.of(options.side, options.side, options.side // 4 + options.side // 16)
    for count in (1, 2, 4):
        began = time.perf_counter()
        engine = Here(1) if count == 1 else Processes(count, 1, 0)
        with Kept(engine) as kept:
            _, done = in_blocks(source, layout, engine=kept)
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
        name = "".join(letter for letter in stage.partition(" (")[0] if not letter.isdigit())
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
