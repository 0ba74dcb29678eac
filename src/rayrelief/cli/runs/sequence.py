"""rayrelief integrate --sequence: frames in order, each from the surface of the last one."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rayrelief.batch.plan import PlannedMap
from rayrelief.batch.sequence import LastFrame
from rayrelief.cli.options.surface import SurfaceOptions
from rayrelief.cli.runs.one_of_many import Done, OneOfMany
from rayrelief.cli.runs.writing import Finished
from rayrelief.io.depth import read_depth

if TYPE_CHECKING:
    from rayrelief.scene import Scene


@dataclass(frozen=True, kw_only=True)
class Following(SurfaceOptions):
    """Options of the surface, with the frame before it."""

    last: LastFrame | None = field(default=None, repr=False)

    def arguments(self, scene: Scene) -> dict[str, Any]:
        """Arguments of integrate for a scene: also where to start."""
        start = None if self.last is None else self.last.start_for(scene)
        return super().arguments(scene) | ({} if start is None else {"start": start})


@dataclass(frozen=True)
class InSequence(OneOfMany):
    """What is done with each frame, one after the other in one process.

    Attributes
    ----------
    last
        The frame before, if it has a surface: its only entry.
    """

    last: list[LastFrame | None] = field(default_factory=lambda: [None], repr=False)

    def _done(self, planned: PlannedMap) -> Done:
        try:
            done = super()._done(planned)
        except BaseException:
            self.last[0] = None  # a frame that fails is no start
            raise
        if done.was_there:
            self.last[0] = self._kept(planned)
        return done

    def _surface(self) -> SurfaceOptions:
        given = {each.name: getattr(self.surface, each.name) for each in fields(SurfaceOptions)}
        return Following(**given, last=self.last[0])

    def _settings(self) -> list[object]:
        return [*super()._settings(), "sequence"]

    def _integrate(
        self, planned: PlannedMap, surface: SurfaceOptions, read: list[Path], mark: str
    ) -> Finished:
        finished = super()._integrate(planned, surface, read, mark)
        self.last[0] = LastFrame.of(finished.result)
        return finished

    def _kept(self, planned: PlannedMap) -> LastFrame | None:
        """Frame that an earlier run has done, from its files."""
        file = next((planned.folder / f"depth.{suffix}" for suffix in self.depth_formats), None)
        if file is None:
            return None
        scene, (depth, kind) = self.source.scene(planned.path), read_depth(file)
        normals = np.where(scene.mask[..., None], scene.normals, np.nan).astype(np.float32)
        return LastFrame(normals, depth, (type(scene.camera), kind or scene.depth_kind))
