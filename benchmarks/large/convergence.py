"""The linear problem in blocks: rate of the sweeps, and error against one piece."""

from __future__ import annotations

import argparse

import numpy as np

import rayrelief
from benchmarks.large.comparing import NEAR
from benchmarks.large.maps import Noisy, in_blocks
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.large.layout import Layout
from rayrelief.methods import Smooth


def blocks(options: argparse.Namespace) -> None:
    """Error against the one-piece solve for 4 to 256 blocks of one map, and beside the borders."""
    source = Noisy(options.side)
    whole = rayrelief.integrate(source.normals, source.camera, method=Smooth()).depth
    relief = float(np.std(whole))
    print("| blocks | sweeps | difference / relief | next to borders | elsewhere |")
    print("|---|---|---|---|---|")
    for count in (2, 4, 8, 16):
        core = options.side // count
        layout = Layout.of(options.side, options.side, core + 2 * (core // 8) + 1, core // 8)
        depth, done = in_blocks(source, layout)
        difference, near = depth - whole, _next_to_borders(layout)
        difference -= difference.mean()
        beside, away = (np.sqrt(np.mean(difference[at] ** 2)) / relief for at in (near, ~near))
        told = f"{_deviation(difference) / relief:.1e} | {beside:.1e} | {away:.1e}"
        print(f"| {len(layout)} | {len(done.changes)} | {told} |", flush=True)


def rate(options: argparse.Namespace) -> None:
    """Factor by which a sweep reduces the error, against the overlap."""
    source, core = Noisy(options.side), options.side // 4
    print("| overlap / core | sweeps to 1e-5 | factor of a sweep | pixels computed |")
    print("|---|---|---|---|")
    for part in (32, 16, 8, 4):
        overlap = core // part
        layout = Layout.of(options.side, options.side, core + 2 * overlap + 1, overlap)
        _, done = in_blocks(source, layout)
        changes = done.changes
        factor = (changes[-1] / changes[0]) ** (1 / (len(changes) - 1))
        sizes = [layout.block(number).whole for number in range(len(layout))]
        pixels = sum((r.stop - r.start) * (c.stop - c.start) for r, c in sizes)
        more = pixels / options.side**2
        print(f"| 1/{part} | {len(changes)} | {factor:.2f} | {more:.2f} |", flush=True)


def _next_to_borders(layout: Layout) -> BoolArray:
    """Pixels (H, W) next to the border between two cores."""
    near = np.zeros(layout.shape, np.bool_)
    for border in layout.rows[1:-1]:
        near[border - NEAR : border + NEAR] = True
    for border in layout.columns[1:-1]:
        near[:, border - NEAR : border + NEAR] = True
    return near


def _deviation(difference: FloatArray) -> float:
    return float(np.sqrt(np.nanmean((difference - np.nanmean(difference)) ** 2)))
