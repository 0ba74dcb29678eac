"""The bar of a run."""

from __future__ import annotations

import math
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

from rich.progress import Progress

from rayrelief.backends import compilation
from rayrelief.cli.runs import run
from rayrelief.cli.terminal import console
from rayrelief.errors import Outcome, Status


def test_the_time_of_kernels_stands_beside_the_whole_that_it_is_part_of(monkeypatch):
    lines: list[str] = []
    monkeypatch.setattr(run, "tell", lines.append)
    seconds = {"integrate": 31.24, "compile": 29.3, "write": 1.0}
    report = {"seconds": seconds, "mean_angle_degrees": math.nan, "unit": None, "surface": []}
    result = SimpleNamespace(status=Status(Outcome.SETTLED))
    finished = SimpleNamespace(result=result, report=report, errors=None, mesh=None)
    run._tell_summary(cast(Any, finished))
    assert lines[1:] == ["  kernels: compiled for 29.3 s of 31.2 s in all, once on this machine"]


def test_the_bar_says_that_kernels_are_compiled_and_how_many(monkeypatch):
    states: list[str] = []

    @contextmanager
    def compiles_two(tell):
        tell()
        tell()
        yield

    monkeypatch.setattr(console, "has_bar", lambda: True)
    monkeypatch.setattr(compilation, "on_compilation", compiles_two)
    monkeypatch.setattr(Progress, "update", lambda bar, task, **to: states.append(to["state"]))
    with console.progress("integrating", 5):
        pass
    assert states == [f"{console.COMPILING}; {number} so far" for number in (1, 2)]
