"""Stage: results side by side in the scene of the page, under one light, turning together."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np

from rayrelief.conventions import FloatArray, from_opencv
from rayrelief.meshing import CUT
from rayrelief.shading import CLAY, Image
from rayrelief.viewer.finished import Finished
from rayrelief.viewer.page.actor import Actor, Look
from rayrelief.viewer.placed import Placed

APART = 2.1  # radii between the middles of neighbours
LIGHT = (-0.8, 0.8, 1.0)
SKY, GROUND = (255, 255, 255), (90, 86, 80)
FIELD = np.radians(40)  # of the picture, vertically
FROM = np.array([0.35, 0.25, 0.9])  # where new visitors stand, from a distance of 1
ASPECT = 1.0  # of the picture beside the panel, as long as it is not known
MARK = 0.012  # radius of a clicked point
FORMING = "/forming"


class Stage:
    """Results side by side: whoever turns the view turns each of them in its place."""

    def __init__(self, server: Any, seats: int = 1) -> None:
        """Prepare a stage of a server, wide enough for so many results."""
        self._server, self._lock = server, threading.Lock()
        self.look = Look()
        self.actors: list[Actor] = []
        self._count = 0
        self._marks: list[tuple[Actor, FloatArray]] = []
        self._welcomed: set[int] = set()
        self._right = np.cross((0.0, 1.0, 0.0), FROM) / np.hypot(FROM[0], FROM[2])
        scene = server.scene
        scene.set_up_direction("+y")
        scene.configure_default_lights(enabled=False)
        scene.configure_environment_map(None)
        # Not the same from all sides: what the lamp does not reach would look flat.
        scene.add_light_hemisphere("/sky", sky_color=SKY, ground_color=GROUND, intensity=1.2)
        self.light = scene.add_transform_controls(
            "/light", scale=0.35, disable_rotations=True, position=LIGHT
        )
        scene.add_light_point("/light/lamp", intensity=3.0, decay=0.0)
        self._seats = 0
        self.seat(max(seats, 1))

    def seat(self, count: int) -> None:
        """Let visitors stand where they see so many results, as they look at them."""
        if count == self._seats:
            return
        self._seats = count
        self._arrange()
        first = self._server.initial_camera
        first.fov = FIELD
        first.look_at = (0.0, 0.0, 0.0)
        first.position = self._distance(ASPECT) * FROM
        for client in self._server.get_clients().values():
            self.step_back(client)

    def follow(self, client: Any) -> None:
        """Go with a visitor who has moved, or has just come: the first place suits one shape."""
        first = self._server.initial_camera.position
        if client.client_id not in self._welcomed and np.allclose(client.camera.position, first):
            self._welcomed.add(client.client_id)
            self.step_back(client)
        self.turn(client.camera.wxyz)

    def step_back(self, client: Any) -> None:
        """Let a visitor stand where all results fit into the picture, looking as before."""
        camera = client.camera
        towards = camera.position - camera.look_at
        towards /= max(np.linalg.norm(towards), 1e-9)
        with client.atomic():
            camera.position = self._distance(camera.aspect) * towards
            camera.look_at = np.zeros(3)  # after it: who is moved looks in the same direction

    def _distance(self, aspect: float) -> float:
        """From where a picture with this width over its height shows all results."""
        width = 1 + APART / 2 * (self._seats - 1)
        return float(1.15 * max(width / aspect, 1) / np.tan(FIELD / 2))

    def add(self, shown: Finished, photo: Image | None = None) -> Actor:
        """Put a result beside the others."""
        actor = Actor(self._server, self._count, Placed.of(shown), photo)
        with self._lock:
            self._count += 1
            self.actors.append(actor)
            everyone = [each.placed.shown for each in self.actors]
            for each in self.actors:
                each.compare(everyone)
                each.draw(self.look)
        self._arrange()
        self.seat(max(len(self.actors), self._seats))
        return actor

    def form(self, shown: Finished) -> None:
        """Draw a surface that is still being integrated, beside the others."""
        self.seat(len(self.actors) + 1)
        mesh, _ = Placed.of(shown).mesh(CUT)
        self._server.scene.add_mesh_simple(
            FORMING,
            from_opencv(mesh.vertices, "opengl"),
            mesh.faces,
            color=CLAY,
            position=self._place(len(self.actors)),
            cast_shadow=False,
        )

    def forget_forming(self) -> None:
        """Remove the surface that was being integrated, and its seat."""
        self._server.scene.remove_by_name(FORMING)
        self.seat(max(len(self.actors), 1))

    def clear(self) -> None:
        """Take all results off."""
        with self._lock:
            for actor in self.actors:
                actor.remove()
            self.actors.clear()
        self.forget_marks()

    def draw(self, **changes: Any) -> None:
        """Draw all results with changes of the look; of many that wait only the last is drawn."""
        self.look = replace(self.look, **changes)
        with self._lock:
            for actor in self.actors:
                actor.draw(self.look)

    def turn(self, wxyz: FloatArray) -> None:
        """Keep the results side by side for a viewer with this orientation (x right)."""
        w, x, y, z = wxyz
        self._right = np.array([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)])
        if self._seats > 1:
            self._arrange()

    def _arrange(self) -> None:
        for number, actor in enumerate(self.actors):
            actor.frame.position = self._place(number)

    def _place(self, seat: int) -> FloatArray:
        """Middle of a seat."""
        place: FloatArray = APART * (seat - (self._seats - 1) / 2) * self._right
        return place

    def mark(self, origin: FloatArray, direction: FloatArray) -> str:
        """Mark the point that a ray hits; the distance of the last two of one result, in words."""
        hits = [(actor, actor.hit(origin, direction, self.look)) for actor in self.actors]
        seen = [(actor, point) for actor, point in hits if point is not None]
        if not seen:
            return "No surface there."
        actor, point = min(
            seen, key=lambda each: float(np.linalg.norm(each[0].frame.position + each[1] - origin))
        )
        if len(self._marks) == 2 or (self._marks and self._marks[0][0] is not actor):
            self.forget_marks()
        number = len(self._marks)
        self._marks.append((actor, point))
        scene, scale = self._server.scene, np.array(self.look.scale)
        scene.add_icosphere(
            f"{actor.name}/mark{number}", radius=MARK, color=(214, 40, 40), position=scale * point
        )
        if number == 0:
            return "Click a second point."
        ends = np.stack([each for _, each in self._marks])
        scene.add_line_segments(
            f"{actor.name}/measure",
            scale * ends[None],
            (214, 40, 40),
            thickness=2.0,
            thickness_units="screen",
        )
        return "Distance: " + actor.placed.length(float(np.linalg.norm(ends[1] - ends[0])))

    def forget_marks(self) -> None:
        """Remove the points that were clicked."""
        for actor, _ in self._marks:
            for part in ("mark0", "mark1", "measure"):
                self._server.scene.remove_by_name(f"{actor.name}/{part}")
        self._marks.clear()
