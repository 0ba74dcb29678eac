"""Memory that there is: of this machine, and within the limits that this process runs under.

psutil knows the machine and the process; limits of control groups (containers, batch systems) are
read from the files of the system, which no library at hand does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

SELF = Path("/proc/self/cgroup")
GROUPS = Path("/sys/fs/cgroup")
# Limit and use of a control group, in version 2 and in version 1.
GROUP_FILES = (
    ("memory.max", "memory.current"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes"),
)


def memory_available() -> int:
    """Bytes that can be had without swapping: of this machine, its control groups, this process."""
    import psutil

    free = int(psutil.virtual_memory().available)
    return min((free, *_left_in_groups(SELF, GROUPS), *_left_in_process()))


def in_words(size: int) -> str:
    """Return bytes as megabytes or gigabytes."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def _left_in_groups(own: Path, root: Path) -> Iterator[int]:
    """Bytes left in each control group that this process is in and that has a limit."""
    for folder in _group_folders(_text(own), root):
        for limit, used in GROUP_FILES:
            try:
                left = int(_text(folder / limit)) - int(_text(folder / used))
            except ValueError:  # not there, or "max": without a limit
                continue
            yield max(0, left + _cached_files(_text(folder / "memory.stat")))


def _left_in_process() -> Iterator[int]:
    """Bytes left of the address space of this process, if that is limited (ulimit -v)."""
    import psutil

    if sys.platform != "win32":
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            yield max(0, limit - psutil.Process().memory_info().vms)


def _text(path: Path) -> str:
    """Content of a file of the system; empty where there is none."""
    try:
        return path.read_text()
    except OSError:
        return ""


def _group_folders(own: str, root: Path) -> Iterator[Path]:
    """Folders of the groups of a process that limit memory: its own, and all that hold it.

    In a container the path may be that of the host, and only the root is there.
    """
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        mount = root / "memory" if controllers else root  # version 2 lists no controllers
        group = mount / path.lstrip("/")
        yield from (folder for folder in (group, *group.parents) if folder.is_relative_to(mount))


def _cached_files(stat: str) -> int:
    """Bytes of cached files, which a group counts as used and gives back when they are needed."""
    counts = dict(line.split() for line in stat.splitlines() if line)
    # Version 1 has two counts: of the group alone, and with ("total_") the groups inside it.
    return sum(
        int(counts.get(f"total_{name}", counts.get(name, 0)))
        for name in ("active_file", "inactive_file")
    )
