"""The table of DiLiGenT-MV on a folder with three views of an ellipsoid."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from benchmarks.accuracy.__main__ import main
from benchmarks.accuracy.diligent_mv import METHODS, NORMALS, ViewSource
from benchmarks.published import published_tables
from rayrelief.datasets.diligent_mv import Normals
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
def bear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of the object bear."""
    root = tmp_path / "data" / "diligent_mv"
    monkeypatch.delenv("RAYRELIEF_DILIGENT_MV", raising=False)
    monkeypatch.setenv("RAYRELIEF_DATA", str(root.parent))
    return write_views(root, "bear")


@pytest.mark.parametrize("view", POSES)
@pytest.mark.parametrize("normals", NORMALS)
def test_view_has_the_depth_of_the_closed_form(bear: Path, view: int, normals: Normals) -> None:
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
    assert scene.name == f"bear view {view}"


def test_every_row_has_a_printed_number_for_every_object() -> None:
    table = published_tables()["diligent_mv"]
    for kind in NORMALS:
        assert set(table[kind]) == set(METHODS)
        assert all(len(row) == len(table["objects"]) for row in table[kind].values())


def test_table_is_the_mean_over_the_views(
    bear: Path,
    results: Path,
    predicted: list[str],
    written: Callable[[Path], dict[str, bytes]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["diligent_mv", "--objects", "bear", "--iterations", "40"]
    arguments += ["--output", str(results)]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert len(predicted) == len(set(predicted)) == len(POSES) * len(METHODS) * len(NORMALS)
    assert "bear: 3 views, the paper has 20" in out
    assert "stable objects" not in out
    all_views = made(written(results))
    assert all_views["jumps on true normals"] < 0.2 < all_views["jumps on photometric stereo"]

    monkeypatch.setenv("RAYRELIEF_DILIGENT_MV", str(bear.parents[1]))
    monkeypatch.delenv("RAYRELIEF_DATA")
    single = []
    for view in POSES:
        hidden = [bear / f"view_{other:02d}" for other in POSES if other != view]
        for path in hidden:
            path.rename(path.with_name(f"hidden_{path.name}"))
        main(arguments)
        single.append(made(written(results)))
        for path in hidden:
            path.with_name(f"hidden_{path.name}").rename(path)
    assert len(predicted) == len(POSES) * len(METHODS) * len(NORMALS)  # all were in the cache
    for row, mean in all_views.items():
        assert mean == pytest.approx(np.mean([each[row] for each in single]), rel=1e-4)


def made(files: dict[str, bytes]) -> dict[str, float]:
    """MADE of the table, row by row."""
    _, *lines = files["paper-diligent_mv-bear-40_iterations.csv"].decode().splitlines()
    return {line.split(",")[0]: float(line.split(",")[3]) for line in lines}


@pytest.mark.parametrize(("degrees", "accepted"), [(9.0, True), (11.0, False)])
def test_true_normals_are_held_to_the_mesh(bear: Path, degrees: float, accepted: bool) -> None:
    path = bear / "view_01" / "Normal_gt.mat"
    normals = loadmat(path)["Normal_gt"]
    along = np.cross(normals, [0.0, 1.0, 0.0])
    with np.errstate(invalid="ignore"):
        along /= np.linalg.norm(along, axis=-1, keepdims=True)
    angle = np.radians(degrees)
    tilted = np.nan_to_num(np.cos(angle) * normals + np.sin(angle) * along)
    savemat(path, {"Normal_gt": tilted})
    source = ViewSource("bear", 1, "true_normals")
    if accepted:
        source.scene()
    else:
        with pytest.raises(InputError, match="true normals of bear view 1 differ by 11 degrees"):
            source.scene()


def test_mesh_that_is_elsewhere_is_told_in_one_line(bear: Path, results: Path) -> None:
    change_calibration(bear, Tc_2=np.array([[300.0], [0], [250]]))
    message = r"^error: the mesh is behind 0 of \d+ pixels of bear view 2; [^\n]*$"
    with pytest.raises(SystemExit, match=message):
        main(["diligent_mv", "--objects", "bear", "--output", str(results)])


def test_missing_data_is_asked_for_where_it_was_looked_for(
    bear: Path, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = bear.parents[1]
    arguments = ["diligent_mv", "--output", str(results)]
    with pytest.raises(SystemExit, match="left out"):
        main([*arguments, "--objects", "cat"])
    shutil.rmtree(place)
    with pytest.raises(SystemExit) as refusal:
        main(arguments)
    assert str(refusal.value) == f"there is no folder {place / 'mvpmsData'}"
    monkeypatch.delenv("RAYRELIEF_DATA")
    with pytest.raises(SystemExit, match="neither RAYRELIEF_DILIGENT_MV nor RAYRELIEF_DATA"):
        main(arguments)
