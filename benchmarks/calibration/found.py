"""Jumps that are found: how many of the true ones, and how many of them are true."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.edges import renderers
from benchmarks.calibration.stages import run
from benchmarks.report import Row, Table, columns, progress
from rayrelief import Ordered
from rayrelief.laws.ordered import with_intervals
from rayrelief.methods.ordered.segments import SMALLEST_JUMP
from rayrelief.problem import assemble

LARGE = 3.0  # pixels beyond its interval, of jumps that have to be found


def jump_table(size: tuple[int, int]) -> Table:
    """Edges across which the result jumps, against those across which the true surface does."""
    rows: list[Row] = []
    for name, render in renderers(*size).items():
        progress(f"jumps, {name}")
        scene = render(*size)
        assert scene.depth is not None
        problem = assemble(scene.normals, scene.camera, mask=scene.mask, method=Ordered())
        equations, x = with_intervals(problem.equations), problem.unknown(scene.depth)
        cuts = run(scene, Ordered()).cuts
        true = found = large = large_found = 0
        for d, a, b in equations.graph.edges():
            if d % 2:
                continue
            jumps = equations.graph.gather(cuts.values[d])[a] > 0
            residual = (x[a] - x[b] - equations.offset[d // 2, a]) * equations.gamma[d // 2, a]
            beyond = np.abs(residual) - np.abs(equations.half_width[d // 2, a])
            found += int(np.count_nonzero(jumps))
            true += int(np.count_nonzero(jumps & (beyond > SMALLEST_JUMP)))
            large += int(np.count_nonzero(beyond > LARGE))
            large_found += int(np.count_nonzero(jumps & (beyond > LARGE)))
        recall = large_found / large if large else np.nan
        rows.append((name, large, found, recall, true / found if found else np.nan))
    heads = f"scene | above {LARGE:g} px:,.0f | found:,.0f | recall:.3f | precision:.3f"
    return Table("Edges that jump: true and found", columns(heads), tuple(rows))
