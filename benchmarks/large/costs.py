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

# Of the model, per pixel of a block: processor seconds of a method, of a sweep and its joining,
# measured by "cost". Bytes per second of a worker's disk, and seconds of a task.
METHOD, SWEEP = {"ordered": 4.4e-5, "smooth": 3.0e-6}, {"ordered": 3.4e-6, "smooth": 1.8e-6}
DISK, TASK = 5e8, 0.01
LOOK = {"ordered": 0.1, "smooth": None}  # what looking again takes of the time of the method
# Seconds per block that the process which joins them takes for rings and coarse problem; 14 ms of
# blocks of 220 pixels a side, of which the rings grow with the side.
RING = 0.03
# Bytes: equations with the mask, by the number of neighbours; a surface, parts, normals, depth.
EQUATIONS, SURFACE, PARTS, NORMALS, DEPTH = {"ordered": 33, "smooth": 17}, 8, 4, 12, 4


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
    side, sweeps, method = options.block, options.sweeps, options.method
    core = side - 2 * (side // 16)
    block = EQUATIONS[method] + SURFACE + PARTS
    looks = 1 if LOOK[method] is None else 2
    # Normals, what is kept, and what the coarse problem reads of it; the joined surface, which is
    # written and read again; the median and the depth.
    once = looks * (NORMALS + block + EQUATIONS[method] + PARTS)
    once += (looks - 1) * (3 * SURFACE + PARTS) + 2 * (SURFACE + PARTS) + DEPTH
    again = 2 * block + SURFACE  # read by the solve, read by the joining, written
    print(f"blocks of {side} x {side}, {sweeps} sweeps, {method}")
    print("| gigapixels | workers | blocks | hours | per sweep | disk |")
    print("|---|---|---|---|---|---|")
    for giga in (1, 10, 100):
        count = math.ceil(math.sqrt(giga * 1e9) / core) ** 2
        pixels = side**2
        first = (1 + (LOOK[method] or 0)) * METHOD[method] * pixels + once * pixels / DISK
        sweep = SWEEP[method] * pixels + again * pixels / DISK
        for number in (2, 64, 1024):
            rounds = math.ceil(count / number)
            serial = RING * count * (sweeps + looks)
            seconds = rounds * (first + sweeps * (sweep + TASK)) + serial
            kept = (block + SURFACE) * pixels * count
            told = f"{seconds / 3600:.2f} | {again * pixels * count / 1e9:,.0f} GB"
            print(f"| {giga} | {number:,} | {count:,} | {told} | {kept / 1e12:.2f} TB |")
