"""Memory that there is: the machine, its control groups, the process."""

from __future__ import annotations

import subprocess
import sys

import psutil
import pytest

from rayrelief import memory
from rayrelief.memory import in_words, memory_available

GB = 10**9
PLENTY = 1000 * GB
NOBODY = 9223372036854771712  # what version 1 of control groups says where there is no limit


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """Writer of control groups: their files by path, and what the process is told it is in."""
    monkeypatch.setattr(memory, "SELF", tmp_path / "self")
    monkeypatch.setattr(memory, "GROUPS", tmp_path / "groups")

    def free(bytes_: int) -> None:
        machine = type("Memory", (), {"available": bytes_})
        monkeypatch.setattr(psutil, "virtual_memory", lambda: machine)

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


def test_sizes_in_words():
    assert [in_words(n) for n in (72_400_000, 999_000_000, 1_260 * 10**6, 48 * GB)] == [
        "72 MB",
        "999 MB",
        "1.3 GB",
        "48.0 GB",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_the_address_space_of_the_process_counts():
    code = (
        "import resource, psutil, rayrelief.memory as m;"
        "used = psutil.Process().memory_info().vms;"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 10**9, used + 10**9));"
        "print(m.memory_available())"
    )
    command = [sys.executable, "-c", code]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert 0.9e9 < int(printed) <= 1e9
