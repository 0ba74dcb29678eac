"""rayrelief integrate --sequence: frames in order, each from the surface of the last one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from rayrelief.batch.plan import PlannedMap
from rayrelief.batch.sequence import LastFrame
from rayrelief.cli.options.surface import SurfaceOptions
from rayrelief.cli.runs.one_of_many import Done, OneOfMany
from rayrelief.cli.runs.summary import Row
from rayrelief.cli.runs.writing import Finished
from rayrelief.io.depth import read_depth

if TYPE_CHECKING:
    from pathlib import Path

    from rayrelief.result import Integration
    from rayrelief.scene import Scene

CUT = "cut: "  # in the report of a frame, before the reason
NO_START = "the frame before has failed or has not converged"
EXACT_FIRST = ("npy", "npz", "exr", "png")


def _nothing() -> None:
    """What there is before the first frame, or after one that has failed."""


@dataclass(frozen=True)
class Before:
    """The frame before.

    Attributes
    ----------
    mark
        Its fingerprint: when it changes, what follows is done again. Empty before the first frame.
    read
        What to start from, if anything; only asked for where a frame is done.
    """

    mark: str = ""
    read: Callable[[], LastFrame | None] = _nothing


@dataclass(frozen=True, kw_only=True)
class Following(SurfaceOptions):
    """Options of the surface, with the frame before it; what is found out of this one."""

    before: Before = field(default_factory=Before, repr=False)
    scenes: list[Scene] = field(default_factory=list, repr=False)
    cuts: list[str] = field(default_factory=list, repr=False)

    def arguments(self, scene: Scene) -> dict[str, Any]:
        """Arguments of integrate for a scene: also where to start."""
        last = self.before.read()
        self.scenes.append(scene)
        start = None if last is None else last.start_for(scene)
        if start is None and self.before.mark:
            self.cuts.append(NO_START if last is None else last.cut_before(scene))
        return super().arguments(scene) | ({} if start is None else {"start": start})

    def lines(self, result: Integration) -> list[str]:
        """What there is to say about the surface, also that there is a cut before it."""
        return [*super().lines(result), *(CUT + why for why in self.cuts)]


@dataclass(frozen=True)
class InSequence(OneOfMany):
    """What is done with each frame, one after the other in one process.

    Attributes
    ----------
    before
        The frame before: its only entry.
    """

    before: list[Before] = field(default_factory=lambda: [Before()], repr=False)

    def _done(self, planned: PlannedMap) -> Done:
        try:
            return super()._done(planned)
        except BaseException:
            self.before[0] = Before("failed")
            raise

    def _row(self, planned: PlannedMap, report: dict[str, Any], was_there: bool) -> Row:
        if was_there:
            is_start = report["status"]["ok"]
            read = partial(self._kept, planned) if is_start else _nothing
            self.before[0] = Before(report["fingerprint"], read)
        cuts = (line.removeprefix(CUT) for line in report["surface"] if line.startswith(CUT))
        return super()._row(planned, report, was_there) | {"cut": next(cuts, "")}

    def _surface(self) -> SurfaceOptions:
        given = {each.name: getattr(self.surface, each.name) for each in fields(SurfaceOptions)}
        return Following(**given, before=self.before[0])

    def _settings(self) -> list[object]:
        return [*super()._settings(), "sequence", self.before[0].mark]

    def _integrate(
        self, planned: PlannedMap, surface: SurfaceOptions, read: list[Path], mark: str
    ) -> Finished:
        finished = super()._integrate(planned, surface, read, mark)
        (scene,) = cast("Following", surface).scenes
        last = LastFrame.of(scene, finished.result)
        self.before[0] = Before(mark, lambda: last)
        return finished

    def _kept(self, planned: PlannedMap) -> LastFrame:
        """Frame that an earlier run has done, from its files."""
        suffix = next(suffix for suffix in EXACT_FIRST if suffix in self.depth_formats)
        depth, _ = read_depth(planned.folder / f"depth.{suffix}")
        return LastFrame.with_depth(self.source.scene(planned.path), depth)
