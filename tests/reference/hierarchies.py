"""The hierarchy that the kernels of a GPU have set up, as dense matrices."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rayrelief.backends.cuda.computation import GridComputation
from rayrelief.backends.cuda.levels import INTERPOLATED
from rayrelief.graph import STEPS

INDEX = 0x3FFFFFFF


def matrices(running: GridComputation) -> list[np.ndarray]:
    """Matrices of all levels, from the pixels down to the last one."""
    coarse = (level_matrix(running, level) for level in range(1, last(running) + 1))
    return [pixel_matrix(running), *coarse]


def interpolations(running: GridComputation) -> list[np.ndarray]:
    """What each level interpolates from the one below it."""
    coarse = (level_interpolation(running, level) for level in range(1, last(running)))
    return [pixel_interpolation(running), *coarse]


def last(running: GridComputation) -> int:
    return int(running._engine.scalars()["last"])


def array_of(running: GridComputation, name: str) -> np.ndarray:
    return np.array(running._engine.machine.get(running._work.arrays[name]))


def _neighbours(running: GridComputation) -> Iterator[tuple[int, int, int]]:
    """Pixel, direction and neighbour of all edges of the image."""
    work = running._work
    for i, (y, x) in enumerate(np.ndindex(work.height, work.width)):
        for d, (dx, dy) in enumerate(STEPS[8][: work.directions]):
            column, row = x + dx, y + dy
            if work.grid["wraps"][0]:
                column %= work.width
            if 0 <= column < work.width and 0 <= row < work.height:
                yield i, d, row * work.width + column


def pixel_matrix(running: GridComputation) -> np.ndarray:
    pixels = running._work.pixels
    matrix = np.zeros((pixels, pixels))
    conductance = [array_of(running, f"c{k}") for k in range(running._work.directions // 2)]
    for i, d, j in _neighbours(running):
        matrix[i, j] -= conductance[d // 2][j if d % 2 else i]
    return _complete(matrix, array_of(running, "anchor") if _is_anchored(running) else 0)


def level_matrix(running: GridComputation, level: int) -> np.ndarray:
    count = _count(running, level)
    room = int(running._work.grid["level"][0][level]["room"])
    matrix = np.zeros((count, count))
    lengths = array_of(running, f"length {level}")
    columns, values = (array_of(running, f"{name} {level}") for name in ("column", "value"))
    for i in range(count):
        for k in range(lengths[i]):
            matrix[i, columns[k * room + i] & INDEX] -= values[k * room + i]
    anchored = _is_anchored(running)
    return _complete(matrix, array_of(running, f"anchor {level}")[:count] if anchored else 0)


def pixel_interpolation(running: GridComputation) -> np.ndarray:
    work = running._work
    label, start = array_of(running, "label"), array_of(running, "tile_start 1")
    shares, columns = array_of(running, "shares"), work.sizes[0].columns
    matrix = np.zeros((work.pixels, _count(running, 1)))

    def add(i: int, from_pixel: int, share: int) -> None:
        y, x = divmod(from_pixel, work.width)
        if share and label[from_pixel] != 255:
            matrix[i, start[y // 3 * columns + x // 3] + label[from_pixel]] += share / 255

    parts = shares.view(np.uint8).reshape(work.pixels, -1).astype(int)
    for i, rest in enumerate(255 - parts.sum(axis=1)):
        add(i, i, rest)
    for i, d, j in _neighbours(running):
        add(i, j, parts[i, d])
    return matrix


def level_interpolation(running: GridComputation, level: int) -> np.ndarray:
    room = int(running._work.grid["level"][0][level]["room"])
    to, share = (array_of(running, f"{name} {level}") for name in ("to", "share"))
    matrix = np.zeros((_count(running, level), _count(running, level + 1)))
    for m in range(INTERPOLATED):
        for i in range(len(matrix)):
            if share[m * room + i]:
                matrix[i, to[m * room + i]] += share[m * room + i]
    return matrix


def _complete(matrix: np.ndarray, anchor: np.ndarray | int) -> np.ndarray:
    """Rows of a Laplacian sum to 0, to which anchors are added."""
    np.fill_diagonal(matrix, 0)
    np.fill_diagonal(matrix, anchor - matrix.sum(axis=1))
    return matrix


def _count(running: GridComputation, level: int) -> int:
    return int(array_of(running, f"count {level}")[0])


def _is_anchored(running: GridComputation) -> bool:
    return "anchor" in running._work.arrays
