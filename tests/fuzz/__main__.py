"""``make fuzz``: mutated files of every format, each of which has to be read or refused.

python -m fuzz [--count 10000] [--seed 1] [--keep FOLDER]     (in tests/)
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

from fuzz.mutations import mutated
from fuzz.seeds import all_seeds
from fuzz.watchdog import Watchdog


def main(arguments: list[str]) -> int:
    """Try so many files; 1 if one of them broke something."""
    known = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    known.add_argument("--count", type=int, default=2000, help="files")
    known.add_argument("--seed", type=int, default=1, help="of the mutations")
    known.add_argument("--keep", type=Path, help="folder for files that broke something")
    chosen = known.parse_args(arguments)
    print(f"{chosen.count} files, seed {chosen.seed}", flush=True)
    counts: Counter[str] = Counter()
    slowest, largest, began = 0.0, 0, time.monotonic()
    with tempfile.TemporaryDirectory() as name, Watchdog() as dog:
        folder = Path(name)
        seeds = all_seeds(folder)
        for number in range(chosen.count):
            random = Random(f"{chosen.seed} {number}")
            seed = seeds[number % len(seeds)]
            path = folder / f"try_{seed.name}"
            path.unlink(missing_ok=True)
            path.write_bytes(mutated(seed, seeds, random))
            verdict = dog.attempt(path, seed.role)
            slowest, largest = max(slowest, verdict.seconds), max(largest, verdict.growth)
            counts["broken" if verdict.fault else "refused" if verdict.refused else "read"] += 1
            if verdict.fault:
                print(f"{seed.name}, file {number}: {verdict.fault.strip()}", flush=True)
                if chosen.keep is not None:
                    chosen.keep.mkdir(parents=True, exist_ok=True)
                    path.rename(chosen.keep / f"{chosen.seed}_{number}_{seed.name}")
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    print(f"slowest {slowest:.2f} s, most memory {largest / 1e6:.0f} MB")
    print(f"{time.monotonic() - began:.0f} s in all")
    return int(counts["broken"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
