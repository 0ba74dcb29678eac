"""Pictures of docs/gallery.md: its code is run, and what it leaves behind is drawn.

python -m benchmarks.gallery [NAME ...] [--images docs/images]
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import rayrelief
from rayrelief import Integration, Mesh
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.io.images import write_png
from rayrelief.shading import Image, paint_clay
from rayrelief.surface import grid_mesh
from rayrelief.viewer.preview import preview_panels
from rayrelief.viewer.rasterise import YAW_DEGREES, oblique_view
from rayrelief.viewer.sheet import Panel, in_rows

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "gallery.md"
HEIGHT, WIDTH = 300, 400  # pixels of a picture
SIDES = {"left": -YAW_DEGREES, "right": YAW_DEGREES}


def code_of_page(text: str) -> dict[str, str]:
    """Python of each section, by its title in lower case with underscores."""
    code = {}
    for section in re.split(r"^## ", text, flags=re.MULTILINE):
        title = section.partition("\n")[0].lower().replace(" ", "_")
        found = re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
        code[title] = "".join(found)
    return code


def run_page() -> dict[str, dict[str, Any]]:
    """Names that each section leaves behind, all run one after the other in an empty folder."""
    names: dict[str, Any] = {"__name__": "gallery"}
    left: dict[str, dict[str, Any]] = {}
    here = Path.cwd()
    with TemporaryDirectory() as folder:
        try:
            os.chdir(folder)
            for title, code in code_of_page(PAGE.read_text(encoding="utf-8")).items():
                exec(compile(code, f"{PAGE}: {title}", "exec", dont_inherit=True), names)
                left[title] = dict(names)
        finally:
            os.chdir(here)
    return left


def draw_surroundings(names: dict[str, Any]) -> Image:
    """Normals, surface and distance of what is all around the camera."""
    result: Integration = names["result"]
    rows, columns = result.depth.shape
    width = HEIGHT * columns // rows
    panels = preview_panels(result, None, HEIGHT, width)
    return in_rows([panels[0], panels[1], panels[3]], HEIGHT, width)


def draw_tile(names: dict[str, Any]) -> Image:
    """Normals, depth and four tiles side by side."""
    result: Integration = names["result"]
    panels = preview_panels(result, None, HEIGHT, HEIGHT)
    v, u = np.indices([2 * side for side in result.depth.shape])
    four = uncut(np.stack((u, v, np.tile(result.depth, (2, 2))), axis=-1))
    return in_rows([panels[0], panels[3], seen("four tiles", four, 0.0, HEIGHT)], HEIGHT, HEIGHT)


def draw_print(names: dict[str, Any]) -> Image:
    """Normals, and the body that is made of them, tilted as if it lay on a table."""
    body: Mesh = names["body"]
    lying = replace(body, vertices=tilted(body.vertices), normals=None)
    panels = [
        preview_panels(names["result"], None, HEIGHT, HEIGHT)[0],
        *(seen(f"body from the {side}", lying, yaw, HEIGHT) for side, yaw in SIDES.items()),
    ]
    return in_rows(panels, HEIGHT, HEIGHT)


def draw_fused_depth(names: dict[str, Any]) -> Image:
    """Surfaces of the coarse depth, of the normals and of both, with their errors."""
    scene, result, coarse = names["scene"], names["result"], names["coarse"]
    alone = rayrelief.integrate(scene.normals, scene.camera)
    blocks = uncut(coarse[..., None] * scene.camera.rays(*scene.mask.shape))
    shown = {
        "coarse depth": (coarse, blocks),
        "normals alone": (alone.depth, alone.mesh()),
        "both": (result.depth, result.mesh()),
    }
    panels = []
    for name, (depth, mesh) in shown.items():
        error = rayrelief.depth_errors(depth, scene.depth, "scale").re
        panels.append(seen(f"{name}: {error:.2g} % off", mesh))
    return in_rows(panels, HEIGHT, WIDTH)


PICTURES: dict[str, Callable[[dict[str, Any]], Image]] = {
    "panorama": draw_surroundings,
    "fisheye": draw_surroundings,
    "tile": draw_tile,
    "print": draw_print,
    "fused_depth": draw_fused_depth,
}


def seen(caption: str, mesh: Mesh, yaw: float = -YAW_DEGREES, width: int = WIDTH) -> Panel:
    """A mesh as it is seen from a side."""
    return Panel(caption, paint_clay(oblique_view(mesh, HEIGHT, width, yaw)))


def tilted(points: FloatArray, degrees: float = 35.0) -> FloatArray:
    """Points turned about the x axis, so that one sees them from below what was their front."""
    angle = np.radians(degrees)
    c, s = np.cos(angle), np.sin(angle)
    turned: FloatArray = points @ np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]).T
    return turned


def uncut(points: FloatArray) -> Mesh:
    """Mesh of all points (H, W, 3)."""
    none = np.zeros(points.shape[:2], np.bool_)
    inside: BoolArray = np.all(np.isfinite(points), axis=-1)
    return grid_mesh(points, inside, none, none)


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[[], *PICTURES], metavar="NAME")
    parser.add_argument("--images", type=Path, default=ROOT / "docs" / "images")
    chosen = parser.parse_args(arguments)
    left = run_page()
    for name in chosen.names or PICTURES:
        write_png(chosen.images / f"gallery_{name}.png", PICTURES[name](left[name]))


if __name__ == "__main__":
    main()
