"""The parts of the benchmarks on tiny scenes: what they measure is what they say."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import rayrelief
from benchmarks import diligent, maps, scaling, scaling_worker, solvers, systems
from benchmarks.report import Table, UnavailableError
from benchmarks.settings import Settings
from benchmarks.watched import Watched, problems_of
from rayrelief.synthetic.gallery import GALLERY
from reference.layout import write_layout

SIDE = 32
linux_only = pytest.mark.skipif(not scaling_worker.STATUS.exists(), reason="memory: Linux only")


@pytest.fixture(scope="module")
def scene():
    return GALLERY["crowd"](SIDE, SIDE)


def rows_of(table: Table) -> Any:
    return table.rows


def integrate(scene, method):
    return rayrelief.integrate(
        scene.normals, scene.camera, mask=scene.mask, method=method, on_failure="return"
    )


def test_watching_a_solver_changes_nothing(scene):
    alone = integrate(scene, rayrelief.RayPlane())
    watch = Watched(rayrelief.RayPlane().solver)
    watched = integrate(scene, rayrelief.RayPlane(solver=watch))
    np.testing.assert_array_equal(watched.depth, alone.depth)
    assert watch.solves == len(alone.history)
    assert watch.work == sum(i.inner_iterations for i in alone.history) * SIDE**2


def test_systems_are_kept_as_they_were_met(scene):
    later, first = problems_of(scene, {1, 3}), problems_of(scene, {1})
    assert list(later) == [1, 3]
    np.testing.assert_array_equal(later[1].system.conductance, first[1].system.conductance)
    np.testing.assert_array_equal(later[1].rhs, first[1].rhs)
    solution = later[3].solve(rayrelief.Multigrid(1e-9))
    assert later[3].residual(solution.x) < 1e-9


def test_maps_are_compared_object_by_object(scene):
    named = [replace(scene, name=name) for name in (*diligent.STEADY, "harvest")]
    table = maps.against_published(named, 3, "again")
    rows = rows_of(table)
    errors = [row[3] for row in rows[:8]]
    assert errors == [diligent.run(scene, rayrelief.RayPlane()).made] * 8
    total, mean = rows[8:]
    assert total[6] == pytest.approx(sum(row[6] for row in rows[:8]))
    assert mean[3] == pytest.approx(errors[0])
    # Fewer iterations than published say nothing of the ratio.
    assert [check.at_most for check in table.checks] == [0.16, 8]


def test_limit_of_harvest_is_on_the_median_of_the_perturbed_runs(scene):
    table = maps.perturbed([replace(scene, name="harvest")], "again")
    ((_, median, least, largest),) = table.rows
    runs = [diligent.run(maps.jittered(scene, s), rayrelief.RayPlane()).made for s in range(5)]
    assert [least, median, largest] == [sorted(runs)[i] for i in (0, 2, 4)]
    assert [check.found for check in table.checks] == [median]


def test_principal_point_moves_within_its_bounds(scene):
    moved: list[Any] = [maps.jittered(scene, seed).camera for seed in maps.SEEDS]
    offsets = np.array([(c.cx - scene.camera.cx, c.cy - scene.camera.cy) for c in moved])
    assert np.abs(offsets).max() <= maps.SHIFT
    assert len(np.unique(offsets)) == offsets.size


def test_noise_is_repaired_and_reported(scene):
    table = maps.noisy([scene], 2, "again")
    assert rows_of(table)[0][3] > diligent.run(scene, rayrelief.RayPlane()).made
    assert any("runs 2 iterations" in note for note in table.notes)


def test_exact_solves_are_asked_of_four_objects_only(scene):
    named = [replace(scene, name=name) for name in ("cow", "harvest")]
    table = maps.against_exact(named, "again")
    assert [row[0] for row in table.rows] == ["cow"]
    assert [check.found for check in table.checks] == [table.rows[0][1]]


def test_cycles_are_those_of_fresh_solves(scene):
    table = systems.cycles([scene], (1, 2), "again")
    for row, problem in zip(table.rows, problems_of(scene, (1, 2)).values(), strict=True):
        assert row[3:5] == tuple(
            problem.solve(rayrelief.Multigrid(rtol)).steps for rtol in (1e-3, 1e-6)
        )
    assert table.checks[1].found == max(row[4] for row in rows_of(table))


def test_conjugate_gradients_are_timed_on_a_laplacian():
    problem = systems.random_problem(5)
    np.testing.assert_allclose(problem.system @ np.ones(25), 0.0, atol=1e-14)
    assert systems.conjugate_gradients((12,), "again").rows[0][0] == 144


def test_all_solvers_reach_the_tolerance():
    rows = rows_of(solvers.compared(64, "again"))
    assert rows[0][:2] == ("Multigrid", 1.0)
    assert all(row[4] < 2 * solvers.RTOL for row in rows)  # the others sum in their own order


@pytest.mark.parametrize("named", [None, ""])
def test_maps_without_data_are_skipped(monkeypatch, named):
    monkeypatch.delenv("RAYRELIEF_DATA", raising=False)
    if named is not None:
        monkeypatch.setenv("RAYRELIEF_DATA", named)
    with pytest.raises(UnavailableError, match="RAYRELIEF_DATA"):
        next(maps.tables(Settings()))


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("mask.png", "cow has no mask; expected mask.png. Take it"),
        ("K.txt", "cow has no camera; expected camera.json or K.txt or K.npy. Take it"),
        ("depth_gt.npz", "cow has no true depth; expected depth_gt.npz or depth_gt.npy or"),
    ],
)
def test_map_without_what_belongs_to_it_is_refused(scene, tmp_path, monkeypatch, file, message):
    monkeypatch.setenv("RAYRELIEF_DATA", str(tmp_path))
    folder = tmp_path / "diligent" / "cow"
    write_layout(folder, scene)
    assert diligent.scenes(("cow",))[0].mask.all()
    (folder / file).unlink()
    with pytest.raises(rayrelief.RayreliefError, match=re.escape(f"{folder.parent / message}")):
        diligent.scenes(("cow",))


def test_data_that_is_not_there_is_named(scene, tmp_path, monkeypatch):
    monkeypatch.setenv("RAYRELIEF_DATA", str(tmp_path))
    with pytest.raises(rayrelief.RayreliefError, match="expected RAYRELIEF_DATA to name"):
        diligent.scenes()
    write_layout(tmp_path / "diligent" / "cow", scene)
    with pytest.raises(rayrelief.RayreliefError, match=r"bear; expected all nine .*--objects"):
        diligent.scenes()


@linux_only
def test_worker_measures_what_it_rendered(tmp_path):
    scaling_worker.render(tmp_path, SIDE)
    found = scaling_worker.measure(tmp_path, scaling_worker.METHODS["RayPlane"])
    scene = scaling_worker.read(tmp_path)
    result = integrate(scene, rayrelief.RayPlane())
    weights = result.weights.values
    assert scene.normals.dtype == np.float32
    assert found["pixels"] == SIDE**2
    assert found["iterations"] == len(result.history)
    assert found["jump_share"] == np.mean(weights[~np.isnan(weights)] < scaling_worker.ON_A_JUMP)
    assert 0 < found["relative_error"] < 10
    assert set(scaling_worker.cycles_from_zero(tmp_path)) == {"smooth", "jumps"}


@linux_only
def test_peak_memory_is_that_of_this_process():
    before = scaling_worker.memory("VmHWM")
    block = np.ones(1 << 23)  # 64 MiB
    assert scaling_worker.memory("VmRSS") <= scaling_worker.memory("VmHWM")
    assert scaling_worker.memory("VmHWM") - before <= block.nbytes + (8 << 20)


def measured(per_pixel, cycles):
    """Made-up measurements at two sides, by their growth."""
    found: dict[str, Any] = {
        "bytes_per_pixel": 299.0,
        "jump_share": 0.02,
        "iterations": 40,
        "cycles": 9.0,
    }
    found |= {"relative_error": 0.1, "outcome": "COMPLETED"}
    result = {}
    for side, time, count in ((1024, 1e-6, 10), (4096, 1e-6 * per_pixel, 10 * cycles)):
        for method in scaling_worker.METHODS:
            result[method, side] = found | {"pixels": side**2, "seconds": time * side**2}
        result["cycles", side] = {"smooth": count, "jumps": count}
    return result


@pytest.mark.parametrize(("growth", "missed"), [(1.5, 0), (1.6, 2)])
def test_growth_from_one_to_sixteen_megapixels_is_limited(growth, missed):
    made_up = measured(growth, growth)
    for table in (scaling.time_and_memory, scaling.cycles):
        checks = table(made_up, (1024, 4096), "again").checks
        assert sum(not check.holds for check in checks) == missed


def test_small_pictures_have_no_limit_of_growth():
    found = {key: value for key, value in measured(9, 9).items() if key[1] == 1024}
    assert not scaling.cycles(found, (1024,), "again").checks
    assert all(check.holds for check in scaling.time_and_memory(found, (1024,), "again").checks)


def test_task_that_dies_is_reported_and_meets_no_limit():
    assert scaling._work("no such task", "folder") == {}
    table = scaling.time_and_memory(
        {(method, 4096): {} for method in scaling_worker.METHODS}, (4096,), "again"
    )
    assert [row[-1] for row in table.rows] == ["failed", "failed"]
    assert not any(check.holds for check in table.checks)
