"""Actor: one result in the scene of the page, and how it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rayrelief.conventions import FloatArray, from_opencv
from rayrelief.errors import in_number
from rayrelief.mesh import Mesh
from rayrelief.meshing import CUT
from rayrelief.shading import Image
from rayrelief.viewer.display import Colouring, colourings
from rayrelief.viewer.finished import Finished
from rayrelief.viewer.page.picking import first_hit
from rayrelief.viewer.placed import Placed
from rayrelief.viewer.sheet import INK


@dataclass(frozen=True)
class Look:
    """How all results are drawn."""

    colour: str = "clay"
    cut: float = CUT
    exaggeration: float = 1.0
    wireframe: bool = False
    camera: bool = False

    @property
    def scale(self) -> tuple[float, float, float]:
        """Of the three axes: the one towards the camera is exaggerated."""
        return 1.0, 1.0, self.exaggeration


class Actor:
    """A result on the stage, and what of it has been sent to the browsers."""

    def __init__(self, server: Any, number: int, placed: Placed, photo: Image | None) -> None:
        self.placed, self._scene, self.name = placed, server.scene, f"/result{number}"
        self._photo = photo
        self.frame = server.scene.add_frame(self.name, show_axes=False)
        self.colourings = colourings(placed.shown, photo)
        self.mesh, self.stride = Mesh(np.empty((0, 3)), np.empty((0, 3), np.int32)), 1
        self.colouring = Colouring(np.empty((0, 0, 3), np.uint8), "")
        self._drawn: Look | None = None
        self._parts: dict[str, Any] = {}
        self._scene.add_label(
            f"{self.name}/name", placed.shown.name, position=(0, -1.05, 0), anchor="top-center"
        )

    def compare(self, others: Sequence[Finished]) -> None:
        """Take the colours that it needs beside others."""
        self.colourings = colourings(self.placed.shown, self._photo, others)
        if self._drawn is not None and self._drawn.colour == "error":
            self._drawn = replace(self._drawn, colour="")

    @property
    def vertices(self) -> FloatArray:
        """Those of its mesh, on the page, before they are moved and exaggerated."""
        return from_opencv(self.mesh.vertices, "opengl")

    def draw(self, look: Look) -> None:
        """Send what differs from what was drawn last."""
        old = self._drawn
        if old is None or old.cut != look.cut:
            self.mesh, self.stride = self.placed.mesh(look.cut)
            old = None
        if old is None or old.colour != look.colour:
            paint = self.colourings.get(look.colour, self.colourings["clay"])
            self.colouring = paint()
            data = self.placed.glb(self.mesh, self.colouring.picture)
            self._parts["surface"] = self._scene.add_glb(
                f"{self.name}/surface", data, scale=look.scale, cast_shadow=False
            )
        if old is None or old.wireframe != look.wireframe:
            self._toggle("wires", look.wireframe, self._add_wires)
        if old is None or old.camera != look.camera:
            self._toggle("camera", look.camera, self._add_camera)
        for name in ("surface", "wires"):
            if name in self._parts:
                self._parts[name].scale = look.scale
        self._drawn = look

    def _toggle(self, name: str, wanted: bool, add: Any) -> None:
        if name in self._parts:
            self._parts.pop(name).remove()
        if wanted:
            self._parts[name] = add(f"{self.name}/{name}")

    def _add_wires(self, name: str) -> Any:
        return self._scene.add_mesh_simple(
            name,
            self.vertices,
            self.mesh.faces,
            color=INK,
            wireframe=True,
            opacity=0.3,  # the lines of a dense mesh would hide it
            cast_shadow=False,
        )

    def _add_camera(self, name: str) -> Any:
        lines = self.placed.outline
        return self._scene.add_line_segments(
            name, lines, INK, thickness=1.5, thickness_units="screen"
        )

    def hit(self, origin: FloatArray, direction: FloatArray, look: Look) -> FloatArray | None:
        """First point on a ray of the page, in the actor's own axes without exaggeration."""
        scale = np.array(look.scale)
        local = (origin - self.frame.position) / scale
        return first_hit(self.vertices, self.mesh.faces, local, direction / scale)

    def remove(self) -> None:
        """Take it off the stage."""
        self.frame.remove()


def described(actor: Actor) -> str:
    """What is seen of a result, in words; says so where it is less than there is."""
    mesh: Mesh = actor.mesh
    height, width = actor.placed.shown.depth.shape
    every = f"every {actor.stride} pixels" if actor.stride > 1 else "all pixels"
    lines = [
        f"**{actor.placed.shown.name}**: {width}x{height} pixels, "
        f"{in_number(len(mesh.faces), 'face')} drawn ({every})",
        actor.placed.shown.summary,
        actor.colouring.label,
    ]
    return "  \n".join(line for line in lines if line)
