"""python -m benchmarks.large PART [options]; the parts are the functions named in PARTS."""

from __future__ import annotations

import argparse
import os

from benchmarks.large.convergence import blocks, rate
from benchmarks.large.costs import cost, model, workers
from benchmarks.large.many import many
from benchmarks.large.sizes import jumps, size
from rayrelief.methods.catalogue import RECIPES

PARTS = {part.__name__: part for part in (blocks, rate, jumps, size, workers, cost, model, many)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--side", type=int, default=640, help="pixels")
    parser.add_argument("--scene", choices=("crowd", "relief"), default="crowd")
    parser.add_argument("--memory", default="3GB")
    parser.add_argument("--method", choices=tuple(RECIPES), default="ordered")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--folder", default="benchmarks/results/large")
    parser.add_argument("--in-memory", action="store_true")
    parser.add_argument("--window", type=int, help="pixels of the part of the in-memory run")
    parser.add_argument("--seed", type=int, default=0, help="of a crowd")
    parser.add_argument("--one-look", action="store_true", help="jumps, of ordered: no step 4")
    parser.add_argument("--overlap", type=int, default=None)
    parser.add_argument("--block", type=int, default=2500)
    parser.add_argument("--count", type=int, default=2000, help="maps")
    parser.add_argument("--sweeps", type=int, default=12)
    options = parser.parse_args()
    PARTS[options.part](options)


if __name__ == "__main__":
    main()
