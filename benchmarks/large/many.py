"""Many small maps: processes against a cluster that loses a worker."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import rayrelief
from rayrelief.synthetic.crowd import crowd


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
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
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
