"""Levels of the hierarchy below the pixels: how many tiles, and room for how many nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

LEVELS = 12
INTERPOLATED = 6
TILE = 3  # pixels, or tiles, along a side of an aggregate
Value = TypeVar("Value")


@dataclass(frozen=True)
class LevelSize:
    """Tiles of a level, and the room for its nodes, the entries of their rows, and their origins.

    Measured: the first level has 1.1 nodes per tile on maps, and each one more than that above it,
    up to three; what has no room is left out of the hierarchy, which then needs more cycles. Rows
    that are cut off are worse: the cycle is not symmetric then, and may not converge. With eight
    directions a crowd of four megapixels was seen with 1.3, 1.9, 3.7, 8, 19 and 40 nodes per tile,
    and rows of up to 46 entries on the first three levels, then 71, 133 and 231.
    """

    rows: int
    columns: int
    depth: int
    directions: int = 4

    @property
    def tiles(self) -> int:
        """Number of tiles."""
        return self.rows * self.columns

    @property
    def is_small(self) -> bool:
        """Whether there are few tiles, so that plenty of room for each costs little."""
        return self.tiles <= 5 * self._usual_nodes[0]

    @property
    def _usual_nodes(self) -> tuple[int, float]:
        return _of_depth(_NODES_PER_TILE[self.directions], self.depth)

    @property
    def room(self) -> int:
        """Nodes."""
        tiles = self.tiles
        few, each = self._usual_nodes
        each = max(each, 6.0 if tiles <= few else 3.0 if self.is_small else 0.0)
        return -(-int(max(each * tiles, 512)) // 32) * 32

    @property
    def width(self) -> int:
        """Entries of a row."""
        width = _of_depth(_WIDTHS[self.directions], self.depth)
        return max(width, 64 if self.depth == 1 else 96) if self.is_small else width

    @property
    def from_width(self) -> int:
        """Nodes of the level above that a node restricts from; pixels have labels instead."""
        width = _of_depth(_FROM_WIDTHS[self.directions], self.depth)
        return max(width, 256) if self.is_small and self.depth > 1 else width

    def arrays(self) -> dict[str, tuple[int, Any]]:
        """Length and type of each array."""
        nodes: dict[str, tuple[int, Any]] = dict.fromkeys(_NODE_FLOATS, (self.room, np.float32))
        nodes |= dict.fromkeys(_NODE_INTEGERS, (self.room, np.int32))
        entries, origins = self.room * self.width, self.room * self.from_width
        return nodes | {
            "count": (1, np.int32),
            "tile_start": (self.tiles + 1, np.int32),
            "tile_count": (self.tiles, np.int32),
            "block_start": (self.tiles // 1024 + 2, np.int32),
            "column": (entries, np.uint32),
            "value": (entries, np.float32),
            "to": (self.room * INTERPOLATED, np.int32),
            "share": (self.room * INTERPOLATED, np.float32),
            "from": (origins, np.int32),
            "from_share": (origins, np.float32),
        }

    @property
    def memory(self) -> int:
        """Bytes of all of its arrays."""
        return sum(length * np.dtype(kind).itemsize for length, kind in self.arrays().values())


# Of each level, and of all below the last: room for these nodes, and for more where there are at
# most so many tiles, since there masks are anything; entries of rows and of origins.
_NODES_PER_TILE = {
    4: [(20_000, 1.45), (2_000, 1.5), (300, 2.5), (0, 6.0)],
    8: [(20_000, 1.8), (2_000, 2.2), (300, 5.0), (0, 12.0), (0, 30.0), (0, 60.0)],
}
_WIDTHS = {4: [24, 32, 96], 8: [40, 64, 96, 128, 224, 448]}
_FROM_WIDTHS = {4: [0, 48, 96, 256], 8: [0, 128, 128, 256, 256, 512]}
_NODE_FLOATS = ["inverse", "strongest", "mass", "strong", "own", "anchor", "b", "d", "x", "r", "e"]
_NODE_INTEGERS = ["tile_of", "length", "rank", "aggregate", "from_length"]


def _of_depth(values: list[Value], depth: int) -> Value:
    return values[min(depth, len(values)) - 1]


def level_sizes(height: int, width: int, directions: int = 4) -> list[LevelSize]:
    """Levels below the pixels: tiles of tiles, until one is left, and two more of that one."""
    sizes: list[LevelSize] = []
    whole = 0
    while whole < 3 and len(sizes) < LEVELS - 1:
        height, width = -(-height // TILE), -(-width // TILE)
        sizes.append(LevelSize(height, width, len(sizes) + 1, directions))
        whole += height * width == 1
    return sizes


def first_with(sizes: list[LevelSize], tiles: int) -> int:
    """Depth of the first level with at most so many tiles."""
    return next(size.depth for size in sizes if size.tiles <= tiles)
