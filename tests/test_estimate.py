"""Memory before the start: the model against processes, control groups, and the refusal."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import psutil
import pytest

from rayrelief import estimate
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.errors import InputError
from rayrelief.estimate import check_memory, in_words, memory_available, memory_needed
from rayrelief.integration import integrate
from rayrelief.methods.recipes import RayPlane
from rayrelief.solvers.base import Laplacian, PreparedSolver
from rayrelief.solvers.conjugate_gradient import ConjugateGradient
from rayrelief.solvers.dense import Dense
from rayrelief.solvers.direct import Direct
from rayrelief.solvers.pyamg_solver import PyAMG
from rayrelief.synthetic.crowd import crowd

GB = 10**9
PLENTY = 1000 * GB
NOBODY = 9223372036854771712  # what version 1 of control groups says where there is no limit


# The model

# Prints the peak of memory after integrating, and after writing the files.
CHILD = """
import sys
from pathlib import Path
import numpy as np, psutil
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cli import run
from rayrelief.integration import integrate
from rayrelief.methods.recipes import RayPlane
from rayrelief.scene import Scene

def peak():  # ru_maxrss would begin with that of the process that started this one
    status = Path("/proc/self/status").read_text().split()
    print("peak", int(status[status.index("VmHWM:") + 1]) * 1024 - before)

def watched(*arguments, **options):
    result = integrate(*arguments, **options)
    peak()
    return result

run.integrate = watched
folder = Path(sys.argv[1])
normals = np.load(folder / "normals.npy")
height, width = normals.shape[:2]
mask = np.ones((height, width), dtype=np.bool_)
scene = Scene(normals, mask, Pinhole.from_fov(24.0, height, width))
method = RayPlane(max_iterations=4, tolerance=None)
before = psutil.Process().memory_info().rss
options = dict(threads=None, depth_formats=["npy"], mesh_formats=["ply"], as_json=False)
run.run_and_write(scene, method, folder / "out", **options)
peak()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads a file of Linux")
def test_model_is_within_a_fifth_of_a_process(tmp_path):
    scene = crowd(600, 900)
    small = np.s_[:64, :64]  # compiles what the process is to find in the cache
    integrate(scene.normals[small], Pinhole.from_fov(24.0, 64, 64), on_failure="return")
    np.save(tmp_path / "normals.npy", scene.normals)
    ended = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path)],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    measured = [int(line.split()[1]) for line in ended.stdout.splitlines() if "peak" in line]
    expected = [memory_needed(540_000, 540_000, RayPlane(), files=files) for files in (False, True)]
    assert expected == pytest.approx(measured, rel=0.2)


def test_a_large_map_takes_its_pixels_and_no_fixed_part():
    small, large = (memory_needed(n, n, RayPlane()) for n in (10**6, 10**7))
    assert small + 9 * (small - estimate.LOADED_CODE) == large


def test_pixels_outside_take_less():
    assert memory_needed(10**6, 10**5, RayPlane()) < memory_needed(10**6, 10**6, RayPlane()) / 2


def test_what_takes_more():
    def needed(files: bool = False, **settings: Any) -> int:
        return memory_needed(10**6, 10**6, RayPlane(**settings), files=files)

    assert needed() == needed(connectivity="diagonal") < needed(connectivity=8)
    assert needed(solver=ConjugateGradient()) < needed() < needed(solver=PyAMG())
    assert needed(solver=PyAMG()) < needed(solver=Direct())
    assert needed() < needed(files=True) < needed(files=True, connectivity=8)


def test_dense_grows_with_the_square_of_the_pixels_up_to_its_own_limit():
    def matrices(inside: int) -> int:
        dense = memory_needed(10**6, inside, RayPlane(solver=Dense(max_nodes=4000)))
        return dense - memory_needed(10**6, inside, RayPlane(solver=ConjugateGradient()))

    assert matrices(3000) == 2 * 8 * 3000**2
    assert matrices(10**6) == 2 * 8 * 4000**2


@dataclass(frozen=True)
class Own:
    """A solver of somebody else."""

    def prepare(self, system: Laplacian, previous: PreparedSolver | None = None) -> PreparedSolver:
        raise NotImplementedError


def test_an_unknown_solver_counts_as_the_least():
    least = min(
        memory_needed(10**6, 10**6, RayPlane(solver=kind())) for kind in estimate.PER_PIXEL_AND_EDGE
    )
    assert memory_needed(10**6, 10**6, RayPlane(solver=Own())) == least


# What is available


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """Writer of control groups: their files by path, and what the process is told it is in."""
    monkeypatch.setattr(estimate, "SELF", tmp_path / "self")
    monkeypatch.setattr(estimate, "GROUPS", tmp_path / "groups")

    def free(bytes_: int) -> None:
        memory = type("Memory", (), {"available": bytes_})
        monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)

    def write(own: str, files: dict[str, object]) -> None:
        free(PLENTY)
        (tmp_path / "self").write_text(own)
        for name, text in files.items():
            path = tmp_path / "groups" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")

    write.free = free  # type: ignore[attr-defined]
    return write


def test_the_machine_where_there_are_no_control_groups(groups):
    groups.free(7 * GB)
    assert memory_available() == 7 * GB


def test_the_machine_where_it_has_less_than_the_group(groups):
    groups("0::/\n", {"memory.max": 8 * GB, "memory.current": GB, "memory.stat": ""})
    groups.free(3 * GB)
    assert memory_available() == 3 * GB


def test_version_2_in_a_container(groups):
    groups("0::/\n", {"memory.max": 8 * GB, "memory.current": GB, "memory.stat": "anon 1000"})
    assert memory_available() == 7 * GB


