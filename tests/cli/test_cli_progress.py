"""The bar of a run."""

from __future__ import annotations

from contextlib import contextmanager

from rich.progress import Progress

from rayrelief.backends import compilation
from rayrelief.cli.terminal import console


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
