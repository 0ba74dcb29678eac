"""One of many maps, in the process of a worker: done unless it was, and silently."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import rayrelief
from rayrelief.batch.base import Engine
from rayrelief.batch.fingerprint import fingerprint, finished_report
from rayrelief.batch.plan import PlannedMap
from rayrelief.cli.options.mesh import MeshOptions
from rayrelief.cli.options.shared import Input
from rayrelief.cli.options.surface import SurfaceOptions
from rayrelief.cli.runs.inputs import check_apart, check_not_replaced, scene_files
from rayrelief.cli.runs.places import result_files
from rayrelief.cli.runs.report import finite, left_by_others, left_in_words
from rayrelief.cli.runs.run import integrate_into
from rayrelief.cli.runs.summary import Row, failed_row, row_of
from rayrelief.cli.runs.writing import Finished
from rayrelief.cli.terminal.console import EXPECTED, NOTE, in_words, spoken_warnings
from rayrelief.io.reports import REPORT_NAME
from rayrelief.methods.base import Method
from rayrelief.methods.devices import DeviceName
from rayrelief.shading import Image
from rayrelief.viewer.contact_sheet import thumbnail


class _Silence:
    """Streams belong to the whole process: where a worker has several threads, its maps take turns.

    A fork has one thread alone: it inherits neither the turn of another one nor its silence.
    """

    def __init__(self) -> None:
        self._turn, self._kept = threading.RLock(), ExitStack()

    @contextmanager
    def kept(self, stream: io.StringIO) -> Iterator[None]:
        """What is said in this context goes into a stream."""
        with self._turn, ExitStack() as self._kept:
            self._kept.enter_context(redirect_stderr(stream))
            self._kept.enter_context(spoken_warnings())
            yield

    def after_fork(self) -> None:
        self._kept.close()
        self._turn = threading.RLock()


_SILENCE = _Silence()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_SILENCE.after_fork)


@dataclass(frozen=True, eq=False)
class Done:
    """What is known of a map when it is done.

    Attributes
    ----------
    row
        Its row of the summary.
    picture
        Its surface on the contact sheet; None if it has none.
    said
        Warnings, one line each.
    was_there
        Whether an earlier run had done it.
    """

    row: Row
    picture: Image | None = None
    said: tuple[str, ...] = ()
    was_there: bool = False


@dataclass(frozen=True)
class OneOfMany:
    """What is done with each of many maps: all options of the command."""

    engine: Engine
    source: Input
    method: Method
    meshing: MeshOptions
    surface: SurfaceOptions
    depth_formats: list[str]
    mesh_formats: list[str]
    device: DeviceName
    memory_check: bool
    picture_side: int

    def __call__(self, planned: PlannedMap) -> Done:
        """Integrate a map into its folder, unless that has been done; a bad one is a row too."""
        stream = io.StringIO()
        with _SILENCE.kept(stream):
            try:
                done = self._done(planned)
            except EXPECTED as error:
                done = failed(planned, error)
        lines = stream.getvalue().splitlines()
        warnings = (line for line in lines if not line.startswith(NOTE))
        return replace(done, said=(*warnings, *done.said))

    def _done(self, planned: PlannedMap) -> Done:
        out, surface = planned.folder, self._surface()
        if surface.height_file is not None:
            surface = replace(surface, height_file=out / surface.height_file)
        read = files_of(planned.path, self.source, self.meshing, surface)
        mark = fingerprint(self._settings(), read)
        report = finished_report(out / REPORT_NAME, mark)
        was_there = report is not None
        if report is None:
            report = finite(self._integrate(planned, surface, read, mark).report)
        preview = out / "preview.png"
        picture = thumbnail(preview, self.picture_side) if preview.is_file() else None
        return Done(self._row(planned, report, was_there), picture, was_there=was_there)

    def _row(self, planned: PlannedMap, report: dict[str, Any], was_there: bool) -> Row:
        """Row of a map that is done."""
        return row_of(planned, report)

    def _integrate(
        self, planned: PlannedMap, surface: SurfaceOptions, read: list[Path], mark: str
    ) -> Finished:
        share = self.engine.share()
        scene = self.source.scene(planned.path)
        formats: Any = {"depth_formats": self.depth_formats, "mesh_formats": self.mesh_formats}
        results = result_files(planned.folder, scene.camera, **formats)
        more = [] if surface.height_file is None else [surface.height_file]
        check_not_replaced(read, [*results, *more])
        check_apart([*results, *more])
        return integrate_into(
            planned.folder,
            scene,
            self.method,
            threads=share.threads,
            memory_check=self.memory_check,
            memory_limit=share.memory,
            mesh_options=self.meshing,
            surface=surface,
            device=self.device,
            fingerprint=mark,
            **formats,
        )

    def _surface(self) -> SurfaceOptions:
        """Options of the surface of the next map."""
        return self.surface

    def _settings(self) -> list[object]:
        """All that changes a result, besides the files that are read."""
        chosen = [self.source, self.method, self.meshing, self.surface]
        return [rayrelief.__version__, *chosen, self.depth_formats, self.mesh_formats, self.device]


def failed(planned: PlannedMap, error: BaseException) -> Done:
    """Outcome of a map that could not be integrated, whose folder may hold an earlier result."""
    message = in_words(error)
    if left := left_by_others(planned.folder / REPORT_NAME):
        message += f" In its folder, {left_in_words(left)}"
    return Done(failed_row(planned, message), said=(f"error: {message}",))


def files_of(
    path: Path, source: Input, meshing: MeshOptions, surface: SurfaceOptions
) -> list[Path]:
    """Files that a run reads."""
    read = scene_files(path, source.camera_text, source.mask)
    return read + [file for file in (meshing.photo, surface.depth_prior) if file is not None]
