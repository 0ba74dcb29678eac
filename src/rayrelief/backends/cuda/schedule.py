"""Which kernels run in which order, on how many blocks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rayrelief.backends.cuda.layout import Workspace
from rayrelief.backends.cuda.levels import LEVELS, LevelSize
from rayrelief.backends.cuda.machine import Queue

WEIGHED = 32, 64  # pixels of a block of the kernel ``weigh``, times directions
SCANNED = 1024  # tiles that a block numbers where there are more than MOST_SCANNED
MOST_SCANNED = 16384
MOST_BLOCKS = 2112  # of kernels whose threads go on until all is done
MOST_PARTS = 1024  # more partial sums are added up by a kernel of their own
SUM_RR, SUM_RZ, SUM_PQ = 0, 1, 7  # kernels/grid.h

CROWDED = {
    4: LEVELS,
    8: 5,
}  # by directions: first level with too many nodes around each for a block
# Strong edges, the damping of the interpolation, and the part of the spectrum that is smoothed.
STRENGTH, DAMPING, SMOOTHED = 0.25, 0.85, 0.08


@dataclass(frozen=True, eq=False)
class Schedule:
    """Launches of kernels on a workspace."""

    queue: Queue
    tile: tuple[int, int]
    directions: int
    anchored: bool
    height: int
    width: int
    sizes: list[LevelSize]
    tail: int
    small_set_up: int

    @classmethod
    def of(cls, work: Workspace, queue: Queue, defined: dict[str, int]) -> Schedule:
        """Set up the numbers that the kernels need to know about their own launches."""
        grid = work.grid
        tile = defined["TILE_X"], defined["TILE_Y"]
        depths = int(grid["tail"][0]), int(grid["small_set_up"][0])
        kind = defined["DIRECTIONS"], bool(defined["ANCHORED"])
        schedule = cls(queue, tile, *kind, work.height, work.width, work.sizes, *depths)
        work.sum_up(max(schedule.tiles, schedule.weighed, schedule.spread))
        grid["tiles"], grid["spread"] = schedule.tiles, schedule.spread
        grid["parts"] = 1 if schedule.collects else schedule.tiles
        grid["direction_parts"] = 1 if schedule.collects else schedule.spread
        grid["strength"], grid["damping"] = STRENGTH, DAMPING
        first, turns, steps = chebyshev(SMOOTHED)
        grid["first"], grid["turn"], grid["step"] = first, turns, steps
        return schedule

    @property
    def pixels(self) -> int:
        """Pixels of the image."""
        return self.height * self.width

    @property
    def tiles(self) -> int:
        """Blocks of kernels that keep a tile of pixels in shared memory."""
        return -(-self.width // self.tile[0]) * -(-self.height // self.tile[1])

    @property
    def tile_threads(self) -> int:
        """Threads of the kernels that smooth a tile of pixels."""
        return 256 if self.tile[0] <= 24 else 512

    @property
    def weighed(self) -> int:
        """Blocks of ``weigh``."""
        return -(-self.width // WEIGHED[0]) * -(-self.height // (WEIGHED[1] // self.directions))

    @property
    def spread(self) -> int:
        """Blocks of kernels that have a thread for each pixel, or for several."""
        return min(-(-self.pixels // 256), MOST_BLOCKS)

    @property
    def collects(self) -> bool:
        """Whether partial sums are added up by a kernel of their own."""
        return self.tiles > MOST_PARTS

    def formulate(self) -> None:
        """Normals to equations and components; counts what was found."""
        launch = self.queue.launch
        launch("formulate", self.spread, 256)
        launch("formulate_totals", 1, 256, self.spread)
        self._label()

    def formulate_intervals(self) -> None:
        """Normals to equations with intervals, and components."""
        launch = self.queue.launch
        launch("find_lone", self.spread, 256)
        launch("lone_totals", 1, 256, self.spread)
        launch("formulate_intervals", self.spread, 256)
        launch("formulate_totals", 1, 256, self.spread)
        launch("go_around", self.spread, 256)
        for wide, kernel in enumerate(("noise_count", "wide_noise_count")):
            self._median(kernel, 0)
            launch("set_noise", 1, 32, wide)
        launch("count_steep", self.spread, 256)
        launch("steep_totals", 1, 256, self.spread)
        launch("turn_steep", self.spread, 256)
        launch("average_normals", self.spread, 256)
        launch("finish_intervals", self.spread, 256)
        self._label()

    def trust(self, *, intervals: bool) -> None:
        """Scale equations by the confidence in their normals."""
        self.queue.launch("trust", self.spread, 256, int(intervals))

    def _label(self) -> None:
        self.queue.launch("join_pixels", self.spread, 256)
        self.queue.launch("label_pixels", self.spread, 256)
        self.queue.launch("count_total", 1, 256, self.spread, 0)

    def find_parts(self) -> None:
        """Find the parts of the surface."""
        for kernel in ("begin", "join", "label"):
            self.queue.launch(f"parts_{kernel}", self.spread, 256)

    def start(self) -> None:
        """Depth to start from, or none, to surface; counts what cannot be used."""
        self.queue.launch("start_from", self.spread, 256)
        self.queue.launch("count_total", 1, 256, self.spread, 1)

    def median(self, place: int) -> None:
        """Median of the surface, into a place."""
        self._median("median_count", place)

    def _median(self, kernel: str, place: int) -> None:
        self.queue.launch("median_begin", 1, 256)
        for byte in range(8):
            self.queue.launch(kernel, self.spread, 256, byte)
            self.queue.launch("median_pick", 1, 512, byte, place)

    def weigh(self, kernel: str = "weigh") -> None:
        """Law at x, which a kernel knows, to conductances, residual, energy."""
        self.queue.launch(kernel, self.weighed, 256)
        self.queue.launch("begin", 1, 512, self.weighed)

    def set_up(self) -> None:
        """Conductances to hierarchy."""
        launch = self.queue.launch
        launch("aggregate", self.tiles, 256)
        self._number_tiles(self.sizes[0])
        launch("number_first_level", _blocks(self.sizes[0].tiles, 128), 128)
        launch("first_product", self.tiles, 256)
        launch("first_product_irregular", _blocks(self.sizes[0].tiles, 4), 128)
        for size, below in zip(self.sizes, self.sizes[1:], strict=False):
            if size.depth >= self.small_set_up:
                break
            nodes = _blocks(1.2 * size.tiles, 128)
            launch("mark", nodes, 128, size.depth)
            launch("find", _blocks(below.tiles, 4, 4 * MOST_BLOCKS), 128, size.depth)
            self._number_tiles(below)
            launch("number", nodes, 128, size.depth)
            launch("rows", nodes, 128, size.depth)
            if size.depth >= CROWDED[self.directions]:
                launch("product_deep", _blocks(below.room, 1), 32, size.depth)
                continue
            product = "product_fine" if size.depth <= 2 else "product"
            launch(product, _blocks(1.3 * below.tiles, 4, 4 * MOST_BLOCKS), 128, size.depth)
        launch("set_up_last", 1, 256)
        launch("invert_last", 1, 512)

    def _number_tiles(self, size: LevelSize) -> None:
        launch, tiles = self.queue.launch, size.tiles
        if tiles <= MOST_SCANNED:
            launch("scan", 1, 1024, size.depth)
            return
        launch("scan_blocks", -(-tiles // SCANNED), 1024, size.depth)
        launch("scan_totals", 1, 1024, size.depth)
        launch("start_tiles", _blocks(tiles, 256), 256, size.depth)

    def aim(self, rtol: float) -> None:
        """Set the residual that the cycles are to reach."""
        self.queue.launch("aim", 1, 32, int(np.float32(rtol).view(np.int32)))

    def cycles(self, count: int, done: int = 0) -> None:
        """Steps of conjugate gradients after so many done: their vectors change places.

        If they have reached their aim, the correction follows.
        """
        for number in range(done, done + count):
            self._cycle(number % 2)
        self.queue.launch("correct", self.spread, 256, 1)

    def _cycle(self, parity: int) -> None:
        launch, above = self.queue.launch, self.sizes[: self.tail - 1]
        launch("down", self.tiles, self.tile_threads, parity)
        self._collect(SUM_RR, 1)
        for size in above:
            nodes = _blocks(1.2 * size.tiles, 128)
            launch("level_down", nodes, 128, size.depth)
            launch("level_residual", nodes, 128, size.depth)
            launch("level_restrict", _blocks(1.2 * size.tiles / 9, 16), 128, size.depth)
        launch("tail", 1, 1024)
        for size in reversed(above):
            nodes = _blocks(1.2 * size.tiles, 128)
            for kernel in ("level_interpolate", "level_up", "level_last"):
                launch(kernel, nodes, 128, size.depth)
        launch("up", self.tiles, self.tile_threads, parity)
        self._collect(SUM_RZ + 3 * parity, 3)
        launch("turn", self.spread, 256, parity)
        self._collect(SUM_PQ + parity, 1)

    def _collect(self, slot: int, slots: int) -> None:
        if self.collects:
            self.queue.launch("collect", 1, 1024, slot, slots)

    def step(self, components: int, segments: int, *, is_corrected: bool) -> None:
        """Correction to the new surface; components keep their means, or balance their anchors."""
        launch = self.queue.launch
        if not is_corrected:
            launch("correct", self.spread, 256)
        if components > 1 or self.anchored:
            launch("sum_segments", min(segments, MOST_BLOCKS), 256)
            launch("mean_components", _blocks(components, 256), 256)
            launch("step_components", min(segments, MOST_BLOCKS), 256)

    def step_back(self) -> None:
        """Return to the surface before the last step."""
        self.queue.launch("step_back", self.spread, 256)

    def keep(self, place: int, *, before: bool) -> None:
        """Keep the surface, or the one before the last step, in a place."""
        self.queue.launch("keep", self.spread, 256, int(before), place)

    def measure(self, place: int) -> None:
        """Distance from what a place keeps, or (-1) from the surface before the last step."""
        self.queue.launch("distance", self.spread, 256, place)
        self.queue.launch("distance_totals", 1, 256, self.spread)


def _blocks(items: float, per_block: int, most: int = MOST_BLOCKS) -> int:
    return max(1, min(math.ceil(items / per_block), most))


def chebyshev(smoothed: float) -> tuple[float, list[float], list[float]]:
    """First step, then how much of the last one is kept and how much is added, twice.

    The polynomial is small on the spectrum of a matrix divided by its diagonal, from ``smoothed``
    of its end, 2, on.
    """
    high, low = 2.0, 2.0 * smoothed
    centre, radius = (high + low) / 2, (high - low) / 2
    sigma = centre / radius
    rho, turns, steps = 1 / sigma, [], []
    for _ in range(2):
        following = 1 / (2 * sigma - rho)
        turns.append(following * rho)
        steps.append(2 * following / radius)
        rho = following
    return 1 / centre, turns, steps
