"""What known depths do for real maps, and how well textures repeat.

RAYRELIEF_DATA=/path/to/data python -m benchmarks.known_depth [PART ...] [--draws 10] [--first 100]
"""

from __future__ import annotations

import argparse
import sys
from statistics import median

import numpy as np

import rayrelief
from benchmarks import command
from benchmarks.diligent import read_map, truth
from benchmarks.report import Check, Row, Table, columns, exit_code, progress
from benchmarks.robustness import METHODS, made, surface
from rayrelief.conventions import FloatArray
from rayrelief.evaluation.metrics import depth_errors
from rayrelief.methods import Method

POINTS, WRONG, BY = 20, 2, 0.3  # depths that are known, of these wrong, by this fraction
BLOCK, NOISE = 8, 2.0  # pixels, mm
# Largest error of the default method over the draws in mm, with true depths and with wrong ones.
LIMITS = 0.3, 0.5
SIZE = (96, 128)  # of a texture
SCENES = ("room", "still_life", "overlapping_spheres", "tori", "crowd")
SCENE_SIZE = (120, 160)
WHITE, SHARED = 0.01, 0.003  # noise of each pixel, and of each block, as fractions of the depth
FOLLOWED = 0.15  # percent by which a surface may miss exact depths on average


def errors(scene: rayrelief.Scene, method: Method, known: FloatArray) -> tuple[float, float]:
    """Mean absolute error in mm with known depths, as it is and after the median scale."""
    depth = surface(scene, method, rayrelief.DepthPrior(known))
    plain = float(np.nanmean(np.abs(depth - truth(scene))))
    return plain, depth_errors(depth, truth(scene), "scale").made


def few_depths(scene: rayrelief.Scene, wrong: int, seed: int) -> FloatArray:
    """True depths of random pixels, the first of them wrong."""
    rng, depth = np.random.default_rng(seed), truth(scene)
    chosen = rng.choice(np.flatnonzero(scene.mask & np.isfinite(depth)), POINTS, replace=False)
    known: FloatArray = np.full(depth.shape, np.nan)
    known.flat[chosen] = depth.flat[chosen]
    known.flat[chosen[:wrong]] *= 1 + BY * rng.choice((-1, 1), wrong)
    return known


def coarse_depth(scene: rayrelief.Scene, seed: int) -> FloatArray:
    """Mean depth of each block, with noise."""
    rng, depth = np.random.default_rng(seed), np.where(scene.mask, truth(scene), np.nan)
    coarse: FloatArray = np.full(depth.shape, np.nan)
    for v in range(0, depth.shape[0], BLOCK):
        for u in range(0, depth.shape[1], BLOCK):
            block = np.s_[v : v + BLOCK, u : u + BLOCK]
            if np.isfinite(depth[block]).any():
                coarse[block] = np.nanmean(depth[block]) + rng.normal(0, NOISE)
    return coarse


def points(seeds: range) -> Table:
    """Few known depths on the two maps whose parts the normals do not place."""
    rows: list[Row] = []
    checks, notes = [], []
    for name in ("goblet", "harvest"):
        scene = read_map(name)
        for label, method in METHODS.items():
            progress(f"known depths: {name}, {label}")
            cells: list[float] = [made(scene, method)]
            for number, wrong in enumerate((0, WRONG)):
                known = [few_depths(scene, wrong, seed) for seed in seeds]
                each = [errors(scene, method, depth)[0] for depth in known]
                cells += [median(each), max(each)]
                if label == "Ordered":
                    what = f"{name}, {label}, {wrong} wrong, largest error"
                    checks.append(Check(what, max(each), at_most=LIMITS[number]))
                    above = sum(error > LIMITS[number] for error in each)
                    many = f"{above} of {len(seeds)} draws above {LIMITS[number]:g} mm"
                    notes.append(f"{name}, {label}, {wrong} wrong: {many}.")
            rows.append((name, label, *cells))
    return Table(
        f"Error in mm with {POINTS} known depths",
        columns(
            "object | method | none:.3f | true, median:.3f | true, largest:.3f | "
            "two wrong, median:.3f | two wrong, largest:.3f"
        ),
        tuple(rows),
        (
            f"{_draws(seeds)} of random pixels; two of them wrong by {100 * BY:.0f} %.",
            "Without known depths after the median scale, with them as they are.",
            *notes,
        ),
        tuple(checks),
    )


def coarse(seeds: range) -> Table:
    """A coarse and noisy depth of all pixels."""
    rows: list[Row] = []
    checks = []
    for name in ("bear", "goblet"):
        scene = read_map(name)
        for label, method in METHODS.items():
            progress(f"coarse depth: {name}, {label}")
            without = made(scene, method)
            known = [coarse_depth(scene, seed) for seed in seeds]
            plain, each = zip(*(errors(scene, method, depth) for depth in known), strict=True)
            rows.append((name, label, without, median(each), max(each), median(plain)))
            if label == "Ordered":
                what = f"{name}, {label}, largest MADE with a coarse depth"
                checks.append(Check(what, max(each), at_most=without))
    return Table(
        f"MADE in mm with a depth in blocks of {BLOCK} px and {NOISE:g} mm of noise",
        columns(
            "object | method | none:.4f | coarse, median:.4f | coarse, largest:.4f | "
            "not aligned, median:.3f"
        ),
        tuple(rows),
        (f"{_draws(seeds)} of the noise, one for each block. MADE is after the median scale.",),
        tuple(checks),
    )


