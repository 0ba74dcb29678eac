"""The panel beside the scene: how results are drawn, measured and saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rayrelief.io.images import encode_png
from rayrelief.io.sources import read_bytes
from rayrelief.meshing import CUT, SMALLEST_CUT
from rayrelief.viewer.page.actor import described
from rayrelief.viewer.page.stage import Stage
from rayrelief.viewer.sheet import ColourScale

ORDER = ("clay", "normals", "depth", "jumps", "segments", "weights", "error", "photo")
BAR = (14, 256)  # pixels of a colour bar


class Controls:
    """Controls of a stage, in the panel of a server."""

    def __init__(self, server: Any, stage: Stage) -> None:
        self._server, self._stage = server, stage
        gui = server.gui
        self._about = gui.add_markdown("")
        self._bar = gui.add_image(np.zeros((*BAR, 3), np.uint8), visible=False)
        self._colour = gui.add_dropdown("Colour", ORDER[:1])
        cut = gui.add_slider(
            "Cut", SMALLEST_CUT, 20.0, 0.5, CUT, hint="Jumps of more pixels are cut"
        )
        relief = gui.add_slider("Exaggerate", 0.1, 5.0, 0.1, 1.0, hint="Depth, so many times")
        wires = gui.add_checkbox("Wireframe", False)
        camera = gui.add_checkbox("Show camera", False, hint="Where it stood, and what it saw")
        light = gui.add_checkbox("Show light", True, hint="Drag it in the scene")
        look = gui.add_button("Look through the camera")
        with gui.add_folder("Measure"):
            measure = gui.add_checkbox("Click two points", False)
            self._distance = gui.add_markdown("")
        with gui.add_folder("Save"):
            picture = gui.add_button("Picture of this view")
            self._file = gui.add_dropdown("File", ("-",))
            download = gui.add_button("Download file")

        self._colour.on_update(lambda event: self._draw(colour=event.target.value))
        cut.on_update(lambda event: self._draw(cut=float(event.target.value)))
        relief.on_update(lambda event: self._draw(exaggeration=float(event.target.value)))
        wires.on_update(lambda event: self._draw(wireframe=event.target.value))
        camera.on_update(lambda event: self._draw(camera=event.target.value))
        light.on_update(lambda event: self._show_light(event.target.value))
        look.on_click(lambda event: self._look_through(event.client))
        measure.on_update(lambda event: self._measure(event.target.value))
        picture.on_click(lambda event: save_picture(event.client))
        download.on_click(lambda event: self._download(event.client))

    def refresh(self) -> None:
        """Offer what the results on the stage have, and say what is seen of them."""
        actors = self._stage.actors
        known = {name for actor in actors for name in actor.colourings} or {"clay"}
        self._colour.options = tuple(name for name in ORDER if name in known)
        self._file.options = tuple(self._files()) or ("-",)
        self._describe()

    def _describe(self) -> None:
        actors = self._stage.actors
        words = "\n\n".join(described(actor) for actor in actors)
        self._about.content = words or "No result yet: integrate a normal map below."
        scales = [actor.colouring.scale for actor in actors if actor.colouring.scale is not None]
        self._bar.visible = bool(scales)
        if scales:  # their ranges stand beside the names
            self._bar.image = bar(scales[0])

    def _draw(self, **changes: Any) -> None:
        self._stage.draw(**changes)
        self._describe()

    def _show_light(self, visible: bool) -> None:
        """Show or hide the handle; the lamp that hangs on it goes on shining."""
        self._stage.light.opacity = 1.0 if visible else 0.0

    def _look_through(self, client: Any) -> None:
        if self._stage.actors:
            place, field = self._stage.actors[0].placed.camera_place
            middle = self._stage.actors[0].frame.position
            with client.atomic():
                client.camera.position = place + middle
                client.camera.look_at = middle
                client.camera.fov = field

    def _measure(self, wanted: bool) -> None:
        scene = self._server.scene
        self._distance.content = "Click a point of a surface." if wanted else ""
        if wanted:
            scene.on_click()(self._clicked)
        else:
            scene.remove_click_callback(self._clicked)
            self._stage.forget_marks()

    def _clicked(self, event: Any) -> None:
        origin, direction = np.array(event.ray_origin), np.array(event.ray_direction)
        self._distance.content = self._stage.mark(origin, direction)

    def _files(self) -> dict[str, Path]:
        """Files of all results, by what the page calls them; not what links lead to."""
        return {
            f"{actor.placed.shown.name}/{file.name}": file
            for actor in self._stage.actors
            for file in sorted(actor.placed.shown.folder.iterdir())
            if file.is_file() and not file.is_symlink() and not file.name.startswith(".")
        }

    def _download(self, client: Any) -> None:
        file = self._files().get(self._file.value)
        if file is not None:
            client.send_file_download(file.name, read_bytes(file), save_immediately=True)


def save_picture(client: Any) -> None:
    """Send a browser the picture that it shows."""
    camera = client.camera
    picture = client.get_render(camera.image_height, camera.image_width, transport_format="png")
    client.send_file_download("view.png", encode_png(picture), save_immediately=True)


def bar(scale: ColourScale) -> Any:
    """Picture of a colour scale, from low to high."""
    columns = np.linspace(0, 255, BAR[1]).round().astype(np.intp)
    return np.repeat(scale.colours[columns][None], BAR[0], axis=0)
