"""How a map is cut by the memory that there is, and what is said about it."""

from __future__ import annotations

import re

import pytest

from rayrelief.cli.runs.large import _engine
from rayrelief.cli.runs.large_report import in_blocks
from rayrelief.errors import InputError
from rayrelief.large.layout import SMALLEST, Layout
from rayrelief.large.planning import side_for
from rayrelief.methods import Ordered


@pytest.mark.parametrize(("workers", "words"), [(1, "1 worker;"), (3, "3 workers;")])
def test_the_least_memory_that_is_told_is_enough_and_no_less_is(workers, words):
    with pytest.raises(InputError, match=words) as refused:
        side_for(workers * 500_000_000, workers, Ordered(), 1)
    (least,) = re.findall(r"at least (\d+) MB for each", str(refused.value))
    assert side_for(workers * int(least) * 10**6, workers, Ordered(), 1) >= SMALLEST
    with pytest.raises(InputError, match="at least"):
        side_for(workers * (int(least) - 1) * 10**6, workers, Ordered(), 1)


def test_more_memory_than_there_is():
    with pytest.raises(InputError, match=r"900000.0 GB for all workers, but .* available"):
        _engine(None, None, "900TB", None, True)
    assert _engine(None, None, "900TB", None, False)[1] == 900 * 10**12
    assert _engine(None, None, None, None, True)[1] > 0


def test_one_block_has_no_overlap():
    assert in_blocks(Layout.of(100, 120, 200)) == "1 block of 120x100 pixels"
    told = in_blocks(Layout.of(150, 110, 80))
    assert re.fullmatch(r"6 blocks of at most \d+x\d+ pixels, overlap 10", told)
