"""What jumps cost where parts are placed: how much hangs on each constant."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import numpy as np

from benchmarks.calibration.edges import averaged, renderers
from benchmarks.calibration.stages import relative_error, run
from benchmarks.report import Row, Table, columns, progress
from rayrelief import Ordered
from rayrelief.methods.ordered import groups
from rayrelief.methods.ordered.evidence import COSTS, Costs
from rayrelief.scene import Scene

VARIED = ("even", "foot", "ridge", "dear", "size", "order")


def cost_table(size: tuple[int, int]) -> Table:
    """RE with each constant halved and doubled, over that with the constants as they are."""
    scenes: dict[str, Scene] = {}
    for name, render in renderers(*size).items():
        scenes[name] = scene = render(*size)
        scenes[f"{name}, averaged"] = replace(scene, normals=averaged(render, scene))
    usual = _errors("as they are", scenes, COSTS)
    rows: list[Row] = []
    for name in VARIED:
        value = getattr(COSTS, name)
        over = [
            _errors(f"{name} {changed:g}", scenes, COSTS._replace(**{name: changed})) / usual
            for changed in (0.5 * value, 2.0 * value)
        ]
        means = [float(np.exp(np.log(each).mean())) for each in over]
        rows.append((name, value, *means, *(float(each.max()) for each in over)))
    unmoved = [relative_error(each, run(each, Ordered(rounds=0))) for each in scenes.values()]
    over_usual = np.array(unmoved) / usual
    mean, worst = float(np.exp(np.log(over_usual).mean())), float(over_usual.max())
    rows.append(("no part moved", np.nan, mean, mean, worst, worst))
    heads = "constant | used:g | halved, mean:.3f | doubled, mean:.3f"
    heads += " | halved, worst:.2f | doubled, worst:.2f"
    note = "geometric mean over the scenes, exact and averaged, and the largest ratio"
    return Table(
        "Relative error over that of the constants used", columns(heads), tuple(rows), (note,)
    )


def _errors(name: str, scenes: dict[str, Scene], costs: Costs) -> np.ndarray:
    progress(f"costs, {name}")
    with mock.patch.object(groups, "COSTS", costs):
        return np.array([relative_error(each, run(each, Ordered())) for each in scenes.values()])
