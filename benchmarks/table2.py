"""Table 2 of the paper: MADE on DiLiGenT, our number beside the printed one.

RAYRELIEF_DATA=/path/to/data python -m benchmarks.table2 [ROW ...]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence

import rayrelief
from benchmarks.diligent import published, run, scenes
from benchmarks.report import Check, Column, Table, UnavailableError, progress
from benchmarks.settings import Settings

ROWS: dict[str, Callable[[rayrelief.Scene], rayrelief.RayPlane | rayrelief.BiNI]] = {
    "bini": lambda scene: rayrelief.BiNI.published(),
    "no_jumps_150": lambda scene: rayrelief.RayPlane.published(150, jumps=False),
    "no_jumps_1200": lambda scene: rayrelief.RayPlane.published(jumps=False),
    "jumps_150": lambda scene: rayrelief.RayPlane.published(150),
    "jumps_1200": lambda scene: rayrelief.RayPlane.published(),
    "known_jumps": lambda scene: rayrelief.RayPlane.published(150, known_depth=scene.depth),
    "default": lambda scene: rayrelief.RayPlane(),
}


def tables(settings: Settings) -> Iterator[Table]:
    """The whole table."""
    yield compared(scenes(settings.objects), list(ROWS), settings.command("table2"))


def compared(maps: Sequence[rayrelief.Scene], names: Sequence[str], command: str) -> Table:
    """Our errors and the printed ones, with the limits of published.toml."""
    known = published()
    errors: list[list[str]] = []
    seconds: list[float] = []
    checks = []
    for name in names:
        printed = dict(zip(known["objects"], known["rows"].get(name, ()), strict=False))
        limits = known["limits"].get(name, {})
        errors.append([])
        seconds.append(0.0)
        for scene in maps:
            progress(f"table 2: {name} on {scene.name}")
            done = run(scene, ROWS[name](scene))
            seconds[-1] += done.seconds
            errors[-1].append(f"{done.made:.3f} / {printed.get(scene.name, '-')}")
            if scene.name in limits:
                low, high = limits[scene.name]
                what = f"{name} on {scene.name}, MADE in mm"
                checks.append(Check(what, done.made, at_least=low, at_most=high))
    return Table(
        "MADE in mm (median scale), ours / printed in Table 2",
        command,
        (
            Column("row"),
            *(Column(scene.name) for scene in maps),
            Column("seconds", ".1f"),
            Column(f"time over {names[-1]}", ".1f"),
        ),
        tuple(
            (name, *cells, each, each / seconds[-1])
            for name, cells, each in zip(names, errors, seconds, strict=True)
        ),
        checks=tuple(checks),
    )


def main(names: list[str]) -> None:
    """Print the rows; ends with exit code 1 if an error is outside of its limits."""
    unknown = set(names) - set(ROWS)
    if unknown:
        raise SystemExit(f"unknown rows {sorted(unknown)}; there are {', '.join(ROWS)}")
    try:
        maps = scenes()
    except UnavailableError as error:
        print(f"table 2: skipped, {error}")
        return
    table = compared(maps, names or list(ROWS), " ".join(["python -m benchmarks.table2", *names]))
    print(table.to_markdown())
    missed = [str(check) for check in table.checks if not check.holds]
    if missed:
        raise SystemExit("\noutside of their limits:\n" + "\n".join(missed))


if __name__ == "__main__":
    main(sys.argv[1:])
