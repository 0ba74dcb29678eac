"""New maps in the page: uploaded, examined, integrated, put on the stage."""

from __future__ import annotations

import re
import threading
import time
import warnings
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from rayrelief.cameras.calibration import check_format
from rayrelief.conventions import SOURCES, FloatArray
from rayrelief.datasets.folder import read_scene
from rayrelief.doctor.focal import FocalLength
from rayrelief.errors import FileError, IntegrationWarning, RayreliefError
from rayrelief.integration import integrate
from rayrelief.io.atomic import write_whole
from rayrelief.io.masks import read_mask
from rayrelief.memory import in_words
from rayrelief.methods import catalogue
from rayrelief.methods.base import Iteration, usual_iterations
from rayrelief.methods.devices import backend_for
from rayrelief.result import Integration
from rayrelief.scene import Scene
from rayrelief.viewer.finished import Finished, read_finished
from rayrelief.viewer.layers import Layers
from rayrelief.viewer.page.dropping import ANY, CAMERA, MASK, NORMALS, ROLES, drop_zone, role_of
from rayrelief.viewer.page.forming import Watched
from rayrelief.viewer.page.stage import Stage

CAMERAS = ("field of view", "orthographic", "uploaded file")
TITLE = "Integrate a normal map"
NAME = re.compile(r"[^A-Za-z0-9._-]")

Examine = Callable[[Path, str | Path | None, Path | None], tuple[str, FocalLength | None]]
Write = Callable[[Path, Scene, Integration, float], None]


