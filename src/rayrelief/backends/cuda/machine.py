"""The protocol of a machine that runs the kernels: a GPU, or in tests the compiled source."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy.typing as npt

from rayrelief.formulation import confidence, intervals, lone, loops, steep
from rayrelief.laws import ordered

Array = Any
"""An array in the memory of a machine."""

KERNELS = Path(__file__).with_name("kernels")
FILES = (
    "machine.h",
    "grid.h",
    "formulate.cu",
    "weigh.cu",
    "aggregate.cu",
    "first_product.cu",
    "levels.cu",
    "coarsest.cu",
    "cycle.cu",
    "level_cycle.cu",
    "measure.cu",
    "median.cu",
    "intervals.cu",
    "parts.cu",
)
# Constants of formulation/ and laws/ that kernels share.
SHARED = {
    "STEEPEST": intervals.STEEPEST,
    "EXACT": intervals.EXACT,
    "SPREAD": intervals.SPREAD,
    "ALLOWED": intervals.ALLOWED,
    "AGREE": intervals.AGREE,
    "LEFT_OVER": intervals.LEFT,
    "NOISELESS": intervals.NOISELESS,
    "RIM": steep.RIM,
    "LARGEST_TILT": steep.LARGEST,
    "LONE_APART": lone.APART,
    "LONE_TOGETHER": lone.TOGETHER,
    "LONE_AGREEING": lone.AGREEING,
    "LONE_FEWEST": lone.FEWEST,
    "LONE_SURE": lone.SURE,
    "GAUSSIAN_MEDIAN": loops.GAUSSIAN_MEDIAN,
    "SPAN": loops.SPAN,
    "UNRELATED": loops.UNRELATED,
    "MOST_OPEN": loops.MOST,
    "EXTENT": loops.EXTENT,
    "AGREEING": loops.AGREEING,
    "AVERAGED": ordered.AVERAGED,
    "LEAST_CONFIDENCE": confidence.LEAST,
}


@cache
def source() -> str:
    """All kernels as one text."""
    shared = [f"#define {name} {value!r}" for name, value in SHARED.items()]
    return "\n".join(shared + [(KERNELS / name).read_text(encoding="utf-8") for name in FILES])


def definitions(
    pixels: int, *, wraps: bool = False, directions: int = 4, anchored: bool = False
) -> dict[str, int]:
    """What the kernels are compiled for: small images have small blocks, to use all of a GPU.

    Those of eight directions would not fit into shared memory otherwise.
    """
    across = 24 if pixels <= 1 << 20 or directions == 8 else 54
    tile = {"TILE_X": across, "TILE_Y": 24, "PIXEL_STEPS": 3}
    return tile | {"WRAPS": int(wraps), "DIRECTIONS": directions, "ANCHORED": int(anchored)}


class Queue(Protocol):
    """Work in order, and questions about it that need not wait for what comes after."""

    def launch(self, kernel: str, blocks: int, threads: int, a: int = 0, b: int = 0) -> None:
        """Start a kernel."""
        ...

    def replay(self, key: Hashable, body: Callable[[], None]) -> None:
        """Run launches that are the same each time: recorded at first, then replayed as one."""
        ...

    def mark(self) -> None:
        """Let questions from now on wait for the work so far."""
        ...

    def ask(self, key: Hashable, body: Callable[[], None]) -> None:
        """Replay launches that only look, beside the work after the mark."""
        ...

    def answer(self, array: Array) -> bytes:
        """Content of an array after all that was asked."""
        ...

    def arrays(self) -> AbstractContextManager[Any]:
        """Do what the module of arrays does in the order of the work."""
        ...

    def finish(self) -> None:
        """Wait for all work so far."""
        ...

    def wait_for_questions(self) -> None:
        """Let work from now on wait for all that was asked."""
        ...


class Machine(Protocol):
    """Memory and kernels."""

    @property
    def arrays(self) -> Any:
        """The module with functions of its arrays: numpy, or one like it."""
        ...

    def zeros(self, length: int, kind: Any) -> Array:
        """Make an array of zeros."""
        ...

    def put(self, values: npt.NDArray[Any]) -> Array:
        """Copy an array into the memory of the machine."""
        ...

    def get(self, array: Array) -> npt.NDArray[Any]:
        """Copy an array out of the memory of the machine."""
        ...

    def room(self) -> int:
        """Bytes that can be had."""
        ...

    def wait(self) -> None:
        """Wait for all that anyone does on the machine."""
        ...

    def address(self, array: Array) -> int:
        """Address of an array."""
        ...

    def queue(self, grid: npt.NDArray[Any], defined: dict[str, int]) -> Queue:
        """Begin to work on a structure; kernels are compiled for what is defined."""
        ...
