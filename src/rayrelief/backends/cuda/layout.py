"""The structures of the kernels (kernels/grid.h) and the arrays that they point to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.backends.cuda.levels import LEVELS, LevelSize, first_with, level_sizes
from rayrelief.backends.cuda.machine import Array, Machine
from rayrelief.checks import require
from rayrelief.memory import in_words

DENSE = 96
SLOTS = 17  # of partial sums

# One block does all of a level with at most so many tiles: a pass of the cycle, or the set-up,
# which has room for few nodes; with eight directions each tile has more of them.
TAIL_TILES = 900
SMALL_SET_UP_TILES = {4: 64, 8: 4}

Struct = npt.NDArray[np.void]


def _pointers(names: str) -> list[tuple[Any, ...]]:
    """Fields that hold addresses; "gamma*4" is an array of them."""
    pairs = (name.partition("*") for name in names.split())
    return [(name, "u8", int(count)) if count else (name, "u8") for name, _, count in pairs]


def _numbers(kind: str, names: str) -> list[tuple[Any, ...]]:
    pairs = (name.partition("*") for name in names.split())
    return [(name, kind, int(count)) if count else (name, kind) for name, _, count in pairs]


SCALARS = np.dtype(
    [
        *_numbers("f8", "energy rr bb flux limit measured*4 noise least"),
        ("prefix", "u8", 2),
        *_numbers("i4", "rank*2 done cycles last irregular nodes components"),
        *_numbers("i4", "facing_away without_normal without_ray without_start lone"),
        *_numbers("i4", f"counted edges*{LEVELS}"),
    ],
    align=True,
)
LEVEL = np.dtype(
    [
        *_pointers("count tile_start tile_count block_start tile_of column value length"),
        *_pointers("inverse strongest mass strong own anchor rank aggregate to share"),
        *_pointers("from from_length from_share b d x r e"),
        *_numbers("i4", "room rows columns width from_width pad"),
    ],
    align=True,
)
BORDER_EDGE = np.dtype(
    [
        ("residual", "f8"),
        *_numbers("i4", "here there"),
        *_numbers("f4", "focal half_width sigma lead"),
    ],
    align=True,
)
GRID = np.dtype(
    [
        *_pointers("offset*8 gamma*8 gamma_weight*8 half_width*4 sigma*4 lead*4"),
        *_pointers("anchor anchor_value x d r*2 p*2 q z residual c*4 kept*3"),
        *_pointers("shares label irregular partial s dense order segment_start segment_of"),
        *_pointers("component_start segment_sum component_mean normals mask confidence"),
        *_pointers("rays start shift"),
        *_pointers(
            "component part bins curl loop_leverage average*3 lone part_of part_size part_number"
        ),
        *_pointers("leaves crossing border depth median"),
        *_numbers("f8", "pinhole*4 noise"),
        *_numbers("i4", "height width wraps logarithmic first_order levels tail small_set_up"),
        *_numbers("i4", "stride parts direction_parts tiles spread segments jumps redescends"),
        *_numbers("i4", "source_width source_x source_y"),
        *_numbers("f4", "deviations widest k slope threshold corner narrow cheapest ridge sure"),
        *_numbers("f4", "strength damping first turn*2 step*2"),
        ("level", LEVEL, LEVELS),
    ],
    align=True,
)


# What uses the memory of the solver, a word of 32 bits per pixel each, between solves.
OF_LOOPS: dict[str, Any] = {
    "curl": np.float32,
    "loop_leverage": np.float32,
    "average0": np.float32,
    "average1": np.float32,
    "average2": np.float32,
    "lone": np.uint8,
}
OF_PARTS: dict[str, Any] = {
    "part_of": np.int32,
    "part_size": np.int32,
    "part_number": np.int32,
    "leaves": np.uint8,
}
_PIXEL_FLOATS = ["d", "r0", "r1", "p0", "p1", "q", "z", "residual"]


@dataclass(eq=False)
class Workspace:
    """All arrays of one image on a machine, and the structure that tells kernels where they are."""

    machine: Machine
    height: int
    width: int
    directions: int = 4
    grid: Struct = field(init=False)
    sizes: list[LevelSize] = field(init=False)
    arrays: dict[str, Array] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        needed = memory_of(self.height, self.width, self.directions)
        room = self.machine.room()
        require(
            needed <= room,
            f"a map of {self.width}x{self.height} pixels needs about {in_words(needed)} of the "
            f"memory of the GPU, but {in_words(room)} is available",
            "a map that fits into it",
            "Crop it to what matters, halve its resolution, or use the CPU",
        )
        self.grid = np.zeros(1, GRID)
        self.sizes = level_sizes(self.height, self.width, self.directions)
        self.grid["height"], self.grid["width"] = self.height, self.width
        self.grid["levels"] = len(self.sizes) + 1
        self.grid["tail"] = first_with(self.sizes, TAIL_TILES)
        self.grid["small_set_up"] = first_with(self.sizes, SMALL_SET_UP_TILES[self.directions])
        pixels = self.pixels
        self.place("x", pixels, np.float64)
        self._share_solver_memory()
        for pair in range(self.directions // 2):
            self.place(f"c{pair}", pixels, np.float32)
        self.place("shares", pixels, np.uint32 if self.directions == 4 else np.uint64)
        self.place("label", pixels, np.uint8)
        self.place("irregular", self.sizes[0].tiles, np.int32)
        self.place("dense", DENSE * DENSE, np.float32)
        self.place("s", SCALARS.itemsize // 8, np.int64)
        for size in self.sizes:
            level = self.grid["level"][0][size.depth]
            for name in ("room", "rows", "columns", "width", "from_width"):
                level[name] = getattr(size, name)
            for name, (length, kind) in size.arrays().items():
                array = self.machine.zeros(length, kind)
                self.arrays[f"{name} {size.depth}"] = array
                level[name] = self.machine.address(array)

    def _share_solver_memory(self) -> None:
        """Make room for the solver, which loops and parts of the surface use between solves."""
        stride = -(-self.pixels // 64) * 64
        room = self.machine.zeros(len(_PIXEL_FLOATS) * stride, np.float32)
        for number, name in enumerate(_PIXEL_FLOATS):
            self.point(name, room[number * stride : number * stride + self.pixels])
        for shared in (OF_LOOPS, OF_PARTS):
            for number, (name, kind) in enumerate(shared.items()):
                self.point(name, room[number * stride : (number + 1) * stride].view(kind))

    @property
    def pixels(self) -> int:
        """Pixels of the image."""
        return self.height * self.width

    def place(self, name: str, length: int, kind: Any) -> Array:
        """Make an array of zeros that kernels know by this name; "p1" is the second of "p"."""
        return self.point(name, self.machine.zeros(length, kind))

    def point(self, name: str, array: Array) -> Array:
        """Let kernels know an array by this name, and keep it."""
        self.arrays[name] = array
        stem, number = (name[:-1], int(name[-1])) if name[-1].isdigit() else (name, None)
        address = self.machine.address(array)
        if number is None:
            self.grid[name] = address
        else:
            self.grid[stem][0][number] = address
        return array

    def sum_up(self, stride: int) -> None:
        """Make room for the partial sums of so many blocks."""
        self.grid["stride"] = stride
        self.place("partial", SLOTS * stride, np.float64)

    def scalars(self, raw: bytes) -> Struct:
        """What the kernels have written about a run."""
        found: Struct = np.frombuffer(raw, SCALARS)[0]
        return found


def memory_of(height: int, width: int, directions: int = 4) -> int:
    """Bytes that a workspace takes, with the equations and the surfaces that it compares."""
    surface, label, kept, components, depth = 8, 1, 3 * 4, 4, 8
    edges = (10 + 4 // 2 + 1) * directions  # equations with intervals, conductances, shares
    pixel = surface + label + kept + components + depth + edges + 4 * len(_PIXEL_FLOATS)
    levels = level_sizes(height, width, directions)
    return height * width * pixel + sum(level.memory for level in levels)
