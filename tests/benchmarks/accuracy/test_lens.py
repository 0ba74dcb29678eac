"""Scenes through a lens and through its pinhole, and the table of a tiny run without real data."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import trimesh

from benchmarks.accuracy import lens
from benchmarks.accuracy.__main__ import main
from benchmarks.accuracy.lens import MESHES, OBJECTS, WAYS, LensSource, lens_cells, printed_lines
from benchmarks.accuracy.predictions import Cache, library_state
from benchmarks.accuracy.settings import Settings
from benchmarks.diligent import truth
from benchmarks.published import published_tables
from rayrelief.evaluation.metrics import depth_errors

Written = Callable[[Path], dict[str, bytes]]


@pytest.mark.parametrize("name", MESHES)
def test_mesh_is_closed_and_seen_whole(name: str) -> None:
    mesh = MESHES[name]()
    solid = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)
    assert solid.is_watertight
    assert solid.volume > 0  # faces outwards
    for view in ("distorted", "undistorted"):
        mask = LensSource(name, view).scene().mask
        assert mask.mean() > 0.15
        assert not mask[[0, -1]].any()
        assert not mask[:, [0, -1]].any()


def test_lens_sees_more_than_its_pinhole() -> None:
    seen, ideal = (camera.rays(lens.HEIGHT, lens.WIDTH) for camera in (lens.LENS, lens.IDEAL))
    assert np.isfinite(seen).all()
    border = np.ones(seen.shape[:2], dtype=np.bool_)
    border[1:-1, 1:-1] = False
    radii, ideal_radii = (np.linalg.norm(rays[border, :2], axis=1) for rays in (seen, ideal))
    assert np.all(radii > 1.05 * ideal_radii)
    assert np.any(radii > 1.3 * ideal_radii)


@pytest.mark.parametrize("name", ["waves", "room"])
def test_ignored_distortion_is_the_same_map_with_the_wrong_camera(name: str) -> None:
    true, ignored = LensSource(name, "distorted").scene(), LensSource(name, "ignored").scene()
    np.testing.assert_array_equal(ignored.normals, true.normals)
    np.testing.assert_array_equal(ignored.depth, true.depth)
    assert (true.camera, ignored.camera) == (lens.LENS, lens.IDEAL)
    assert LensSource(name, "undistorted").scene().camera == lens.IDEAL


def test_printed_rows_are_whole() -> None:
    table = published_tables()["lens"]
    for metric in ("relative_error", "error_over_mean_depth"):
        assert set(table[metric]) == set(WAYS)
        assert all(len(row) == len(table["meshes"]) for row in table[metric].values())
    assert printed_lines()["bunny (printed)"][1] == ("1.16", "1.29")


def test_table_needs_no_data(
    results: Path,
    predicted: list[str],
    small_lens: None,
    written: Written,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("RAYRELIEF_DATA", raising=False)
    arguments = ["lens", "--iterations", "60", "--output", str(results)]
    assert main(arguments) == 0
    assert len(predicted) == len(set(predicted)) == len(OBJECTS) * len(WAYS)
    out = capsys.readouterr().out
    for row in ("mean", *OBJECTS, *printed_lines()):
        assert out.count(f"| {row} |") == 1

    files = written(results)
    records = list(csv.DictReader(io.StringIO(files["paper-lens-60_iterations.csv"].decode())))
    errors = {(line["object"], line["way"]): float(line["re"]) for line in records}
    for way in WAYS:
        ours = [errors[name, way] for name in OBJECTS]
        assert errors["mean", way] == pytest.approx(np.mean(ours), rel=1e-4)
    cache, settings = Cache(results / "predictions"), Settings(iterations=60)
    for cell in lens_cells(settings, library_state()):
        (task,) = cell.tasks
        predicted_depth = cache.need(task.key, (lens.HEIGHT, lens.WIDTH)).depth
        expected = depth_errors(predicted_depth, truth(task.source.scene()), "scale")
        (line,) = (x for x in records if (x["object"], x["way"]) == (cell.row, cell.column))
        assert (line["re"], line["era"]) == (f"{expected.re:.6g}", f"{expected.era:.6g}")
        assert line["re"] != line["era"]
    # A closed form without jumps: the true camera leaves hardly an error, the wrong one does.
    assert errors["ellipsoid_inside", "ours_distorted"] < 0.1
    assert errors["ellipsoid_inside", "ours_undistorted"] < 0.1
    assert errors["ellipsoid_inside", "bini_distorted"] > 1.0

    assert main(arguments) == 0
    assert len(predicted) == len(OBJECTS) * len(WAYS)
    assert written(results) == files
