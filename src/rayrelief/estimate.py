"""Memory that an integration will need, before it starts."""

from __future__ import annotations

from rayrelief.backends.base import Backend
from rayrelief.errors import InputError
from rayrelief.graph import STEPS
from rayrelief.memory import in_words, memory_available
from rayrelief.methods.base import Method
from rayrelief.solvers.multigrid import Multigrid

# Bytes, by the peak resident memory of fresh processes, kernels in the cache, beyond what they held
# when they called integrate: crowds of 0.25, 1, 2 and 4 megapixels, whole and through a disc. What
# backends and solvers take they say themselves.
LOADED_CODE = 75_000_000
PER_IMAGE_PIXEL = 10
PER_IMAGE_PIXEL_AT_FIRST = 56  # while normals are prepared: rays, unit normals, masks
# The same for what the command line does with a result: mesh, preview, angle and files.
LOADED_WRITERS = 140_000_000
PER_IMAGE_PIXEL_WRITTEN = 128
PER_PIXEL_AND_EDGE_WRITTEN = (28, 46)


def memory_needed(
    pixels: int, inside: int, method: Method, backend: Backend, *, files: bool = False
) -> int:
    """Peak bytes of an integration beyond its inputs, to within 20 % from 0.25 megapixels on.

    A first run, whose kernels are compiled, takes about 200 MB more.

    Parameters
    ----------
    pixels, inside
        Pixels of the image, and those of its mask.
    method, backend
        Asked for what they take; nothing is counted for those that do not say.
    files
        Whether the files of the command line are written afterwards, which takes more.
    """
    own = method.memory(inside, backend) if hasattr(method, "memory") else 0
    needed = LOADED_CODE + PER_IMAGE_PIXEL * pixels + own
    needed = max(needed, LOADED_CODE + PER_IMAGE_PIXEL_AT_FIRST * pixels + 40 * inside)
    if not files:
        return needed
    per_pixel, per_edge = PER_PIXEL_AND_EDGE_WRITTEN
    written = LOADED_WRITERS + PER_IMAGE_PIXEL_WRITTEN * pixels
    return max(needed, written + (per_pixel + per_edge * _directions(method)) * inside)


def check_memory(
    pixels: int, inside: int, method: Method, backend: Backend, *, files: bool = False
) -> None:
    """Raise InputError if a map needs more memory than there is: better than being killed."""
    needed = memory_needed(pixels, inside, method, backend, files=files)
    available = memory_available()
    if needed <= available:
        return
    remedies = ["halve its resolution", "close other programs"]
    if _directions(method) > 4:
        remedies.insert(0, "use connectivity 4")
    if not isinstance(getattr(method, "solver", None), Multigrid | None):
        remedies.insert(0, "use Multigrid")
    raise InputError(
        f"the map of {pixels:,} pixels, {inside:,} of them inside the mask, needs about "
        f"{in_words(needed)} of memory, but {in_words(available)} is available",
        expected="a map that fits into memory",
        remedy=f"Crop it to what matters, {', '.join(remedies[:-1])}, or {remedies[-1]}; "
        "memory_check=False (--no-memory-check) tries it anyway",
    )


def _directions(method: Method) -> int:
    return len(STEPS[getattr(method, "connectivity", 4)])
