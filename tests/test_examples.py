"""Every example runs without a warning and writes what it promises, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[1] / "examples"
FILES = {
    "00_first_surface": {"depth.npz", "depth.exr", "mesh.ply", "mesh.glb", "preview.png"},
    "01_your_own_camera": {"fisheye.ply", "camera.json", "rays.npy"},
    "02_real_normals": {"normal.png", "mask.png", "mesh.glb"},
    "03_methods_and_jumps": {
        "ordered.png",
        "ray_plane.png",
        "no_jumps.png",
        "bini.png",
        "smooth.png",
        "published.png",
        "weights.png",
        "ray_plane.ply",
    },
    "04_noise": {
        "clean_raw.png",
        "clean_repaired.png",
        "outliers_raw.png",
        "outliers_repaired.png",
        "rotations_raw.png",
        "rotations_repaired.png",
    },
    "05_known_depth": {"fused.ply", "fusion.png"},
}
# Tests share the cores: threads that wait for one another would take minutes.
ENVIRONMENT = {**os.environ, "NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def run(name: str, *arguments: str, folder: Path) -> str:
    """Run an example in a folder; its output."""
    ended = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py"), *arguments],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_every_example_is_listed() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_an_example_writes_its_files_into_the_folder_it_is_given(name: str, tmp_path: Path) -> None:
    output = run(name, "results", folder=tmp_path)
    assert files_below(tmp_path) == {os.path.join("results", file) for file in FILES[name]}
    assert output.strip()


def test_the_default_folder_is_out(tmp_path: Path) -> None:
    run("01_your_own_camera", folder=tmp_path)
    assert files_below(tmp_path) == {
        os.path.join("out", file) for file in FILES["01_your_own_camera"]
    }
