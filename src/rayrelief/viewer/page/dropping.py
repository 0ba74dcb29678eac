"""Files that are dropped on the page: how they get here, and what each of them is."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from pathlib import Path

import numpy as np

from rayrelief.io.arrays import READERS, array_names, read_array
from rayrelief.io.normals import NORMAL_KEYS, components_last

ROLES = NORMALS, MASK, CAMERA = "normal map", "mask", "camera file"
ANY = "any file"  # whose role is found out
STYLE = """
#rayrelief-drop {
  margin: 0 0.75em 0.75em; padding: 0.75em; border: 2px dashed #adb5bd; border-radius: 6px;
  font-size: 0.85em; text-align: center;
}
.rayrelief-dropping #rayrelief-drop { border-color: #228be6; background: #e7f5ff; color: #1864ab }
.rayrelief-dropping::after {
  content: ""; position: fixed; inset: 0; border: 4px solid #228be6; pointer-events: none;
  z-index: 1000;
}
"""


def drop_zone(folder: str) -> str:
    """HTML of the place that invites files, inside the folder of the panel with this label.

    Scripts that a page inserts do not run, but what a style sheet does once it is loaded.
    """
    script = files("rayrelief.viewer.page").joinpath("drop.js").read_text(encoding="utf-8")
    return (
        f'<style onload="{escape(script)}">{STYLE}</style>'
        f'<div id="rayrelief-drop" data-folder="{escape(folder)}">'
        "Drop a normal map, mask or camera file anywhere on this page</div>"
    )


def role_of(path: Path) -> str:
    """Which of the roles a file has, by what it holds; FileError where it cannot be read."""
    suffix = path.suffix.lower()
    if suffix not in READERS:
        return CAMERA
    names = array_names(path)
    if len(names) > 1 and not {"mask", *NORMAL_KEYS}.intersection(names):
        return CAMERA
    array = read_array(path, keys=(*NORMAL_KEYS, "mask"))
    if array.shape in ((3, 3), (3, 4)) or "ray" in path.stem.lower():
        return CAMERA
    array, _ = components_last(array)
    in_colour = array.ndim == 3 and array.shape[2] >= 3
    is_grey = not in_colour or bool(np.all(array[..., :3] == array[..., :1]))
    return MASK if is_grey else NORMALS
