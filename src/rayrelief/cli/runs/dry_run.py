"""rayrelief integrate --dry-run: what a run would take, without writing anything."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import rayrelief
from rayrelief.backends.base import Backend
from rayrelief.backends.cpu import CPU
from rayrelief.cli.runs.places import check_folder
from rayrelief.cli.runs.report import to_json
from rayrelief.cli.runs.run import files_memory, say_notes
from rayrelief.cli.terminal.console import progress, show
from rayrelief.conventions import BoolArray
from rayrelief.errors import Outcome, Status, in_number
from rayrelief.estimate import check_memory, memory_needed
from rayrelief.integration import integrate
from rayrelief.memory import in_words, memory_available
from rayrelief.methods.base import Callback, Iteration, Method, Solution, usual_iterations
from rayrelief.problem import Problem
from rayrelief.result import Integration
from rayrelief.scene import Scene
from rayrelief.solvers.conjugate_gradient import ConjugateGradient

SAMPLE_PIXELS = 1_000_000  # of a larger mask a square of this size is integrated
SAMPLE_SECONDS = 15.0  # no iteration of it begins later, except the second
CELLS = 8  # of the square's side: the steps in which its place is looked for


def dry_run(
    scene: Scene,
    method: Method,
    out: Path,
    *,
    threads: int | None,
    memory_check: bool,
    mesh_formats: list[str],
    solid: bool,
    as_json: bool,
) -> None:
    """Tell what it takes to integrate a scene; InputError where the memory does not suffice."""
    check_folder(out)
    say_notes(scene)
    pixels, inside = scene.mask.size, int(np.count_nonzero(scene.mask))
    backend = CPU(threads)
    afterwards = files_memory(pixels, inside, method, mesh_formats, solid)
    memory = {
        "needed": memory_needed(pixels, inside, method, backend, afterwards=afterwards),
        "available": memory_available(),
    }
    if memory_check:
        check_memory(pixels, inside, method, backend, afterwards=afterwards)
    limit = usual_iterations(method)
    with progress(f"measuring {scene.name}", limit) as advance:
        _load_kernels(method, threads)
        whole, prepare = _without_solving(scene, method, threads)
        sample = fullest_square(whole.mask, SAMPLE_PIXELS)
        ready = replace(scene, normals=whole.input_normals)
        seconds, around, status = _first_iterations(ready, sample, method, threads, advance)
    inside, sampled = int(np.count_nonzero(whole.mask)), int(np.count_nonzero(sample))
    stopped = status.outcome is Outcome.STOPPED
    iterations = limit if stopped and limit is not None else len(seconds)
    solving = _growth(method, inside / sampled) * seconds_of_all(seconds, iterations)
    prepare += inside / sampled * around
    notes = list(whole.status.notes)
    if not status.ok:
        notes.insert(0, f"{status.cause}; {status.remedy}")
    report: dict[str, Any] = {
        "rayrelief": rayrelief.__version__,
        "scene": scene.name,
        "input": {"size": [*scene.mask.shape[::-1]], "notes": list(scene.notes)},
        "inside": inside,
        "components": whole.components.count,
        "notes": notes,
        "memory_bytes": memory,
        "usual_iterations": limit,
        "expected": {"iterations": iterations, "prepare_seconds": prepare, "seconds": solving},
        "sample": {"pixels": sampled, "iterations": len(seconds)},
    }
    show(to_json(report) if as_json else _summary(report))


def seconds_of_all(first: list[float], iterations: int) -> float:
    """Seconds of so many iterations, from those of the first ones.

    The first of all solves tightly and builds what others use again: it has a time of its own.
    """
    if not first:
        return 0.0  # no two pixels are joined
    recent = first[1 + (len(first) - 1) // 2 :] or first  # iterations become cheaper
    return sum(first) + (iterations - len(first)) * sum(recent) / len(recent)


def fullest_square(mask: BoolArray, pixels: int) -> BoolArray:
    """Pixels of a mask (H, W) in a square that holds many of them; all if they are few."""
    if np.count_nonzero(mask) <= pixels:
        return mask
    side = math.isqrt(pixels)
    cell = max(1, side // CELLS)
    counts = mask.astype(np.int32)
    for axis in (0, 1):
        counts = np.add.reduceat(counts, np.arange(0, mask.shape[axis], cell), axis=axis)
    window = tuple(min(CELLS, length) for length in counts.shape)
    sums = np.lib.stride_tricks.sliding_window_view(counts, window).sum(axis=(2, 3))
    top, left = (cell * int(k) for k in np.unravel_index(np.argmax(sums), sums.shape))
    square = np.zeros_like(mask)
    place = np.s_[top : top + side, left : left + side]
    square[place] = mask[place]
    return square


class _Like:
    """Asks for the same problem as a method."""

    def __init__(self, method: Method) -> None:
        self._method = method

    def __getattr__(self, name: str) -> Any:
        return getattr(self._method, name)


class _Unsolved(_Like):
    """Leaves the surface flat: what remains of a run is all but the method."""

    def solve(
        self, problem: Problem, backend: Backend, callback: Callback | None = None
    ) -> Solution:
        return Solution(np.zeros(problem.graph.size), Outcome.STOPPED)  # not to be judged


class _Timed(_Like):
    """Tells how long the method took."""

    seconds = 0.0

    def solve(
        self, problem: Problem, backend: Backend, callback: Callback | None = None
    ) -> Solution:
        began = time.perf_counter()
        solution = self._method.solve(problem, backend, callback)
        self.seconds = time.perf_counter() - began
        return solution


def _load_kernels(method: Method, threads: int | None) -> None:
    """Run a method on next to nothing: what is compiled or loaded once is not to be measured."""
    from rayrelief.synthetic.gallery import sphere

    scene = sphere(64, 64)
    _integrate(scene, scene.mask, method, threads, lambda iteration: iteration.number == 3)


def _without_solving(
    scene: Scene, method: Method, threads: int | None
) -> tuple[Integration, float]:
    """Check and prepare the whole map: a result without a surface, and its seconds."""
    began = time.perf_counter()
    result = _integrate(scene, scene.mask, _Unsolved(method), threads)
    return result, time.perf_counter() - began


def _first_iterations(
    scene: Scene,
    sample: BoolArray,
    method: Any,
    threads: int | None,
    advance: Callable[[Iteration], None],
) -> tuple[list[float], float, Status]:
    """Integrate a part of a map for a while.

    Returns the seconds of each iteration, those of the method around them, and how it ended.
    """
    seconds: list[float] = []

    def look(iteration: Iteration) -> bool:
        advance(iteration)
        seconds.append(iteration.seconds)
        return len(seconds) > 1 and sum(seconds) > SAMPLE_SECONDS

    timed = _Timed(method)
    result = _integrate(scene, sample, timed, threads, look)
    return seconds, timed.seconds - sum(seconds), result.status


def _integrate(
    scene: Scene,
    mask: BoolArray,
    method: Method,
    threads: int | None,
    callback: Callback | None = None,
) -> Integration:
    return integrate(
        scene.normals,
        scene.camera,
        mask=mask,
        method=method,
        backend=CPU(threads),
        callback=callback,
        on_failure="return",
        memory_check=False,  # it is done, or not wanted
    )


def _growth(method: Method, ratio: float) -> float:
    """Time of a map over that of a sample of it, by the ratio of their pixels."""
    # Conjugate gradients take steps in proportion to the width.
    return ratio**1.5 if isinstance(getattr(method, "solver", None), ConjugateGradient) else ratio


def _summary(report: dict[str, Any]) -> str:
    width, height = report["input"]["size"]
    memory, sample, count = report["memory_bytes"], report["sample"], report["components"]
    expected = report["expected"]
    seconds = expected["prepare_seconds"] + expected["seconds"]
    return "\n".join(
        (
            f"Dry run of {width}x{height} pixels, {report['inside']:,} inside, "
            f"in {in_number(count, 'component')}",
            f"  memory: {in_words(memory['needed'])} beyond the input, "
            f"{in_words(memory['available'])} available",
            f"  time:   about {seconds:.3g} s for "
            f"{in_number(expected['iterations'], 'iteration')}, "
            f"by {in_number(sample['iterations'], 'iteration')} on "
            f"{in_number(sample['pixels'], 'pixel')}",
            "  not included: loading or compiling kernels, reading and writing files",
            *(f"  note:   {note}" for note in report["notes"]),
        )
    )
