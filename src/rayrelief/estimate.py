"""Memory that an integration will need, and the memory that there is, before it starts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from rayrelief.errors import InputError
from rayrelief.graph import STEPS
from rayrelief.methods.base import Method
from rayrelief.solvers.conjugate_gradient import ConjugateGradient
from rayrelief.solvers.dense import Dense
from rayrelief.solvers.direct import Direct
from rayrelief.solvers.multigrid import Multigrid
from rayrelief.solvers.pyamg_solver import PyAMG

# Bytes, by the peak resident memory of fresh processes, kernels in the cache, beyond what they held
# when they called integrate: crowds of 0.25, 1, 2 and 4 megapixels, whole and through a disc.
LOADED_CODE = 75_000_000
PER_IMAGE_PIXEL = 10
PER_IMAGE_PIXEL_AT_FIRST = 56  # while normals are prepared: rays, unit normals, masks
# For each pixel inside, and for each of its directions.
PER_PIXEL_AND_EDGE: dict[type, tuple[int, int]] = {
    Multigrid: (185, 18),
    ConjugateGradient: (78, 20),
    Direct: (1200, 300),
    PyAMG: (390, 125),
}
# The same for what the command line does with a result: mesh, preview, angle and files.
LOADED_WRITERS = 140_000_000
PER_IMAGE_PIXEL_WRITTEN = 128
PER_PIXEL_AND_EDGE_WRITTEN = (28, 46)

SELF = Path("/proc/self/cgroup")
GROUPS = Path("/sys/fs/cgroup")
# Limit and use of a control group, in version 2 and in version 1.
GROUP_FILES = (
    ("memory.max", "memory.current"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes"),
)


def memory_needed(pixels: int, inside: int, method: Method, *, files: bool = False) -> int:
    """Peak bytes of an integration beyond its inputs, to within 20 % from 0.25 megapixels on.

    A first run, whose kernels are compiled, takes about 200 MB more.

    Parameters
    ----------
    pixels, inside
        Pixels of the image, and those of its mask.
    method
        Its solver and the number of its directions decide. Of a solver that is not known here
        nothing is counted but what conjugate gradients need too.
    files
        Whether the files of the command line are written afterwards, which takes more.
    """
    directions = len(STEPS[method.connectivity])
    own = (size for kind, size in PER_PIXEL_AND_EDGE.items() if isinstance(method.solver, kind))
    per_pixel, per_edge = next(own, PER_PIXEL_AND_EDGE[ConjugateGradient])
    needed = LOADED_CODE + PER_IMAGE_PIXEL * pixels + (per_pixel + per_edge * directions) * inside
    needed = max(needed, LOADED_CODE + PER_IMAGE_PIXEL_AT_FIRST * pixels + 40 * inside)
    if isinstance(method.solver, Dense):  # the matrix of the largest component, and its factors
        needed += 16 * min(inside, method.solver.max_nodes) ** 2
    if not files:
        return needed
    per_pixel, per_edge = PER_PIXEL_AND_EDGE_WRITTEN
    written = LOADED_WRITERS + PER_IMAGE_PIXEL_WRITTEN * pixels
    return max(needed, written + (per_pixel + per_edge * directions) * inside)


def memory_available() -> int:
    """Bytes that can be had without swapping: of this machine, its control groups, this process."""
    import psutil

    free = int(psutil.virtual_memory().available)
    return min((free, *_left_in_groups(SELF, GROUPS), *_left_in_process()))


def check_memory(pixels: int, inside: int, method: Method, *, files: bool = False) -> None:
    """Raise InputError if a map needs more memory than there is: better than being killed."""
    needed = memory_needed(pixels, inside, method, files=files)
    available = memory_available()
    if needed <= available:
        return
    remedies = ["halve its resolution", "close other programs"]
    if len(STEPS[method.connectivity]) > 4:
        remedies.insert(0, "use connectivity 4")
    if isinstance(method.solver, Dense | Direct | PyAMG):
        remedies.insert(0, "use Multigrid")
    raise InputError(
        f"the map of {pixels:,} pixels, {inside:,} of them inside the mask, needs about "
        f"{in_words(needed)} of memory and {in_words(available)} are available",
        expected="a map that fits into the memory",
        remedy=f"Crop it to what matters, {', '.join(remedies[:-1])}, or {remedies[-1]}",
    )


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
