"""Figures on tiny maps: all are drawn, from the numbers of the tables, and predicted once."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import rayrelief
from benchmarks.accuracy import figures
from benchmarks.accuracy.experiments import noise_cells
from benchmarks.accuracy.figures import FIGURES, curves, pictures
from benchmarks.accuracy.figures.canvas import PictureGrid, window
from benchmarks.accuracy.figures.study import Study
from benchmarks.accuracy.figures.surfaces import cut_mesh, restored
from benchmarks.accuracy.inputs import Settings
from benchmarks.accuracy.predictions import Cache
from benchmarks.accuracy.workers import predict_missing
from rayrelief.io.images import read_image
from rayrelief.synthetic import gallery


@pytest.fixture
def study(data, results) -> Study:
    """What a run with 16 iterations draws from."""
    return Study(Settings(iterations=16), Cache(results / "predictions"))


def test_every_figure_is_drawn(data, run, results, predicted):
    for name in pictures.REAL:  # maps without camera and truth
        folder = data.parent / "other" / f"{name}_orthographic"
        shutil.copytree(data / "harvest", folder)
        for file in ("K.txt", "depth_gt.npz"):
            (folder / file).unlink()
    assert run("figures") == 0
    paths = sorted((results / "figures").iterdir())
    assert {path.name for path in paths} == {f"{name}-16_iterations.png" for name in FIGURES}
    for path in paths:
        picture = read_image(path)[..., :3]
        assert 0.01 < (picture < 255).any(axis=-1).mean() < 0.9, path.name  # on white
        assert len(np.unique(picture)) > 20, path.name
    assert len(predicted) == len(set(predicted))


def test_a_figure_is_the_same_again(data, run, written, predicted, monkeypatch):
    monkeypatch.setattr(figures, "FIGURES", {"jumps": pictures.jumps})
    run("figures")
    first, count = written(), len(predicted)
    run("figures")
    assert len(predicted) == count > 0
    assert written() == first


def test_figure_without_its_data_is_skipped_in_one_line(data, run, results, predicted):
    assert run("figures", "--objects", "cow") == 0
    text = (results / "paper-figures-cow-16_iterations.md").read_text(encoding="utf-8")
    for name, reason in {
        "activation": "it needs bear, ",
        "noise": "noise is added to harvest",
        "real_world": f"there is no {data.parent / 'other'}",
    }.items():
        assert f"- {name}-cow-16_iterations.png: skipped, {reason}" in text


def test_plots_show_the_numbers_of_the_tables(study, run, records, predicted):
    run("activation", "outliers", "made")
    stem = "paper-activation-outliers-made"
    table = {(x["table"], x["row"], x["column"]): x for x in records(stem)}

    def shown(curve: curves.Curve) -> dict[float, tuple[float, ...]]:
        lines = zip(curve.at, curve.low, curve.ours, curve.high, curve.printed, strict=True)
        return {line[0]: line[1:] for line in lines}

    found = curves.curves_of(study, study.cells("activation"), curves.activation_place)
    for (rho, name), curve in found.items():
        for q, line in shown(curve).items():
            cell = table["activation", f"rho={rho:.2f} q={q:g}", name]
            assert line == (*cell["made"] * 3, float(cell["printed"]))
    noisy = curves.curves_of(study, noise_cells("outliers", study.settings), curves.noise_place)
    for row, curve in noisy.items():
        for level, line in shown(curve).items():
            cell = table["outliers", row, f"{level:g} %"]
            made = sorted(cell["made"])
            assert line == (made[0], made[2], made[4], float(cell["printed"]))

    cells = list(curves.iteration_cells(study))
    predict_missing({task.key: task for cell in cells for task in cell.tasks}, study.cache, 1)
    last = {"BiNI": "bini", "without α": "no_jumps_1200", "with α": "jumps_1200"}
    for (row, name), curve in curves.curves_of(study, cells, curves.iteration_place).items():
        assert curve.at[-1] == 16
        assert [curve.ours[-1]] == table["made", last[row], name]["made"]
        assert np.isnan(curve.printed).all()  # of other numbers of iterations


def test_error_and_jump_maps_show_what_they_say(study, predicted, monkeypatch):
    shown = {}
    show = PictureGrid.show

    def noted(grid, row, column, picture, caption="", **how):
        shown[row, column] = np.asarray(picture), caption
        return show(grid, row, column, picture, caption, **how)

    monkeypatch.setattr(PictureGrid, "show", noted)
    monkeypatch.setattr(pictures, "LEAST_ERROR", 1e-12)  # where colours end nothing can be told
    plans = [pictures.errors(study), pictures.jumps(study)]
    tasks = [task for plan in plans for cell in plan.cells for task in cell.tasks]
    predict_missing({task.key: task for task in tasks}, study.cache, 1)
    for plan in plans:
        plan.draw("title")
    names = pictures.row_names(plans[0].cells)
    for cell in plans[0].cells:
        picture, caption = shown[names[cell.row], cell.column]
        assert np.nanmean(picture) == pytest.approx(study.score(cell).median, rel=1e-6)
        assert caption == f"{study.score(cell).median:.3f}"
    for cell in plans[1].cells:
        true = pictures.true_surface(study, cell.column)
        beta = pictures.surface(study, cell.tasks[0]).activation.largest()[window(true.mask)]
        np.testing.assert_array_equal(shown["activation β", cell.column][0], beta)
        jumps = np.clip(true.jumps.largest(), pictures.LEAST_JUMP, None)[window(true.mask)]
        np.testing.assert_array_equal(shown["true jumps", cell.column][0], jumps)


@pytest.mark.parametrize("camera", [None, rayrelief.cameras.Orthographic(0.1)])
@pytest.mark.parametrize("jumps", [True, False])
def test_restored_surface_is_the_one_that_was_integrated(camera, jumps):
    scene = gallery.overlapping_spheres(24, 30, camera)
    method = rayrelief.RayPlane(max_iterations=5, jumps=jumps)
    result = rayrelief.integrate(
        scene.normals, scene.camera, mask=scene.mask, method=method, on_failure="return"
    )
    again = restored(scene, method, result.depth)
    np.testing.assert_allclose(again.depth, result.depth, rtol=1e-15, atol=1e-15)
    np.testing.assert_array_equal(again.mesh().faces, result.mesh().faces)
    np.testing.assert_allclose(again.weights.values, result.weights.values, atol=1e-6)
    if jumps:
        np.testing.assert_allclose(again.activation.values, result.activation.values, atol=1e-6)
    np.testing.assert_allclose(again.jumps.values, result.jumps.values, atol=1e-9)


def test_cut_mesh_has_no_strips_that_are_seen_edge_on():
    scene = gallery.plane(12, 15)
    assert scene.depth is not None
    depth = scene.depth.copy()
    depth[:, :8] /= 5.0  # a jump, of which Smooth sees nothing
    result = restored(scene, rayrelief.Smooth(), depth)
    assert len(result.mesh(cut=np.inf).faces) == 2 * 11 * 14
    depths = cut_mesh(result).vertices[cut_mesh(result).faces][..., 2]
    assert len(depths) == 2 * 11 * (7 + 6)
    assert np.all((depths < 1).all(axis=1) | (depths > 1).all(axis=1))
