"""The parts of the benchmarks on tiny scenes: what they measure is what they say."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import rayrelief
from benchmarks import diligent
from benchmarks.report import UnavailableError
from benchmarks.speed import maps, scaling, scaling_worker, solvers, systems, threads
from benchmarks.speed.watched import Watched, integrated, problems_of
from rayrelief.synthetic.gallery import GALLERY
from reference.layout import write_layout

SIDE = 32
linux_only = pytest.mark.skipif(not scaling_worker.STATUS.exists(), reason="memory: Linux only")


@pytest.fixture(scope="module")
def scene():
    return GALLERY["crowd"](SIDE, SIDE)


def test_watching_a_solver_changes_nothing(scene):
    alone = integrated(scene, rayrelief.RayPlane())
    watch = Watched(rayrelief.RayPlane().solver)
    watched = integrated(scene, rayrelief.RayPlane(solver=watch))
    np.testing.assert_array_equal(watched.depth, alone.depth)
    assert watch.solves == len(alone.history)
    assert watch.work == sum(i.inner_iterations for i in alone.history) * SIDE**2


def test_systems_are_kept_as_they_were_met(scene):
    later, first = problems_of(scene, {1, 3}), problems_of(scene, {1})
    assert list(later) == [1, 3]
    np.testing.assert_array_equal(later[1].operator.conductance, first[1].operator.conductance)
    np.testing.assert_array_equal(later[1].rhs, first[1].rhs)
    solution = later[3].solve(rayrelief.solvers.Multigrid(1e-9))
    assert later[3].residual(solution.x) < 1e-9


def test_maps_are_compared_object_by_object(scene):
    named = [replace(scene, name=name) for name in (*diligent.STEADY, "harvest")]
    table = maps.against_published(named, 3)
    rows: Any = table.rows
    assert [row[3] for row in rows[:8]] == [maps.run(scene, rayrelief.RayPlane()).made] * 8
    assert [row[4] for row in rows[:8]] == [
        maps.run(scene, rayrelief.RayPlane.published(3)).made
    ] * 8
    total, mean = rows[8:]
    assert total[6] == pytest.approx(sum(row[6] for row in rows[:8]))
    assert total[7] == pytest.approx(total[6] / total[5])
    assert mean[3] == pytest.approx(rows[0][3])
    # Fewer iterations than published say nothing of the ratio.
    assert [check.at_most for check in table.checks] == [0.16, 8]
    assert table.checks[0].found == mean[3]


def test_limit_of_harvest_is_on_the_median_of_the_perturbed_runs(scene):
    table = maps.perturbed([replace(scene, name="harvest")])
    ((_, median, least, largest),) = table.rows
    runs = [maps.run(maps.jittered(scene, s), rayrelief.RayPlane()).made for s in range(5)]
    assert len(set(runs)) == 5
    assert [least, median, largest] == [sorted(runs)[i] for i in (0, 2, 4)]
    assert [check.found for check in table.checks] == [median]


def test_noise_is_added_and_exact_solves_are_asked_of_four_objects(scene):
    rows: Any = maps.noisy([scene], 2).rows
    assert rows[0][3] > maps.run(scene, rayrelief.RayPlane()).made
    table = maps.ordered([scene])
    rows = table.rows
    assert rows[0][1:3] == tuple(
        maps.run(scene, method).made for method in (rayrelief.Ordered(), rayrelief.RayPlane())
    )
    assert [row[0] for row in rows] == [scene.name, "total"]
    table = maps.against_exact([replace(scene, name=name) for name in ("cow", "harvest")])
    assert [row[0] for row in table.rows] == ["cow"]
    assert [check.found for check in table.checks] == [table.rows[0][1]]


def test_cycles_are_those_of_fresh_solves(scene):
    table = systems.cycles([scene], (1, 2))
    rows: Any = table.rows
    for row, problem in zip(rows, problems_of(scene, (1, 2)).values(), strict=True):
        solutions = [problem.solve(rayrelief.solvers.Multigrid(rtol)) for rtol in (1e-3, 1e-6)]
        assert row[3:5] == tuple(solution.steps for solution in solutions)
    assert table.checks[1].found == max(row[4] for row in rows)


def test_all_solvers_reach_the_tolerance():
    (table,) = solvers.tables(64)
    rows: Any = table.rows
    assert rows[0][:2] == ("Multigrid", 1.0)
    assert all(row[4] < 2 * solvers.RTOL for row in rows)  # the others sum in their own order


@pytest.mark.parametrize("file", ["mask.png", "K.txt", "depth_gt.npz"])
def test_map_without_what_belongs_to_it_is_refused(scene, tmp_path, monkeypatch, file):
    monkeypatch.setenv("RAYRELIEF_DATA", str(tmp_path))
    folder = write_layout(tmp_path / "diligent" / "cow", scene)
    assert diligent.read_map("cow").mask.all()
    (folder / file).unlink()
    with pytest.raises(rayrelief.RayreliefError, match=rf"cow has no .*{re.escape(file)}"):
        diligent.read_map("cow")
    with pytest.raises(rayrelief.RayreliefError, match=r"no folder .*bear; .*--objects"):
        diligent.read_maps()
    monkeypatch.delenv("RAYRELIEF_DATA")
    with pytest.raises(UnavailableError, match="RAYRELIEF_DATA"):
        diligent.read_map("cow")


@linux_only
def test_worker_measures_what_it_rendered(tmp_path):
    scaling_worker.render(tmp_path, SIDE)
    found = scaling_worker.measure(tmp_path, scaling_worker.METHODS["RayPlane"])
    scene = scaling_worker.read(tmp_path)
    result = integrated(scene, rayrelief.RayPlane())
    weights = result.weights.values
    assert scene.normals.dtype == np.float32
    assert found["pixels"] == SIDE**2
    assert found["iterations"] == len(result.history)
    assert found["jump_share"] == np.mean(weights[~np.isnan(weights)] < scaling_worker.ON_A_JUMP)
    assert 0 < found["relative_error"] < 10
    assert set(scaling_worker.cycles_from_zero(tmp_path)) == {"smooth", "jumps"}


def measured(growth):
    """Made-up measurements at two sides, by the growth of time per pixel and of cycles."""
    found: dict[str, Any] = {"bytes_per_pixel": 299.0, "jump_share": 0.02}
    result = {}
    for side, times in ((1024, 1.0), (4096, growth)):
        for method in scaling_worker.METHODS:
            seconds = 1e-6 * times * side**2
            result[method, side] = found | {"pixels": side**2, "seconds": seconds}
        result["cycles", side] = {"smooth": 10 * times, "jumps": 10 * times}
    return result


@pytest.mark.parametrize(("growth", "is_missed"), [(1.5, False), (1.6, True)])
def test_growth_from_one_to_sixteen_megapixels_is_limited(growth, is_missed):
    limits = {scaling.time_and_memory: len(scaling_worker.METHODS), scaling.cycles: 2}
    for table, limited in limits.items():
        checks = table(measured(growth), (1024, 4096)).checks
        assert sum(not check.holds for check in checks) == limited * is_missed
        assert all(check.holds for check in table(measured(9.0), (1024,)).checks)


def test_task_that_dies_is_reported_and_meets_no_limit():
    assert scaling._work("no such task", "folder") == {}
    table = scaling.time_and_memory(
        {(method, 4096): {} for method in scaling_worker.METHODS}, (4096,)
    )
    assert [row[-1] for row in table.rows] == ["failed"] * len(scaling_worker.METHODS)
    assert not any(check.holds for check in table.checks)


def test_all_numbers_of_threads_give_the_same_bits():
    (table,) = threads.tables((96,))
    assert table.rows[0][0] == "1"
    assert table.checks[0].holds
