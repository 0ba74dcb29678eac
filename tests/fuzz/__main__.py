"""``make fuzz``: mutated files of every format, runs that are killed, and a soak.

python -m fuzz [PART ...] [--files 10000] [--kills 200] [--seed 1] [--keep FOLDER]     (in tests/)
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

from fuzz.attempts import BY_COMMAND
from fuzz.kills import kills
from fuzz.mutations import mutated
from fuzz.seeds import all_seeds
from fuzz.soak import soak
from fuzz.watchdog import Watchdog

PARTS = ("files", "kills", "soak")


def main(arguments: list[str]) -> int:
    """Run parts; 1 if something broke."""
    known = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    known.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    known.add_argument("--files", type=int, default=3000, help="mutated files")
    known.add_argument("--kills", type=int, default=60, help="killed runs")
    known.add_argument("--seed", type=int, default=1, help="of mutations and times")
    known.add_argument("--keep", type=Path, help="folder for files that broke something")
    chosen = known.parse_args(arguments)
    broken = 0
    for part in chosen.parts or PARTS:
        began = time.monotonic()
        print(f"{part}, seed {chosen.seed}", flush=True)
        with tempfile.TemporaryDirectory() as name:
            for line in _lines(part, chosen, Path(name)):
                print(f"  {line}", flush=True)
                broken += "broken" in line
        print(f"  {time.monotonic() - began:.0f} s", flush=True)
    return int(broken > 0)


def _lines(part: str, chosen: argparse.Namespace, folder: Path) -> Iterator[str]:
    if part == "files":
        yield from files(chosen.files, chosen.seed, chosen.keep, folder)
    elif part == "kills":
        yield from kills(chosen.kills, chosen.seed, folder)
    else:
        yield from soak()


def files(count: int, seed: int, keep: Path | None, folder: Path) -> Iterator[str]:
    """Try so many files, and tell which of them broke something."""
    counts: Counter[str] = Counter()
    slowest, largest = 0.0, 0
    seeds = all_seeds(folder)
    with Watchdog() as dog:
        for number in range(count):
            chosen = seeds[number % len(seeds)]
            path = folder / f"try_{chosen.name}"
            path.unlink(missing_ok=True)
            path.write_bytes(mutated(chosen, seeds, Random(f"{seed} {number}")))
            # Every seventh through the command, of all seeds in turn.
            role = chosen.role + (BY_COMMAND if (number + number // len(seeds)) % 7 == 0 else "")
            verdict = dog.attempt(path, role)
            slowest, largest = max(slowest, verdict.seconds), max(largest, verdict.growth)
            counts["faulty" if verdict.fault else "refused" if verdict.refused else "read"] += 1
            if verdict.fault:
                yield f"broken: {chosen.name} as {role}, file {number}: {verdict.fault.strip()}"
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    path.rename(keep / f"{seed}_{number}_{chosen.name}")
    yield ", ".join(f"{counts[what]} {what}" for what in ("read", "refused", "faulty"))
    yield f"slowest {slowest:.2f} s, most memory {largest / 1e6:.0f} MB"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