def dense(seeds: range) -> Table:
    """The depth of every pixel of built-in scenes: exact, and with noise of two kinds."""
    rows: list[Row] = []
    checks = []
    for name in SCENES:
        scene = rayrelief.synthetic.GALLERY[name](*SCENE_SIZE)
        depth = truth(scene)
        for label, method in METHODS.items():
            progress(f"depth of every pixel: {name}, {label}")
            alone = surface(scene, method)
            without = _percent(alone * np.nanmedian(depth / alone), depth)
            exact = _percent(surface(scene, method, rayrelief.DepthPrior(depth)), depth)
            noisy: list[float] = []
            for side, noise in ((1, WHITE), (BLOCK, SHARED)):
                known = [_wrong(depth, side, noise, seed) for seed in seeds]
                each = [surface(scene, method, rayrelief.DepthPrior(wrong)) for wrong in known]
                noisy.append(median(_percent(found, depth) for found in each))
            rows.append((name, label, without, exact, *noisy))
            if label == "Ordered":
                what = f"{name}, {label}, percent with exact depths"
                checks.append(Check(what, exact, at_most=min(FOLLOWED, without)))
    return Table(
        "Mean error of the depth in percent, with a depth of every pixel",
        columns("scene | method | none:.3f | exact:.3f | each pixel:.3f | blocks:.3f"),
        tuple(rows),
        (
            f"{SCENE_SIZE[0]}x{SCENE_SIZE[1]} pixels. Without known depths after the median scale. "
            f"Noise of {100 * WHITE:g} % of each pixel for itself, and of {100 * SHARED:g} % of "
            f"each block of {BLOCK} px: median. {_draws(seeds)}.",
        ),
        tuple(checks),
    )


def _wrong(depth: FloatArray, side: int, noise: float, seed: int) -> FloatArray:
    """A depth with noise that squares of pixels share."""
    blocks = [-(-length // side) for length in depth.shape]
    each = 1 + noise * np.random.default_rng(seed).normal(size=blocks)
    shared = np.kron(each, np.ones((side, side)))[: depth.shape[0], : depth.shape[1]]
    return depth * shared


def _percent(found: FloatArray, depth: FloatArray) -> float:
    return 100 * float(np.nanmean(np.abs(found - depth) / depth))


def tiles() -> Table:
    """Error of a texture that repeats, across its seam and elsewhere, in pixels."""
    rows: list[Row] = []
    checks = []
    true, normals = waves(*SIZE)
    for label, method in {**METHODS, "Smooth": rayrelief.Smooth()}.items():
        for bits in (None, 8):
            stored = normals if bits is None else np.floor((normals + 1) / 2 * 255) / 127.5 - 1
            result = rayrelief.integrate(
                stored, rayrelief.cameras.Orthographic(), periodic=(True, True), method=method
            )
            off = result.depth - true
            steps = [np.roll(off, -1, axis) - off for axis in (0, 1)]
            seam = _rms(*(np.take(s, -1, axis) for axis, s in enumerate(steps)))
            rest = _rms(*(np.delete(s, -1, axis) for axis, s in enumerate(steps)))
            rows.append((label, "exact" if bits is None else "8 bit, cut off", seam, rest))
            what = f"{label}, {rows[-1][1]}, error across the seam over that elsewhere"
            checks.append(Check(what, seam / rest, at_most=1.3))
    return Table(
        "Error of the steps between neighbours of a texture that repeats, in pixels",
        columns("method | normals | across the seam:.5f | elsewhere:.5f"),
        tuple(rows),
        ("Root mean square.",),
        tuple(checks),
    )


def waves(height: int, width: int) -> tuple[FloatArray, FloatArray]:
    """Depth (H, W) in pixels of waves that repeat, and their normals."""
    v, u = np.mgrid[:height, :width].astype(np.float64)
    a, b = 2 * np.pi * u / width, 2 * np.pi * v / height
    depth = 6 * np.sin(2 * a + b) + 4 * np.cos(3 * b - a)
    du = (12 * np.cos(2 * a + b) + 4 * np.sin(3 * b - a)) * 2 * np.pi / width
    dv = (6 * np.cos(2 * a + b) - 12 * np.sin(3 * b - a)) * 2 * np.pi / height
    normals = np.stack((du, dv, -np.ones_like(depth)), axis=-1)
    return depth, normals / np.linalg.norm(normals, axis=-1, keepdims=True)


PARTS: command.Parts = {
    "points": lambda chosen: [points(_seeds(chosen, 16))],
    "coarse": lambda chosen: [coarse(_seeds(chosen, 10))],
    "dense": lambda chosen: [dense(_seeds(chosen, 5))],
    "tiles": lambda _: [tiles()],
}


def main(arguments: list[str]) -> int:
    """Run parts; 1 if a limit is missed."""
    known = command.parser("benchmarks.known_depth", PARTS, __doc__)
    known.add_argument("--draws", type=int, help="of pixels and of noise; default: by part")
    known.add_argument("--first", type=int, default=0, help="seed of the first draw; default: 0")
    return command.run(known, PARTS, arguments, "known_depth")


def _seeds(chosen: argparse.Namespace, draws: int) -> range:
    return range(chosen.first, chosen.first + (chosen.draws or draws))


def _draws(seeds: range) -> str:
    return f"Draws {seeds[0]} to {seeds[-1]}"


def _rms(*values: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.concatenate([each.ravel() for each in values]) ** 2)))


if __name__ == "__main__":
    sys.exit(exit_code(main, sys.argv[1:]))
