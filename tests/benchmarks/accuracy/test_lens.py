"""Scenes through a lens and through its pinhole, and the table of a tiny run without real data."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from benchmarks.accuracy import lens
from benchmarks.accuracy.inputs import Settings
from benchmarks.accuracy.lens import MESHES, OBJECTS, WAYS, LensSource, lens_cells, printed_lines
from benchmarks.accuracy.predictions import Cache
from benchmarks.diligent import truth
from rayrelief.evaluation.metrics import depth_errors


@pytest.mark.parametrize("name", MESHES)
def test_mesh_is_closed_and_seen_whole(name):
    mesh = MESHES[name]()
    solid = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)
    assert solid.is_watertight
    assert solid.volume > 0  # faces outwards
    for view in ("distorted", "undistorted"):
        mask = LensSource(name, view).scene().mask
        assert mask.mean() > 0.15
        assert not mask[[0, -1]].any()
        assert not mask[:, [0, -1]].any()


@pytest.mark.parametrize("name", ["waves", "room"])
def test_ignored_distortion_is_the_same_map_with_the_wrong_camera(name):
    true, ignored = LensSource(name, "distorted").scene(), LensSource(name, "ignored").scene()
    np.testing.assert_array_equal(ignored.normals, true.normals)
    np.testing.assert_array_equal(ignored.depth, true.depth)
    assert (true.camera, ignored.camera) == (lens.LENS, lens.IDEAL)
    assert LensSource(name, "undistorted").scene().camera == lens.IDEAL


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
    assert printed_lines()["bunny (printed)"][1] == "1.16 / 1.29"
