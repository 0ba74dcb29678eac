"""The table of DiLiGenT-MV on a folder with three views of an ellipsoid."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from benchmarks.accuracy.diligent_mv import METHODS, NORMALS, ViewSource, view_cells
from benchmarks.accuracy.inputs import Settings
from benchmarks.accuracy.predictions import Cache
from benchmarks.accuracy.tables import score
from benchmarks.published import PUBLISHED
from rayrelief.errors import InputError
from reference.views import (
    CAMERA,
    HEIGHT,
    POSES,
    WIDTH,
    change_calibration,
    exact_view,
    write_views,
)


@pytest.fixture
def bear(tmp_path, monkeypatch) -> Path:
    """Folder of the object bear."""
    root = tmp_path / "data" / "diligent_mv"
    monkeypatch.setenv("RAYRELIEF_DATA", str(root.parent))
    return write_views(root, "bear")


@pytest.mark.parametrize("view", POSES)
@pytest.mark.parametrize("normals", NORMALS)
def test_view_has_the_depth_of_the_closed_form(bear, view, normals):
    scene = ViewSource("bear", view, normals).scene()
    depth, exact = exact_view(view)
    assert scene.depth is not None
    np.testing.assert_array_equal(scene.mask, np.isfinite(depth))
    compared = np.isfinite(scene.depth)
    slant = np.abs(np.einsum("hwi,hwi->hw", exact, CAMERA.rays(HEIGHT, WIDTH)))
    # Flat triangles lie up to 0.02 mm below the surface; single pixels of the rim may miss them.
    assert compared.sum() > 0.98 * scene.mask.sum() > 250
    assert np.all(np.abs(scene.depth - depth)[compared] <= (0.02 / slant + 1e-3)[compared])
    cosines = np.einsum("hwi,hwi->hw", scene.normals, exact)[scene.mask]
    assert (cosines.min() > 1 - 1e-12) == (normals == "true_normals")


def test_table_is_the_mean_over_the_views(bear, run, results, records, predicted):
    assert run("diligent_mv", "--objects", "bear") == 0
    assert len(predicted) == len(set(predicted)) == len(POSES) * len(METHODS) * len(NORMALS)
    found = {x["row"]: x for x in records("paper-diligent_mv-bear")}
    table, cache = PUBLISHED["diligent_mv"], Cache(results / "predictions")
    for cell in view_cells(Settings(("bear",), iterations=16)):
        views = score("", cell, cache).made
        assert len(set(views)) == len(POSES)
        assert found[cell.row]["made"] == [pytest.approx(np.mean(views))]
        row, _, kind = cell.row.partition(" on ")
        index = table["objects"].index("bear")
        assert found[cell.row]["printed"] == table[kind.replace(" ", "_")][row][index]


@pytest.mark.parametrize(("degrees", "accepted"), [(9.0, True), (11.0, False)])
def test_true_normals_are_held_to_the_mesh(bear, degrees, accepted):
    path = bear / "view_01" / "Normal_gt.mat"
    normals = loadmat(path)["Normal_gt"]
    along = np.cross(normals, [0.0, 1.0, 0.0])
    with np.errstate(invalid="ignore"):
        along /= np.linalg.norm(along, axis=-1, keepdims=True)
    angle = np.radians(degrees)
    savemat(path, {"Normal_gt": np.nan_to_num(np.cos(angle) * normals + np.sin(angle) * along)})
    source = ViewSource("bear", 1, "true_normals")
    if accepted:
        source.scene()
    else:
        with pytest.raises(InputError, match="bear view 1, and its normals differ by 11 degrees"):
            source.scene()


def test_mesh_that_is_elsewhere_is_refused(bear):
    change_calibration(bear, Tc_2=np.array([[300.0], [0], [250]]))
    with pytest.raises(InputError, match=r"the mesh is behind 0 of \d+ pixels of bear view 2"):
        ViewSource("bear", 2, "true_normals").scene()
