"""Scenes through a lens and through its pinhole, and the table of a tiny run without real data."""

from __future__ import annotations

import numpy as np

from benchmarks.accuracy import lens
from benchmarks.accuracy.inputs import Settings
from benchmarks.accuracy.lens import OBJECTS, WAYS, LensSource, lens_cells, printed_rows
from benchmarks.accuracy.predictions import Cache
from benchmarks.diligent import truth
from rayrelief.evaluation.metrics import depth_errors


def test_ignored_distortion_is_the_same_map_with_the_wrong_camera():
    views: tuple[lens.View, ...] = ("distorted", "ignored", "undistorted")
    true, ignored, ideal = (LensSource("room", view).scene() for view in views)
    np.testing.assert_array_equal(ignored.normals, true.normals)
    np.testing.assert_array_equal(ignored.depth, true.depth)
    assert (true.camera, ignored.camera) == (lens.LENS, lens.IDEAL)
    assert ideal.camera == lens.IDEAL
    assert (ideal.normals != true.normals).any()


def test_table_holds_the_errors_of_the_predictions_without_real_data(
    run, records, results, predicted, monkeypatch
):
    monkeypatch.delenv("RAYRELIEF_DATA", raising=False)
    assert run("lens") == 0
    assert len(predicted) == len(set(predicted)) == len(OBJECTS) * len(WAYS)
    found = {(x["object"], x["way"]): (x["re"], x["era"]) for x in records("paper-lens")}
    cache = Cache(results / "predictions")
    for cell in lens_cells(Settings(iterations=16)):
        (task,) = cell.tasks
        expected = depth_errors(cache.need(task.key).depth, truth(task.source.scene()), "scale")
        assert found[cell.row, cell.column] == (expected.re, expected.era)
    for way in WAYS:
        means = np.mean([found[name, way] for name in OBJECTS], axis=0)
        np.testing.assert_allclose(found["mean", way], means)
    # A closed form without jumps: the true camera leaves hardly an error, the wrong one does.
    assert found["ellipsoid_inside", "ours_distorted"][0] < 0.1
    assert found["ellipsoid_inside", "bini_distorted"][0] > 1.0
    assert list(printed_rows())[-1][:3] == ("bunny (printed)", "0.27 / 0.30", "1.16 / 1.29")