class Upload:
    """The part of the panel that takes a new map, and what it has taken so far.

    Files are written into ``folder`` alone, each in a folder of its own under a harmless name.
    """

    def __init__(
        self,
        server: Any,
        stage: Stage,
        folder: Path,
        *,
        largest: int,
        examine: Examine,
        write: Write,
        finished: Callable[[], None],
        expanded: bool,
    ) -> None:
        self._stage, self._folder, self._largest = stage, folder, largest
        self._examine, self._write, self._finished = examine, write, finished
        self._files: dict[str, Path] = {}
        self._busy, self._uploads, self._runs = threading.Lock(), count(1), count(1)
        gui = server.gui
        with gui.add_folder(TITLE, expand_by_default=expanded):
            gui.add_html(drop_zone(TITLE))
            buttons = {role: gui.add_upload_button(f"Upload {role}") for role in (ANY, *ROLES)}
            self._limit = f"Files of up to {in_words(largest)}."
            self._taken = gui.add_markdown(self._limit)
            forget = gui.add_button("Forget the files")
            self._findings = gui.add_markdown("")
            self._axes = gui.add_dropdown("Axes", ("auto", *SOURCES))
            self._camera = gui.add_dropdown("Camera", CAMERAS)
            self._field = gui.add_number("Degrees", 60.0, min=0.1, max=179.0, step=0.1)
            self._method = gui.add_dropdown(
                "Method", tuple(catalogue.RECIPES), initial_value=catalogue.DEFAULT
            )
            beside = gui.add_checkbox("Beside the others", False)
            go = gui.add_button("Integrate")
            self._progress = gui.add_progress_bar(0.0, visible=False)
            self._message = gui.add_markdown("")
        for role, button in buttons.items():
            # Files may come faster than they are examined: they wait for each other. The button
            # forgets a file when the next one comes.
            button.on_upload(
                lambda event, role=role: self._told(True, self._take, role, event.target.value)
            )
        forget.on_click(lambda _: self._told(False, self._forget))
        go.on_click(lambda _: self._told(False, self._integrate, beside.value))

    def _told(self, waits: bool, action: Callable[..., None], *arguments: Any) -> None:
        """Do something, and say in the page why it cannot be done."""
        if not self._busy.acquire(blocking=waits):
            self._message.content = "Another map is being examined or integrated: wait for it."
            return
        try:
            self._message.content = ""
            action(*arguments)
        except RayreliefError as error:
            self._message.content = f"**Error:** {self._without_folders(str(error))}"
        except MemoryError:
            self._message.content = "**Error:** not enough memory. Use a smaller map."
        finally:
            self._progress.visible = False
            self._busy.release()

    def _take(self, role: str, file: Any) -> None:
        """Keep a file that was uploaded, once it is examined beside what is there."""
        if len(file.content) > self._largest:
            raise FileError(
                f"{file.name} has {in_words(len(file.content))}",
                expected=f"at most {in_words(self._largest)}",
                remedy="Start rayrelief view with a larger --max-upload",
            )
        place = self._folder / f"upload-{next(self._uploads)}" / harmless(file.name)
        write_whole(place, file.content)
        try:
            role = role_of(place) if role == ANY else role
            if role == MASK:
                read_mask(place)
            elif role == CAMERA:
                check_format(place)
            files, found, errors = self._suited({**self._files, role: place}, role)
        except (RayreliefError, MemoryError):
            place.unlink()
            raise
        self._keep(files)
        if role == CAMERA:
            self._camera.value = CAMERAS[2]
        words, focal = found
        self._findings.content = as_markdown(self._without_folders(words))
        if CAMERA not in files and focal is not None:
            self._camera.value = CAMERAS[1 if focal.parallel else 0]
            if not focal.parallel:
                self._field.value = round(focal.degrees(focal.best), 1)
        left_out = (f"- {self._without_folders(str(error))}" for error in errors)
        self._message.content = "\n".join(
            ("**Left out** for this map:", *left_out) if errors else ()
        )

    def _suited(
        self, files: dict[str, Path], new: str
    ) -> tuple[dict[str, Path], tuple[str, FocalLength | None], list[RayreliefError]]:
        """Those of the files that suit each other, what the doctor says, and why others do not.

        What does not suit the map is refused, but a new map leaves out what was there before it.
        """
        if NORMALS not in files:
            return files, ("", None), []
        try:
            return files, self._diagnosis(files), []
        except RayreliefError:
            if new != NORMALS or len(files) == 1:
                raise
        kept, errors = {NORMALS: files[NORMALS]}, list[RayreliefError]()
        found = self._diagnosis(kept)
        for role in (each for each in ROLES if each in files and each not in kept):
            try:
                found = self._diagnosis({**kept, role: files[role]})
            except RayreliefError as error:
                errors.append(error)
            else:
                kept[role] = files[role]
        return kept, found, errors

    def _diagnosis(self, files: dict[str, Path]) -> tuple[str, FocalLength | None]:
        """What the doctor says of the map among these files."""
        return self._examine(files[NORMALS], files.get(CAMERA), files.get(MASK))

    def _keep(self, files: dict[str, Path]) -> None:
        """Take these files, and delete those that were taken before."""
        for path in set(self._files.values()) - set(files.values()):
            path.unlink()
        self._files = files
        if CAMERA not in files and self._camera.value == CAMERAS[2]:
            self._camera.value = CAMERAS[0]
        taken = ", ".join(f"{path.name} as the {role}" for role, path in files.items())
        self._taken.content = f"Taken: {taken}" if files else self._limit

    def _forget(self) -> None:
        """Take nothing of what was uploaded."""
        self._keep({})
        self._findings.content = ""

    def _without_folders(self, text: str) -> str:
        """Words about uploaded files, by the names that their owner knows."""
        return re.sub(re.escape(str(self._folder)) + r"[/\\][^/\\]+[/\\]", "", text)

    def _scene(self) -> Scene:
        """Scene of the files and what was chosen beside them."""
        if NORMALS not in self._files:
            raise FileError(
                "there is no normal map yet",
                expected="a normal map",
                remedy="Drop one on the page, or upload it: PNG, TIFF, EXR, NPY, NPZ or MAT",
            )
        camera: str | Path | None = {
            CAMERAS[0]: f"fov:{self._field.value:g}",
            CAMERAS[1]: "orthographic",
            CAMERAS[2]: self._files.get(CAMERA),
        }[self._camera.value]
        if camera is None:
            raise FileError(
                "there is no camera file yet",
                expected="a calibration, such as K.txt or camera.json",
                remedy="Upload one, or choose another camera",
            )
        return read_scene(
            self._files[NORMALS],
            convention=self._axes.value,
            camera=camera,
            mask=self._files.get(MASK),
        )

    def _integrate(self, beside: bool) -> None:
        self._progress.visible, self._progress.value = True, 0.0
        scene, method = self._scene(), catalogue.RECIPES[self._method.value]()
        limit = usual_iterations(method) or 40
        if not beside:
            self._stage.clear()

        def advance(iteration: Iteration) -> None:
            self._progress.value = min(100.0 * iteration.number / limit, 100.0)

        def show(depth: FloatArray) -> None:
            self._stage.form(Finished("", self._folder, depth, scene.camera, Layers()))

        began = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", IntegrationWarning)  # the status says the same
                result = integrate(
                    scene.normals,
                    scene.camera,
                    mask=scene.mask,
                    confidence=scene.confidence,
                    method=method,
                    backend=Watched(backend_for("cpu", method), show),
                    callback=advance,
                )
            folder = self._folder / f"{scene.name}-{next(self._runs)}"
            self._write(folder, scene, result, time.perf_counter() - began)
            self._stage.add(read_finished(folder))
        finally:
            self._stage.forget_forming()
        self._finished()
        notes = "".join(f"\n- {note}" for note in (*scene.notes, *result.status.notes))
        self._message.content = result.status.cause + self._without_folders(notes)


def harmless(name: str) -> str:
    """Name of a file without anything that leads elsewhere."""
    return NAME.sub("_", Path(name).name).lstrip(".") or "file"


def as_markdown(findings: str) -> str:
    """Lines that begin with a name, or continue the one before, as a narrow panel can show them."""
    lines = [
        f"- {line.strip()}" if line.startswith(" ") else re.sub(r"^(\S+) +", r"\n**\1:** ", line)
        for line in findings.splitlines()
    ]
    return "\n".join(lines)
