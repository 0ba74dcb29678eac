"""The CUDA kernels compiled by g++: a block is one thread, a warp one lane, memory is numpy's."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Hashable
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayrelief.backends.cuda.machine import source

RUN = """
typedef void (*Kernel)(const Grid&, int, int);
extern "C" void run(Kernel kernel, const Grid* g, int a, int b, int blocks) {
  BLOCKS = blocks;
  for (BLOCK = 0; BLOCK < blocks; BLOCK++) kernel(*g, a, b);
}
extern "C" int size_of_grid() { return sizeof(Grid); }
extern "C" int size_of_scalars() { return sizeof(Scalars); }
extern "C" int size_of_border_edge() { return sizeof(BorderEdge); }
"""
needs_compiler = pytest.mark.skipif(
    shutil.which("g++") is None, reason="no g++ to compile the CUDA kernels with"
)


@cache
def library(defined: tuple[tuple[str, int], ...]) -> ctypes.CDLL:
    """Kernels, compiled once for each state of their source."""
    text = source() + RUN
    options = ["-O2", "-DHOST", *(f"-D{name}={value}" for name, value in defined)]
    state = hashlib.sha256((text + str(options)).encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"rayrelief-kernels-{os.getuid()}-{state}.so"
    if not path.exists():
        fresh = path.with_suffix(f".{os.getpid()}")
        output = ["-x", "c++", "-", "-o", str(fresh)]
        command = ["g++", "-std=c++17", "-shared", "-fPIC", *options, *output]
        subprocess.run(command, input=text, text=True, check=True)
        fresh.replace(path)
    return ctypes.CDLL(str(path))


class Host:
    """The memory of this process."""

    arrays = np

    def zeros(self, length: int, kind: Any) -> np.ndarray:
        return np.zeros(length, kind)

    def put(self, values: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(values)

    def get(self, array: np.ndarray) -> np.ndarray:
        return array

    def room(self) -> int:
        return sys.maxsize

    def wait(self) -> None:
        pass

    def address(self, array: np.ndarray) -> int:
        return array.ctypes.data

    def queue(self, grid: np.ndarray, defined: dict[str, int]) -> HostQueue:
        return HostQueue(grid, library(tuple(defined.items())))


class HostQueue:
    """Everything at once, in order."""

    def __init__(self, grid: np.ndarray, kernels: ctypes.CDLL) -> None:
        self.grid, self.kernels = grid, kernels

    def launch(self, kernel: str, blocks: int, threads: int, a: int = 0, b: int = 0) -> None:
        function = ctypes.cast(getattr(self.kernels, kernel), ctypes.c_void_p)
        self.kernels.run(function, ctypes.c_void_p(self.grid.ctypes.data), a, b, blocks)

    def replay(self, key: Hashable, body: Callable[[], None]) -> None:
        body()

    def mark(self) -> None:
        pass

    def ask(self, key: Hashable, body: Callable[[], None]) -> None:
        body()

    def answer(self, array: np.ndarray) -> bytes:
        return array.tobytes()

    def arrays(self) -> nullcontext[None]:
        return nullcontext()

    def finish(self) -> None:
        pass

    def wait_for_questions(self) -> None:
        pass
