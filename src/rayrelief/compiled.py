"""numba, which compiles the kernels: loaded here alone, or refused where its settings are not."""

from __future__ import annotations

import os
import warnings

from rayrelief.errors import InputError

MOST_THREADS = max(1024, os.cpu_count() or 1)  # numba starts as many as it is told, or dies of it


def _unusable(found: object) -> InputError:
    return InputError(
        f"numba cannot be loaded with its settings: {found}",
        expected="variables NUMBA_... that it understands, "
        f"and of NUMBA_NUM_THREADS an integer from 1 to {MOST_THREADS}",
        remedy="Unset NUMBA_NUM_THREADS, or correct the variable that is named",
    )


try:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Environment variable 'NUMBA_", RuntimeWarning)
        import numba
        from numba import njit, prange, types
        from numba.core import event
        from numba.extending import intrinsic
        from numba.np.ufunc import parallel
except (RuntimeWarning, ValueError) as error:
    if not any(word in str(error) for word in ("NUMBA_", "threads")):  # of a broken installation
        raise
    raise _unusable(str(error).partition("\n")[0].rstrip(".")) from error
if numba.config.NUMBA_NUM_THREADS > MOST_THREADS:
    raise _unusable(f"NUMBA_NUM_THREADS is {numba.config.NUMBA_NUM_THREADS}")

__all__ = ["event", "intrinsic", "njit", "numba", "parallel", "prange", "types"]