def test_version_2_without_a_limit(groups):
    groups("0::/a\n", {"a/memory.max": "max", "a/memory.current": GB, "a/memory.stat": ""})
    assert memory_available() == PLENTY


def test_the_tightest_group_of_those_within_one_another(groups):
    groups(
        "0::/user/job/step\n",
        {
            "user/memory.max": 9 * GB,
            "user/memory.current": 8 * GB,
            "user/memory.stat": "",
            "user/job/memory.max": 4 * GB,
            "user/job/memory.current": 2 * GB,
            "user/job/memory.stat": "",
            "user/job/step/memory.max": "max",
            "user/job/step/memory.current": GB,
            "user/job/step/memory.stat": "",
        },
    )
    assert memory_available() == GB


def test_version_1_beside_other_controllers(groups):
    groups(
        "9:cpu,cpuacct:/job\n4:memory:/job\n1:name=systemd:/job:with:colons\n0::/\n",
        {
            "memory/memory.limit_in_bytes": NOBODY,
            "memory/memory.usage_in_bytes": 5 * GB,
            "memory/memory.stat": "",
            "memory/job/memory.limit_in_bytes": 6 * GB,
            "memory/job/memory.usage_in_bytes": 4 * GB,
            "memory/job/memory.stat": "cache 12\ntotal_inactive_file 0\n",
        },
    )
    assert memory_available() == 2 * GB


def test_a_container_that_is_told_the_path_on_its_host(groups):
    groups(
        "4:memory:/docker/0123abcd\n",
        {
            "memory/memory.limit_in_bytes": 2 * GB,
            "memory/memory.usage_in_bytes": GB,
            "memory/memory.stat": "",
        },
    )
    assert memory_available() == GB


@pytest.mark.parametrize("prefix", ["", "total_"], ids=["version 2", "version 1"])
def test_cached_files_are_free_to_use(groups, prefix):
    stat = f"anon 5\n{prefix}inactive_file {2 * GB}\n{prefix}active_file {GB}"
    groups("0::/\n", {"memory.max": 4 * GB, "memory.current": 4 * GB, "memory.stat": stat})
    assert memory_available() == 3 * GB


def test_a_group_beyond_its_limit_has_nothing_left(groups):
    groups("0::/\n", {"memory.max": GB, "memory.current": 2 * GB, "memory.stat": ""})
    assert memory_available() == 0


def test_this_very_machine_has_some():
    assert 0 < memory_available() <= psutil.virtual_memory().total


# The refusal


def test_the_refusal_says_what_is_needed_what_is_there_and_what_to_do(monkeypatch):
    monkeypatch.setattr(estimate, "memory_available", lambda: 2 * GB)
    method = RayPlane(connectivity=8)
    needed = in_words(memory_needed(16_000_000, 15_000_000, method))
    with pytest.raises(InputError) as error:
        check_memory(16_000_000, 15_000_000, method)
    text = str(error.value)
    assert f"16,000,000 pixels, 15,000,000 of them inside the mask, needs about {needed}" in text
    assert "2.0 GB are available" in text
    assert "Crop it to what matters, use connectivity 4, halve its resolution, or close" in text


@pytest.mark.parametrize("solver", [Dense(), Direct(), PyAMG()], ids=lambda s: type(s).__name__)
def test_the_refusal_names_the_solver_that_takes_less(monkeypatch, solver):
    monkeypatch.setattr(estimate, "memory_available", lambda: 0)
    with pytest.raises(InputError, match="use Multigrid, halve"):
        check_memory(1000, 1000, RayPlane(solver=solver))


def test_exactly_enough_is_enough(monkeypatch):
    needed = memory_needed(5000, 4000, RayPlane())
    monkeypatch.setattr(estimate, "memory_available", lambda: needed)
    check_memory(5000, 4000, RayPlane())
    with pytest.raises(InputError, match="fits into the memory"):
        check_memory(5000, 4001, RayPlane())


class Untouched(Pinhole):
    """A camera that nobody may look through."""

    def rays(self, height: int, width: int) -> Any:
        raise AssertionError("rays were asked for")


def test_integrate_refuses_before_it_allocates(monkeypatch):
    asked = []

    def little() -> int:
        asked.append(True)
        return 10_000_000

    monkeypatch.setattr(estimate, "memory_available", little)
    normals = np.broadcast_to(np.array([0.0, 0.0, -1.0]), (20_000, 20_000, 3))  # 24 bytes
    mask = np.zeros((20_000, 20_000), np.bool_)
    mask[:2] = True
    with pytest.raises(InputError, match=r"400,000,000 pixels, 40,000 of them inside"):
        integrate(normals, Untouched(9.0, 9.0, 5.0, 5.0), mask=mask)
    assert asked == [True]


def test_sizes_in_words():
    assert [in_words(n) for n in (72_400_000, 999_000_000, 1_260 * 10**6, 48 * GB)] == [
        "72 MB",
        "999 MB",
        "1.3 GB",
        "48.0 GB",
    ]


def test_a_small_mask_in_a_large_image_takes_what_its_preparation_takes():
    small, large = (memory_needed(n, 1000, RayPlane()) for n in (10**6, 10**7))
    assert large - small == estimate.PER_IMAGE_PIXEL_AT_FIRST * 9 * 10**6


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_the_address_space_of_the_process_counts():
    code = (
        "import resource, psutil, rayrelief.estimate as e;"
        "used = psutil.Process().memory_info().vms;"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 10**9, used + 10**9));"
        "print(e.memory_available())"
    )
    command = [sys.executable, "-c", code]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert 0.9e9 < int(printed) <= 1e9
