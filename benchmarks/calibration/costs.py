"""What jumps cost where parts are placed: how much hangs on each constant."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import numpy as np

from benchmarks.calibration.edges import averaged, renderers
from benchmarks.calibration.stages import relative_error, run
from benchmarks.report import Row, Table, columns, progress
from rayrelief import Ordered
from rayrelief.methods.ordered import groups, moving, parts
from rayrelief.methods.ordered.evidence import Costs
from rayrelief.scene import Scene

VARIED = ("even", "foot", "ridge", "dear", "size", "order")


def cost_table(size: tuple[int, int]) -> Table:
    """RE with each constant halved and doubled, over that with the constants as they are."""
    scenes: dict[str, Scene] = {}
    for name, render in renderers(*size).items():
        scenes[name] = scene = render(*size)
        scenes[f"{name}, averaged"] = replace(scene, normals=averaged(render, scene))
    usual = _errors("as they are", scenes, parts.COSTS)
    rows: list[Row] = []
    for name in VARIED:
        value = getattr(parts.COSTS, name)
        over = [
            _errors(f"{name} {changed:g}", scenes, parts.COSTS._replace(**{name: changed})) / usual
            for changed in (0.5 * value, 2.0 * value)
        ]
        means = [float(np.exp(np.log(each).mean())) for each in over]
        rows.append((name, value, *means, *(float(each.max()) for each in over)))
    with mock.patch.object(moving, "group_shifts", lambda borders: (0.0 * borders.stays, 0)):
        single = _errors("one by one", scenes, parts.COSTS)
    unmoved = np.array(
        [relative_error(each, run(each, Ordered(rounds=0))) for each in scenes.values()]
    )
    for name, errors in (("parts moved one by one alone", single), ("no part moved", unmoved)):
        over = errors / usual
        mean = float(np.exp(np.log(over).mean()))
        rows.append((name, np.nan, mean, mean, float(over.max()), float(over.max())))
    heads = "constant | used:g | halved, mean:.3f | doubled, mean:.3f"
    heads += " | halved, worst:.2f | doubled, worst:.2f"
    note = "geometric mean over the scenes, exact and averaged, and the largest ratio"
    return Table(
        "Relative error over that of the constants used", columns(heads), tuple(rows), (note,)
    )


def _errors(name: str, scenes: dict[str, Scene], costs: Costs) -> np.ndarray:
    progress(f"costs, {name}")
    with mock.patch.object(parts, "COSTS", costs), mock.patch.object(groups, "COSTS", costs):
        return np.array([relative_error(each, run(each, Ordered())) for each in scenes.values()])
