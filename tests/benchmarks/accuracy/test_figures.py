"""Figures on tiny maps: all are drawn, from the numbers of the tables, and predicted once."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rayrelief
from benchmarks.accuracy.experiments import MADE, Cell, noise_cells
from benchmarks.accuracy.figures import curves as curves_of
from benchmarks.accuracy.figures import pictures as maps_of
from benchmarks.accuracy.figures.canvas import PictureGrid, window
from benchmarks.accuracy.figures.catalogue import FIGURES, figure_cells, figure_sheet
from benchmarks.accuracy.figures.numbers import (
    SCHEDULES,
    Curve,
    activation_curves,
    iteration_cells,
    iteration_curves,
    noise_curves,
)
from benchmarks.accuracy.figures.pictures import DETAILS, detail
from benchmarks.accuracy.figures.real_world import OBJECTS
from benchmarks.accuracy.figures.study import Study
from benchmarks.accuracy.figures.surfaces import cut_mesh, from_left, from_right, mirrored, restored
from benchmarks.accuracy.predictions import Cache, Prediction, library_state
from benchmarks.accuracy.settings import Settings
from benchmarks.accuracy.tables import Scored
from benchmarks.accuracy.workers import predict_missing
from benchmarks.diligent import STEADY, scenes
from rayrelief.errors import Outcome
from rayrelief.io.images import read_image
from rayrelief.mesh import Mesh
from rayrelief.synthetic import gallery


@pytest.fixture
def real_maps(data) -> None:
    """Maps without camera and truth in other/."""
    for name in OBJECTS:
        folder = data.parent / "other" / f"{name}_orthographic"
        shutil.copytree(data / "harvest", folder)
        for file in ("K.txt", "depth_gt.npz"):
            (folder / file).unlink()


@pytest.fixture
def study(data, results) -> Study:
    """What a run with three iterations draws from."""
    maps = {scene.name: scene for scene in scenes()}
    return Study(maps, Settings(iterations=3), library_state(), Cache(results / "predictions"))


def predict(study: Study, cells: Sequence[Cell]) -> None:
    predict_missing([task for cell in cells for task in cell.tasks], study.cache, 1, study.library)


def pictures(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_every_figure_is_drawn(run, real_maps, results, predicted, capsys):
    assert run("figures") == 0
    assert set(pictures(results / "figures")) == {f"{name}-16_iterations.png" for name in FIGURES}
    for path in (results / "figures").iterdir():
        picture = read_image(path)[..., :3]
        assert (picture[[0, -1]] == 255).all(), path.name  # a white background
        assert 0.01 < (picture < 255).any(axis=-1).mean() < 0.9, path.name
        assert len(np.unique(picture)) > 20, path.name
    assert "skipped" not in capsys.readouterr().err
    assert len(predicted) == len(set(predicted))
    text = (results / "paper-figures-16_iterations.csv").read_text()
    listed = [line["file"] for line in csv.DictReader(io.StringIO(text))]
    assert listed == [f"{name}-16_iterations.png" for name in FIGURES]


def test_second_run_predicts_nothing_and_draws_the_same(run, real_maps, results, predicted):
    run("figures", "--objects", "pot1")
    first, count = pictures(results / "figures"), len(predicted)
    run("figures", "--objects", "pot1")
    assert len(predicted) == count > 0
    assert pictures(results / "figures") == first
    assert {
        f"{name}-pot1-16_iterations.png" for name in ("errors", "iterations", "real_world")
    } < set(first)


def test_figure_without_its_data_is_skipped_in_one_line(run, data, results, predicted, capsys):
    assert run("figures", "--objects", "cow,pot1") == 0
    out, err = capsys.readouterr()
    lost = ", ".join(str(data.parent / "other" / f"{name}_orthographic") for name in OBJECTS)
    reasons = {
        "details": "it needs harvest",
        "activation": f"it needs {', '.join(n for n in STEADY if n not in ('cow', 'pot1'))}",
        "noise": "it needs harvest",
        "real_world": f"there is no {lost}",
    }
    for name, reason in reasons.items():
        line = f"{name}-cow-pot1-16_iterations.png: skipped, {reason}"
        assert err.count(f"... {line}\n") == 1
        assert f"- {line}\n" in out
    drawn = {f"{name}-cow-pot1-16_iterations.png" for name in FIGURES if name not in reasons}
    assert set(pictures(results / "figures")) == drawn


def test_run_that_left_all_numbers_is_not_drawn(study, predicted, results, capsys):
    quick = replace(study, scenes={"cow": study.scenes["cow"]})
    cells = list(figure_cells(quick))
    predict(quick, cells)
    broken = next(cell.tasks[0] for cell in cells if cell.row == "jumps_1200")
    lost = np.full(quick.scenes["cow"].mask.shape, np.nan)
    quick.cache.store(broken.key, Prediction(lost, 0.1, Outcome.NOT_FINITE, 1))
    sheet = figure_sheet("Figures", "again", quick, results / "figures")
    reason = f"skipped, on cow {Outcome.NOT_FINITE.cause}"
    for name in ("reconstructions", "errors", "jumps"):
        assert f"{name}-3_iterations.png: {reason}" in sheet.table.notes
    assert "beta-3_iterations.png" in pictures(results / "figures")


def test_plots_show_the_numbers_of_the_tables(run, results, data, predicted):
    run("activation", "outliers", "made")
    state = Settings(iterations=16)
    maps = {scene.name: scene for scene in scenes()}
    study = Study(maps, state, library_state(), Cache(results / "predictions"))

    def table(name: str) -> dict[tuple[str, str], dict[str, str]]:
        text = (results / f"paper-{name}-16_iterations.csv").read_text()
        return {(x["row"], x["column"]): x for x in csv.DictReader(io.StringIO(text))}

    shown = {}
    for (rho, name), curve in activation_curves(study, study.cells("activation")).items():
        for q, ours, printed in zip(curve.at, curve.ours, curve.printed, strict=True):
            shown[f"rho={rho:.2f} q={q:g}", name] = f"{ours:.6g}", f"{printed:.2f}"
    assert shown == {key: (x["ours"], x["printed"]) for key, x in table("activation").items()}

    drawn = {}
    cells = list(noise_cells("outliers", maps, state, study.library))
    for row, curve in noise_curves(study, cells).items():
        for point in zip(curve.at, curve.ours, curve.low, curve.high, curve.printed, strict=True):
            drawn[row, f"{point[0]:g} %"] = *(f"{x:.6g}" for x in point[1:4]), f"{point[4]:.2f}"
    fields = ("ours", "lower_quartile", "upper_quartile", "printed")
    assert drawn == {key: tuple(x[f] for f in fields) for key, x in table("outliers").items()}

    cells, count = list(iteration_cells(study)), len(predicted)
    predict(study, cells)
    assert len(predicted) > count
    curves, made = iteration_curves(study, cells), table("made")
    for row, last in {"BiNI": "bini", "without α": "no_jumps_1200", "with α": "jumps_1200"}.items():
        for name in maps:
            curve = curves[row, name]
            assert curve.at[-1] == 16
            assert f"{curve.ours[-1]:.6g}" == made[last, name]["ours"]
            assert np.isnan(curve.printed).all()  # of other numbers of iterations

    full = replace(study, settings=Settings())
    full_cells = {
        (x.row, x.column, x.tasks[0].method.max_iterations): x for x in iteration_cells(full)
    }
    for row, schedule in SCHEDULES.items():
        for count, printed in schedule.printed.items():
            for name in maps:
                assert full_cells[row, name, count].printed == made[printed, name]["printed"]


@pytest.fixture
def shown(monkeypatch) -> dict[tuple[str, str], tuple[np.ndarray, str]]:
    """Pictures and captions that are put into grids, by row and column."""
    found = {}
    show = PictureGrid.show

    def noted(grid, row, column, picture, caption="", **how):
        found[row, column] = np.asarray(picture), caption
        return show(grid, row, column, picture, caption, **how)

    monkeypatch.setattr(PictureGrid, "show", noted)
    return found


def test_error_maps_show_the_errors_of_the_table(study, shown, predicted, monkeypatch):
    monkeypatch.setattr(maps_of, "LEAST_ERROR", 1e-12)  # where colours end nothing can be told
    plan = maps_of.errors(study)
    predict(study, plan.cells)
    plan.draw("title")
    names = maps_of.row_names(plan.cells)
    for cell, scored in zip(plan.cells, study.scored(plan.cells), strict=True):
        picture, caption = shown[names[cell.row], cell.column]
        assert np.nanmean(picture) == pytest.approx(scored.median, rel=1e-6)
        assert caption == f"{scored.median:.3f}"
    assert len(shown) == len(plan.cells)


def test_maps_of_jumps_show_activation_above_and_true_jumps_below(study, shown, predicted):
    plan = maps_of.jumps(study)
    predict(study, plan.cells)
    plan.draw("title")
    for cell in plan.cells:
        scene = study.scenes[cell.column]
        part = window(scene.mask)
        beta = maps_of.surface(study, cell).activation.largest()[part]
        assert np.nanmax(beta) > 0
        np.testing.assert_array_equal(shown["activation β", cell.column][0], beta)
        true = np.clip(maps_of.true_surface(scene).jumps.largest(), maps_of.LEAST_JUMP, None)
        np.testing.assert_array_equal(shown["true jumps", cell.column][0], true[part])


def test_incidence_is_along_the_ray(study, shown):
    maps_of.incidence(study).draw("title")
    for name, scene in study.scenes.items():
        rays = scene.camera.unit_rays(*scene.mask.shape)
        expected = np.abs(np.sum(scene.normals * rays, axis=-1))
        expected[~scene.mask] = np.nan
        np.testing.assert_allclose(shown["given normals", name][0], expected[window(scene.mask)])


def test_printed_numbers_are_dots():
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    points = [(q, Scored("", "", number, (1.0,), {})) for q, number in ((1.0, "0.50"), (2.0, "-"))]
    curves_of.draw_curve(axes, Curve.of(points), "label", "black")
    line, dots = axes.lines
    np.testing.assert_array_equal(line.get_ydata(), [1.0, 1.0])
    np.testing.assert_array_equal(dots.get_ydata(), [0.5, np.nan])
    assert (line.get_marker(), dots.get_marker()) == ("None", "o")


def test_schedules_are_those_of_table_2():
    assert {row: each.printed for row, each in SCHEDULES.items()} == {
        "BiNI": {1200: "bini"},
        "without α": {150: "no_jumps_150", 1200: "no_jumps_1200"},
        "with α": {150: "jumps_150", 1200: "jumps_1200"},
    }


def test_curves_of_beta_pass_one_half_at_rho(study):
    figure = curves_of.beta(study).draw("title")
    found = {}
    for axes in figure.axes:
        rho = float(axes.get_title().removeprefix("ρ = "))
        for line in axes.lines:
            label = str(line.get_label())
            if label.startswith("q = "):
                q = float(label.removeprefix("q = "))
                weights, values = (np.asarray(data) for data in line.get_data())
                assert np.interp(rho, weights, values) == pytest.approx(0.5)
                slope = np.diff(values)[np.searchsorted(weights, rho)] / np.diff(weights)[0]
                found[rho, q] = slope
    rows = {tuple(map(float, row.replace("rho=", "").split(" q="))) for row in MADE["activation"]}
    assert set(found) == rows
    gentle = {key: slope for key, slope in found.items() if key[1] <= 15}
    assert all(slope == pytest.approx(-q / 4, rel=0.05) for (_, q), slope in gentle.items())


def test_iterations_rise_and_are_told_once(study):
    few = [cell for cell in iteration_cells(study) if (cell.row, cell.column) == ("BiNI", "cow")]
    assert [cell.tasks[0].method.max_iterations for cell in few] == [1, 2, 3]


def test_mean_of_curves():
    def curve(*made: float) -> Curve:
        return Curve.of([(q, Scored("", "", "0.50", (m,), {})) for q, m in enumerate(made)])

    mean = Curve.mean([curve(1.0, 3.0), curve(2.0, 5.0)])
    np.testing.assert_array_equal(mean.ours, [1.5, 4.0])
    np.testing.assert_array_equal(mean.at, [0, 1])
    np.testing.assert_array_equal(mean.printed, [0.5, 0.5])


@pytest.mark.parametrize("camera", [None, rayrelief.cameras.Orthographic(0.1)])
@pytest.mark.parametrize("jumps", [True, False])
def test_restored_surface_is_the_one_that_was_integrated(camera, jumps):
    scene = gallery.overlapping_spheres(24, 30, camera)
    method = rayrelief.RayPlane(max_iterations=5, jumps=jumps)
    result = rayrelief.integrate(
        scene.normals, scene.camera, mask=scene.mask, method=method, on_failure="return"
    )
    again = restored(scene, method, result.depth)
    np.testing.assert_array_equal(again.depth, result.depth)
    np.testing.assert_array_equal(again.mesh().faces, result.mesh().faces)
    np.testing.assert_allclose(again.activation.values, result.activation.values, atol=1e-9)
    np.testing.assert_allclose(again.jumps.values, result.jumps.values, atol=1e-9)
    assert again.components.sizes == result.components.sizes


def test_cut_mesh_holds_only_what_is_kept():
    scene = gallery.sphere(24, 30)
    assert scene.depth is not None
    result = restored(scene, rayrelief.RayPlane(), scene.depth)
    kept = np.zeros_like(scene.mask)
    kept[5:15, 8:20] = True
    mesh = cut_mesh(result, kept)
    inside = {tuple(point) for point in result.points()[kept & scene.mask]}
    assert {tuple(point) for point in mesh.vertices} <= inside
    assert set(mesh.faces.ravel()) == set(range(len(mesh.vertices)))


def test_cut_mesh_has_no_strips_that_are_seen_edge_on():
    scene = gallery.plane(12, 15)
    assert scene.depth is not None
    depth = scene.depth.copy()
    depth[:, :8] /= 50.0  # a jump, of which Smooth sees nothing
    result = restored(scene, rayrelief.Smooth(), depth)
    assert len(result.mesh().faces) == 2 * 11 * 14
    depths = cut_mesh(result).vertices[cut_mesh(result).faces][..., 2]
    assert len(depths) == 2 * 11 * (7 + 6)
    assert np.all((depths < 1).all(axis=1) | (depths > 1).all(axis=1))


def test_each_side_sees_what_a_mirror_shows_of_the_other():
    scene = gallery.overlapping_spheres(24, 30)
    assert scene.depth is not None
    mesh = cut_mesh(restored(scene, rayrelief.RayPlane(), scene.depth))
    left, right = from_left(mesh), from_right(mesh)
    np.testing.assert_array_equal(from_left(mirrored(mesh)), right[:, ::-1])
    assert np.isfinite(left).mean() > 0.2
    assert (np.isfinite(left) != np.isfinite(right)).mean() > 0.01


def test_a_pennant_that_faces_right_is_longer_from_the_right():
    corners = np.array([[-1.0, -1.0, 4.0], [-1.0, 1.0, 4.0], [1.0, 0.0, 5.0]])  # its tip is right
    pennant = Mesh(corners, np.array([[0, 1, 2]], np.int32))
    lengths = []
    for view in (from_left, from_right):
        seen = np.isfinite(view(pennant))
        columns = np.flatnonzero(seen.any(axis=0))
        assert seen[:, columns[1]].sum() > seen[:, columns[-2]].sum()
        lengths.append(len(columns) / seen.any(axis=1).sum())
    assert lengths[0] < 0.9 * lengths[1]


@pytest.mark.parametrize("name", DETAILS)
def test_detail_is_a_part_of_the_extent(name):
    mask = np.zeros((50, 70), np.bool_)
    mask[10:30, 20:60] = True
    top, bottom, left, right = DETAILS[name]
    kept = detail(name, mask)
    assert (kept & mask).sum() == kept.sum() == 20 * 40 * (bottom - top) * (right - left)
