"""The backend that computes on this machine's cores."""

from __future__ import annotations

import pytest
from numba import njit

from rayrelief.backends.compilation import on_compilation
from rayrelief.backends.cpu import CPU
from rayrelief.errors import InputError


@pytest.mark.parametrize("threads", [0, True, 1.5])
def test_a_number_of_threads_that_makes_no_sense_is_refused(threads):
    with pytest.raises(InputError, match=f"threads is {threads}; expected an integer >= 1"):
        CPU(threads)


def test_only_what_is_compiled_is_noticed():
    @njit
    def double(number):
        return 2 * number

    noticed = []
    with on_compilation(lambda: noticed.append("compiled")):
        assert double(1) == 2
        assert noticed == ["compiled"]
        double(3)
    double(1.5)
    assert noticed == ["compiled"]
