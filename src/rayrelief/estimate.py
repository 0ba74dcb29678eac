"""Memory that an integration will need, before it starts."""

from __future__ import annotations

from rayrelief.backends.base import Backend
from rayrelief.errors import InputError
from rayrelief.graph import STEPS
from rayrelief.memory import in_words, memory_available
from rayrelief.methods.base import Method
from rayrelief.problem import connectivity_of, problem_memory
from rayrelief.solvers.multigrid import Multigrid

# Bytes. What problems, backends and solvers take they say themselves. All of it was measured as the
# peak resident memory of fresh processes, kernels in the cache, beyond what they held when they
# called integrate: crowds of 0.25, 1, 2 and 4 megapixels, whole and through a disc.
LOADED_CODE = 75_000_000


def memory_needed(
    pixels: int, inside: int, method: Method, backend: Backend, *, afterwards: int = 0
) -> int:
    """Peak bytes of an integration beyond its inputs, to within 20 % from 0.25 megapixels on.

    A first run, whose kernels are compiled, takes about 200 MB more.

    Parameters
    ----------
    pixels, inside
        Pixels of the image, and those of its mask.
    method, backend
        Asked for what they take; nothing is counted for those that do not say.
    afterwards
        Peak bytes of what is done with the result.
    """
    own = method.memory(inside, backend) if hasattr(method, "memory") else 0
    kept, assembled = problem_memory(pixels, inside)
    return max(LOADED_CODE + max(kept + own, assembled), afterwards)


def check_memory(
    pixels: int,
    inside: int,
    method: Method,
    backend: Backend,
    *,
    afterwards: int = 0,
    limit: int | None = None,
) -> None:
    """Raise InputError if a map needs more memory than there is: better than being killed.

    The limit, in bytes, is its share where other maps are computed at the same time.
    """
    needed = memory_needed(pixels, inside, method, backend, afterwards=afterwards)
    available = memory_available()
    shared = limit is not None and limit < available
    available = min(available, available if limit is None else limit)
    if needed <= available:
        return
    remedies = ["halve its resolution", "integrate it in blocks (docs/large_maps.md)"]
    remedies.append("close other programs")
    if directions_of(method) > 4:
        remedies.insert(0, "use connectivity=4 of the method (--connectivity 4)")
    if not isinstance(getattr(method, "solver", None), Multigrid | None):
        remedies.insert(0, "use solver=rayrelief.solvers.Multigrid() of the method")
    if shared:
        remedies.append("give each worker more memory (fewer --workers, larger ones of a cluster)")
    raise InputError(
        f"the map of {pixels:,} pixels, {inside:,} of them inside the mask, needs about "
        f"{in_words(needed)} of memory, but {in_words(available)} is available",
        expected="a map that fits into memory",
        remedy=f"Crop it to what matters, {', '.join(remedies[:-1])}, or {remedies[-1]}; "
        "memory_check=False (--no-memory-check) tries it anyway",
    )


def directions_of(method: Method) -> int:
    """Directions of the edges that a method asks for."""
    return len(STEPS[connectivity_of(method)])
