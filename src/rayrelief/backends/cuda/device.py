"""The GPU as a machine: CuPy compiles the kernels at first use, and keeps them on disk."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.backends.cuda.machine import Array, source
from rayrelief.errors import InputError
from rayrelief.optional import library


@cache
def cupy() -> Any:
    """CuPy with a GPU to use, or an InputError."""
    arrays = library("cupy", "a GPU", "gpu", otherwise="use device='cpu' (--device cpu)")
    try:
        count = arrays.cuda.runtime.getDeviceCount()
    except arrays.cuda.runtime.CUDARuntimeError as error:
        raise InputError(
            f"no GPU can be used ({error})",
            expected="an NVIDIA GPU and its driver",
            remedy="Check nvidia-smi, or use device='cpu' (--device cpu)",
        ) from error
    if count == 0:
        raise InputError(
            "this machine has no GPU",
            expected="an NVIDIA GPU and its driver",
            remedy="Use device='cpu' (--device cpu)",
        )
    return arrays


def is_available() -> bool:
    """Whether there is CuPy, and a GPU for it."""
    try:
        cupy()
    except InputError:
        return False
    return True


class Device:
    """The current GPU."""

    def __init__(self) -> None:
        self.arrays = cupy()

    def zeros(self, length: int, kind: Any) -> Array:
        """Make an array of zeros."""
        return cupy().zeros(length, kind)

    def put(self, values: npt.NDArray[Any]) -> Array:
        """Copy an array to the GPU."""
        return cupy().asarray(values)

    def get(self, array: Array) -> npt.NDArray[Any]:
        """Copy an array from the GPU."""
        values: npt.NDArray[Any] = cupy().asnumpy(array)
        return values

    def room(self) -> int:
        """Bytes of the GPU that are free, or that CuPy keeps for the next who asks."""
        free, _ = cupy().cuda.runtime.memGetInfo()
        return int(free) + int(cupy().get_default_memory_pool().free_bytes())

    def give_back(self) -> None:
        """Return memory that nobody uses to the GPU."""
        cupy().get_default_memory_pool().free_all_blocks()

    def wait(self) -> None:
        """Wait for all that anyone does on the GPU."""
        cupy().cuda.Device().synchronize()

    def address(self, array: Array) -> int:
        """Address of an array."""
        return int(array.data.ptr)

    def queue(self, grid: npt.NDArray[Any], defined: dict[str, int]) -> DeviceQueue:
        """Begin to work on a structure."""
        cupy().cuda.Device().synchronize()  # what was allocated and copied is there
        return DeviceQueue(grid, _module(tuple(defined.items())))


@cache
def _module(defined: tuple[tuple[str, int], ...]) -> Any:
    # Single precision is for corrections and weights, which the GPU's own functions serve as well.
    options = ("-std=c++17", "--use_fast_math", *(f"-D{name}={value}" for name, value in defined))
    return cupy().RawModule(code=source(), options=options, backend="nvrtc")


@cache
def _streams(device: int) -> tuple[Any, Any]:
    """Streams of all queues of a GPU: CuPy keeps memory for each stream that was ever used."""
    stream = cupy().cuda.Stream
    return stream(non_blocking=True), stream(non_blocking=True)


class DeviceQueue:
    """Two streams: work, whose launches are recorded as graphs, and questions."""

    def __init__(self, grid: npt.NDArray[Any], module: Any) -> None:
        # As plain bytes: describing the fields at every launch takes longer than the kernel.
        self._grid, self._module = grid.view(f"V{grid.itemsize}"), module
        self._work, self._questions = _streams(cupy().cuda.Device().id)
        self._stream = self._work
        self._event = cupy().cuda.Event(disable_timing=True)
        self._asked = cupy().cuda.Event(disable_timing=True)
        self._graphs: dict[Hashable, Any] = {}
        self._functions: dict[str, Any] = {}
        self._pinned = cupy().cuda.alloc_pinned_memory(1024)

    def launch(self, kernel: str, blocks: int, threads: int, a: int = 0, b: int = 0) -> None:
        """Start a kernel."""
        function = self._functions.get(kernel)
        if function is None:
            function = self._functions[kernel] = self._module.get_function(kernel)
        with self._stream:
            function((blocks,), (threads,), (self._grid, np.int32(a), np.int32(b)))

    def replay(self, key: Hashable, body: Callable[[], None]) -> None:
        """Run launches, recorded at first as a graph."""
        self._graph(key, body).launch(self._work)

    def _graph(self, key: Hashable, body: Callable[[], None]) -> Any:
        graph = self._graphs.get(key)
        if graph is None:
            recording = cupy().cuda.Stream(non_blocking=True)
            with self._on(recording):
                recording.begin_capture()
                body()
                graph = self._graphs[key] = recording.end_capture()
        return graph

    def mark(self) -> None:
        """Let questions wait for the work so far."""
        self._event.record(self._work)
        self._questions.wait_event(self._event)

    def ask(self, key: Hashable, body: Callable[[], None]) -> None:
        """Replay launches beside the work after the mark."""
        self._graph(key, body).launch(self._questions)

    def answer(self, array: Array) -> bytes:
        """Content of a small array after all that was asked."""
        copy, size = cupy().cuda.runtime.memcpyAsync, array.nbytes
        copy(self._pinned.ptr, array.data.ptr, size, 2, self._questions.ptr)
        self._questions.synchronize()
        return np.frombuffer(self._pinned, np.uint8, size).tobytes()

    def arrays(self) -> Any:
        """Do what CuPy does in the order of the work."""
        return self._work

    def finish(self) -> None:
        """Wait for all work so far."""
        self._work.synchronize()

    def wait_for_questions(self) -> None:
        """Let work wait for all that was asked."""
        self._asked.record(self._questions)
        self._work.wait_event(self._asked)

    @contextmanager
    def _on(self, stream: Any) -> Any:
        before, self._stream = self._stream, stream
        try:
            yield
        finally:
            self._stream = before
