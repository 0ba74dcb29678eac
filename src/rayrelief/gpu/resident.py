"""Resident: one method on maps of one source; memory and compiled work are kept between them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.backends.base import Final
from rayrelief.backends.cuda.computation import GridComputation
from rayrelief.backends.cuda.engine import Engine
from rayrelief.backends.cuda.equations import put_components
from rayrelief.backends.cuda.layout import Struct
from rayrelief.backends.cuda.machine import Array
from rayrelief.checks import require
from rayrelief.errors import InputError, IntegrationWarning
from rayrelief.formulation.confidence import relative
from rayrelief.gpu.constants import Parts
from rayrelief.gpu.source import ROUND, Box, Source, box_of, fits
from rayrelief.graph import STEPS
from rayrelief.methods.base import Solution
from rayrelief.methods.ordered.recipe import Ordered
from rayrelief.methods.recipes import BiNI, RayPlane, Smooth
from rayrelief.pieces import threads_for
from rayrelief.preprocess import Preprocessing, PreprocessReport, facing_away_limits

Pixels = npt.NDArray[np.int64]
Recipe = RayPlane | BiNI | Smooth | Ordered


@dataclass(frozen=True, eq=False)
class Run:
    """What came of one map: its depth (H, W), and what was found on the way."""

    depth: Array
    solution: Solution
    parts: Parts
    report: PreprocessReport


class Resident:
    """Normals to depth, on the machine of a source."""

    def __init__(self, source: Source, method: Recipe | None) -> None:
        self.method: Recipe = RayPlane() if method is None else method
        _check_method(self.method)
        source.settings["first_order"] = isinstance(self.method, BiNI)
        directions = len(STEPS[self.method.connectivity])
        intervals = isinstance(self.method, Ordered)
        if isinstance(self.method, Ordered):
            noise = self.method.noise
            source.settings["noise"] = -1.0 if noise is None else math.radians(noise)
        self.source = replace(source, directions=directions, intervals=intervals)
        self.engine: Engine | None = None
        self._trusts = False

    def run(
        self,
        normals: Array,
        mask: Array | None,
        start: Array | None,
        confidence: Array | None = None,
    ) -> Run:
        """Integrate a map (H, W, 3) that is on the machine."""
        if self._trusts != (confidence is not None):
            self.engine, self._trusts = None, confidence is not None
        engine = self._engine_for(box_of(self.source.machine, normals, mask))
        with engine.queue.arrays(), threads_for(engine.work.pixels, None):
            return self._integrated(engine, normals, mask, start, confidence)

    def first_pixels(self, parts: Parts) -> tuple[Pixels, Pixels]:
        """Row and column (C,) of the first pixel of each component of the last map."""
        engine: Engine = self.engine  # type: ignore[assignment]
        rows, columns = np.divmod(engine.machine.get(parts.firsts()), engine.work.width)
        top, left = (int(engine.work.grid[name][0]) for name in ("source_y", "source_x"))
        return rows + top, columns + left

    def _engine_for(self, box: Box) -> Engine:
        """Engine whose image holds a box of the given one: the last, if that is not far larger."""
        source, engine = self.source, self.engine
        if engine is None or not fits(box, engine.work):
            self.engine = None  # whose memory is free for the next one
            height, width = (
                min(-(-size // ROUND) * ROUND, most)
                for size, most in zip(box.size, source.shape, strict=True)
            )
            if source.settings["wraps"]:
                width = source.shape[1]
            self.engine = engine = source.engine(height, width, trusts=self._trusts)
        grid = engine.work.grid
        grid["source_y"] = min(box.top, source.shape[0] - engine.work.height)
        grid["source_x"] = min(box.left, source.shape[1] - engine.work.width)
        return engine

    def _integrated(
        self,
        engine: Engine,
        normals: Array,
        mask: Array | None,
        start: Array | None,
        confidence: Array | None,
    ) -> Run:
        xp, work = engine.machine.arrays, engine.work
        work.point("normals", normals.ravel())
        work.grid["mask"] = 0
        if mask is not None:
            work.point("mask", mask.ravel().view(np.uint8))
        if self.source.intervals:
            engine.schedule.formulate_intervals()
        else:
            engine.schedule.formulate()
        if confidence is not None:
            if self.source.intervals:
                inside = xp.isfinite(normals).all(axis=-1) & normals.any(axis=-1)
                inside = inside if mask is None else inside & mask
                confidence = relative(xp.where(inside, confidence, 0.0), xp)
            work.point("confidence", confidence.ravel())
            engine.schedule.trust(intervals=self.source.intervals)
        engine.queue.mark()
        found = engine.scalars()
        around = 0 if mask is not None else normals.size // 3 - work.pixels
        report = _judged(found, around, self.method.preprocessing)
        parts = Parts(xp, work.arrays["component"], int(found["nodes"]), int(found["components"]))
        if parts.count > 1:
            put_components(work, parts.segments())
            work.point("part", parts.numbers())
        before = _begin(engine, parts, start)
        solution = self._iterate(engine, parts, is_flat=start is None)
        if parts.count == 1:
            engine.queue.replay(("median", 1), partial(engine.schedule.median, 1))
        else:
            work.point("shift", before - parts.medians(work.arrays["x"]))
        depth = work.point("depth", xp.full(normals.shape[:2], xp.nan))
        engine.queue.launch("depth_of", engine.schedule.spread, 256)
        engine.queue.finish()
        for name in ("normals", "mask", "confidence", "depth"):
            work.arrays.pop(name, None)  # they belong to the caller
        return Run(depth, solution, parts, report)

    def _iterate(self, engine: Engine, parts: Parts, *, is_flat: bool) -> Solution:
        solver = self.method.solver

        def finish(law: Any, image: Any) -> Final:
            return Final(image, None, None, None)  # type: ignore[arg-type]

        assembled = _Assembled(parts.count < parts.nodes, None if is_flat else parts)
        free = np.zeros(parts.count, dtype=np.bool_)
        running = GridComputation(engine, solver, parts.nodes, free, is_flat, finish)
        solve = self.method.surface if isinstance(self.method, Ordered) else self.method.solve
        return solve(assembled, _Running(running))  # type: ignore[arg-type]


def _begin(engine: Engine, parts: Parts, start: Array | None) -> Array:
    """Set the first surface; the constant (C,) that each of several components shall have."""
    work, x = engine.work, engine.work.arrays["x"]
    if start is None:
        x[...] = 0.0
        work.arrays["median"][0] = 0.0
        return 0.0
    work.point("start", start)
    engine.schedule.start()
    engine.queue.mark()
    bad = int(engine.scalars()["without_start"])
    del work.arrays["start"]
    if bad:
        raise InputError(
            f"start has no depth at {bad:,} of {parts.nodes:,} pixels",
            expected="a finite depth, positive for central cameras, inside the whole mask",
            remedy="Fill the gaps, or leave these pixels out of the mask",
        )
    if parts.count == 1:
        engine.queue.replay(("median", 0), partial(engine.schedule.median, 0))
        return 0.0
    # What compares surfaces knows of one constant: each component begins around 0.
    medians = parts.medians(x)
    x[...] = parts.arrays.where(parts.component >= 0, x - medians[work.arrays["part"]], 0.0)
    return medians


@dataclass(frozen=True)
class _Assembled:
    """What the loop asks about a problem that is on the GPU."""

    has_equations: bool
    start: object
    equations: None = None
    anchors: None = None


@dataclass(frozen=True, eq=False)
class _Running:
    """A backend that has begun already."""

    computation: GridComputation

    @contextmanager
    def compute(self, problem: object, solver: object) -> Iterator[GridComputation]:
        """Go on with it."""
        yield self.computation


def _check_method(method: Recipe) -> None:
    """Raise InputError for settings whose equations are set up on the CPU alone."""
    plain = isinstance(method, RayPlane | BiNI | Smooth | Ordered) and method.connectivity in (4, 8)
    plain = plain and method.preprocessing in (Preprocessing(), Preprocessing("keep"))
    if isinstance(method, BiNI):
        plain = plain and method.form == "rays"
    elif plain and not isinstance(method, Ordered):
        ours = method.midpoint, method.outlier_threshold, method.cost_factor, method.weight_gamma
        plain = ours == (0.5, None, "full", None)
    require(
        plain,
        f"the method {method} was asked for",
        "RayPlane, BiNI or Smooth with the paper's equations, or Ordered, with four or eight "
        "neighbours and plain normals",
        "Leave its other settings out, or use integrate(..., device='cuda')",
    )


def _judged(found: Struct, around: int, options: Preprocessing) -> PreprocessReport:
    """What was found in the normals, with so many pixels around them that have none.

    An InputError, or a warning, if too many face away.
    """
    nodes, away = int(found["nodes"]), int(found["facing_away"])
    without_normal, without_ray = around + int(found["without_normal"]), int(found["without_ray"])
    if nodes == 0:
        raise InputError(
            f"no pixel is left to integrate: {without_normal:,} have no normal and "
            f"{without_ray:,} no ray",
            expected="a finite, non-zero normal and a ray at some pixel of the mask",
            remedy="Check that the mask matches the map, and that the map holds normals",
        )
    words = f"{100 * away / nodes:.3g} % of the normals face away from the camera"
    worth_telling, too_many = facing_away_limits(options)
    if away > too_many * nodes:
        raise InputError(
            words,
            expected="less than 1 %",
            remedy="Check the convention: rayrelief.to_opencv converts others. To continue anyway, "
            "give the method preprocessing=rayrelief.Preprocessing('keep')",
        )
    if away > worth_telling * nodes:
        text = f"{words}; expected less than 1 %. Check the convention."
        warnings.warn(text, IntegrationWarning, stacklevel=5)
    return PreprocessReport(
        pixels=nodes + without_normal + without_ray,
        without_normal=without_normal,
        without_ray=without_ray,
        facing_away=away,
        averaged=0,
        dropped=0,
        outliers=0,
    )
