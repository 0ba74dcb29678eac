"""Whether the axes and the encoding of a map are found out, and wrong ones refused.

RAYRELIEF_DATA=/path/to/data python -m benchmarks.conventions [PART ...]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from statistics import median

import numpy as np

import rayrelief
from benchmarks import command
from benchmarks.diligent import STEADY, data_folder, read_maps, truth
from benchmarks.report import Check, Row, Table, columns, exit_code, progress
from benchmarks.robustness import METHODS, made
from rayrelief.conventions import CONVENTIONS, FloatArray, from_opencv
from rayrelief.doctor.axes import find_axes
from rayrelief.errors import InputError
from rayrelief.io.normals import read_normals
from rayrelief.synthetic import GALLERY

Scenes = Sequence[rayrelief.Scene]
SIGNS = tuple("".join(code) for code in product("RL", "UD", "BF"))
WRITERS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "8 bit truncated": lambda n: np.floor((n + 1) / 2 * 255),
    "16 bit": lambda n: np.rint((n + 1) / 2 * 65535),
}
TOLD = ("bear", "reading", "owl_orthographic", "thinker")


def all_maps(pattern: str = "*") -> list[rayrelief.Scene]:
    """Every map of the data whose name fits; those without a camera are orthographic."""
    folders = sorted(path.parent for path in data_folder().glob(f"*/{pattern}/normal_map.png"))
    return [
        rayrelief.read_scene(folder, camera=None if (folder / "K.txt").exists() else "orthographic")
        for folder in folders
    ]


def stored(folder: Path, scene: rayrelief.Scene, axes: str, writer: str) -> Path:
    """File of a map in some axes and encoding, black outside."""
    unit = scene.normals / np.linalg.norm(scene.normals, axis=-1, keepdims=True)
    values = WRITERS[writer](from_opencv(unit, axes))
    kind = np.uint16 if writer == "16 bit" else np.uint8
    path = folder / "normals.npy"  # what an image would be decoded to, only faster
    np.save(path, np.where(scene.mask[..., None], np.nan_to_num(values), 0).astype(kind))
    return path


def found(scenes: Scenes, writers: Sequence[str] = ("8 bit truncated", "16 bit")) -> Table:
    """How often the axes are found in every variant of a map, with its camera and without."""
    rows: list[Row] = []
    for scene, camera in product(scenes, (True, False)):
        progress(f"conventions: {scene.name}, {'its camera' if camera else 'no camera'}")
        counts = dict.fromkeys(("right", "cannot tell", "wrong"), 0)
        with tempfile.TemporaryDirectory() as folder:
            for signs, swapped, writer in product(SIGNS, (False, True), writers):
                axes = signs[::-1] if swapped else signs
                file = read_normals(stored(Path(folder), scene, axes, writer))
                told = find_axes(file.normals, scene.mask, scene.camera if camera else None)
                right = told.candidates == (axes,)
                counts["right" if right else "wrong" if told.refutes(axes) else "cannot tell"] += 1
        rows.append(
            (scene.name, "its own" if camera else "not given", *map(float, counts.values()))
        )
    wrong = sum(row[4] for row in rows)  # type: ignore[misc]
    return Table(
        "Axes found out: eight signs, two orders of the channels, 8 bit truncated and 16 bit",
        columns("map | camera | right:.0f | cannot tell:.0f | wrong:.0f"),
        tuple(rows),
        checks=(Check("wrong answers", float(wrong), at_most=0),),
    )


def told(scenes: Scenes) -> Table:
    """What happens to a map that is read in axes that it does not have."""
    rows: list[Row] = []
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for scene, stated, true in product(scenes, CONVENTIONS, CONVENTIONS):
            path = stored(Path(folder), scene, CONVENTIONS[true], "16 bit")
            answer = "accepted"
            try:
                rayrelief.read_scene(path, convention=stated, camera=scene.camera, mask=scene.mask)
            except InputError as error:
                named = f"convention={true!r}" in str(error)
                answer = "refused, names it" if named else "refused, names another"
            good = answer == ("accepted" if stated == true else "refused, names it")
            missed += not good
            rows.append((scene.name, true, stated, answer))
    return Table(
        "Maps read in each convention",
        columns("map | stored as | told | answer"),
        tuple(rows),
        checks=(
            Check(
                "wrong conventions that pass, or right ones that do not", float(missed), at_most=0
            ),
        ),
    )


def encoded(scenes: Scenes) -> Table:
    """What 8 bits cost, truncated when written and read without being told."""
    rows: list[Row] = []
    ratios: dict[str, list[float]] = {label: [] for label in METHODS}
    with tempfile.TemporaryDirectory() as folder:
        for scene, (label, method) in product(scenes, METHODS.items()):
            progress(f"conventions: {scene.name}, 8 bit, {label}")
            truth(scene)
            errors = []
            for writer in ("16 bit", "8 bit truncated"):
                path = stored(Path(folder), scene, "RUB", writer)
                again = rayrelief.read_scene(
                    path, convention="opengl", camera=scene.camera, mask=scene.mask
                )
                changed = rayrelief.Scene(
                    again.normals, scene.mask, scene.camera, depth=scene.depth, name=scene.name
                )
                errors.append(made(changed, method))
            ratios[label].append(errors[1] / errors[0])
            rows.append((scene.name, label, *errors, ratios[label][-1]))
    return Table(
        "MADE in mm of maps with 8 bits, truncated",
        columns("map | method | 16 bit:.3f | 8 bit:.3f | ratio:.2f"),
        tuple(rows),
        checks=tuple(
            Check(f"{label}, median ratio", median(each), at_most=1.1)
            for label, each in ratios.items()
        ),
    )


def _named(names: Sequence[str]) -> list[rayrelief.Scene]:
    room = GALLERY["room"](240, 320)
    return [*(scene for scene in all_maps() if scene.name in names), room]


PARTS: command.Parts = {
    "found": lambda chosen: [found(all_maps(chosen.maps))],
    "told": lambda _: [told(_named(TOLD))],
    "encoded": lambda _: [encoded(read_maps((*STEADY, "harvest")))],
}


def main(arguments: list[str]) -> int:
    """Run parts; 1 if a limit is missed."""
    known = command.parser("benchmarks.conventions", PARTS, __doc__)
    known.add_argument("--maps", default="*", help="of the first part, such as 'b*'; default: all")
    return command.run(known, PARTS, arguments, "conventions")


if __name__ == "__main__":
    sys.exit(exit_code(main, sys.argv[1:]))
