"""A folder in the layout of DiLiGenT-MV with two views of an ellipsoid, whole and broken."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat, savemat
from scipy.spatial.transform import Rotation
from trimesh.creation import icosphere

import rayrelief
from benchmarks.accuracy.__main__ import main
from benchmarks.accuracy.diligent_mv import METHODS, NORMALS, Normals, ViewSource
from benchmarks.published import published_tables
from rayrelief.conventions import FloatArray, from_opencv
from rayrelief.io.images import write_png
from rayrelief.mesh import Mesh
from rayrelief.synthetic.perturb import with_rotation_noise

HEIGHT, WIDTH = 30, 40
CAMERA = rayrelief.Pinhole(90.0, 92.0, 20.3, 14.1)
RADII = np.array([40.0, 25.0, 30.0])  # mm
CENTRE = np.array([5.0, -3.0, 8.0])  # in the world
POSES = {  # turned by degrees about x, y and z, then moved by mm
    view: (Rotation.from_euler("xyz", turn, degrees=True).as_matrix(), np.array(move)[:, None])
    for view, (turn, move) in {
        1: ([10, 20, 5], [3.0, -2.0, 250.0]),
        2: ([-30, 140, 0], [0.0, 4.0, 230.0]),
    }.items()
}


def exact_view(view: int) -> tuple[FloatArray, FloatArray]:
    """Depth (H, W) and normals (H, W, 3) of the ellipsoid in closed form, NaN beside it."""
    rotation, translation = POSES[view]
    rays = CAMERA.rays(HEIGHT, WIDTH)
    # The unit sphere, seen from where the camera stands in its frame.
    origin = (-rotation.T @ np.ravel(translation) - CENTRE) / RADII
    directions = rays @ rotation / RADII
    a = np.sum(directions**2, axis=-1)
    b = directions @ origin
    inside = b**2 - a * (origin @ origin - 1)
    depth = (-b - np.sqrt(np.where(inside > 0, inside, np.nan))) / a
    outward = (origin + depth[..., None] * directions) / RADII @ rotation.T
    return depth, outward / np.linalg.norm(outward, axis=-1, keepdims=True)


def write_object(root: Path, item: str) -> Path:
    folder = root / "mvpmsData" / f"{item}PNG"
    folder.mkdir(parents=True)
    (root / "estNormal").mkdir(exist_ok=True)
    ball = icosphere(subdivisions=5)
    faces = np.array(ball.faces, dtype=np.int32)
    rayrelief.write_mesh(folder / "mesh_Gt.ply", Mesh(ball.vertices * RADII + CENTRE, faces))
    matrix = [[CAMERA.fx, 0, CAMERA.cx], [0, CAMERA.fy, CAMERA.cy], [0, 0, 1.0]]
    poses = {f"Rc_{view}": rotation for view, (rotation, _) in POSES.items()}
    poses |= {f"Tc_{view}": translation for view, (_, translation) in POSES.items()}
    savemat(folder / "Calib_Results.mat", {"KK": np.array(matrix), "nx": WIDTH, **poses})
    for view in POSES:
        here = folder / f"view_{view:02d}"
        here.mkdir()
        depth, normals = exact_view(view)
        mask = np.isfinite(depth)
        write_png(here / "mask.png", (mask * 255).astype(np.uint8))
        noisy = with_rotation_noise(normals, 2.0, np.random.default_rng(view))
        stored = [np.where(mask[..., None], from_opencv(n, "opengl"), 0) for n in (normals, noisy)]
        savemat(here / "Normal_gt.mat", {"Normal_gt": stored[0]})
        name = f"{item}PNG_Normal_TIP19Li_view{view}.mat"
        savemat(root / "estNormal" / name, {"Normal_est": stored[1]})
    return folder


@pytest.fixture
def bear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of the object bear."""
    root = tmp_path / "data" / "diligent_mv"
    monkeypatch.delenv("RAYRELIEF_DILIGENT_MV", raising=False)
    monkeypatch.setenv("RAYRELIEF_DATA", str(root.parent))
    return write_object(root, "bear")


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
    assert compared.sum() > 0.98 * scene.mask.sum() > 300
    assert np.all(np.abs(scene.depth - depth)[compared] <= (0.02 / slant + 1e-3)[compared])
    cosines = np.einsum("hwi,hwi->hw", scene.normals, exact)[scene.mask]
    assert (cosines.min() > 1 - 1e-12) == (normals == "true_normals")
    assert cosines.mean() > 0.99
    assert scene.camera == CAMERA
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
    assert len(predicted) == len(set(predicted)) == 2 * len(METHODS) * len(NORMALS)
    assert "bear: 2 views, the paper has 20" in out
    assert "stable objects" not in out
    both = made(written(results))
    assert both["jumps on true normals"] < 0.2 < both["jumps on photometric stereo"]

    monkeypatch.setenv("RAYRELIEF_DILIGENT_MV", str(bear.parents[1]))
    monkeypatch.delenv("RAYRELIEF_DATA")
    single = []
    for view in POSES:
        hidden = bear / f"view_{3 - view:02d}"
        hidden.rename(bear / "hidden")
        main(arguments)
        single.append(made(written(results)))
        (bear / "hidden").rename(hidden)
    assert len(predicted) == 2 * len(METHODS) * len(NORMALS)  # all were in the cache
    for row, mean in both.items():
        assert mean == pytest.approx(np.mean([each[row] for each in single]), rel=1e-4)


def made(files: dict[str, bytes]) -> dict[str, float]:
    """MADE of the table, row by row."""
    _, *lines = files["paper-diligent_mv-bear-40_iterations.csv"].decode().splitlines()
    return {line.split(",")[0]: float(line.split(",")[3]) for line in lines}


def change_calibration(folder: Path, **changes: object) -> None:
    content = loadmat(folder / "Calib_Results.mat")
    kept = {key: value for key, value in content.items() if not key.startswith("__")}
    for key, value in changes.items():
        kept.pop(key) if value is None else kept.update({key: value})
    savemat(folder / "Calib_Results.mat", kept)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def without_faces(folder: Path) -> None:
    points = Mesh(np.eye(3), np.empty((0, 3), dtype=np.int32))
    rayrelief.write_mesh(folder / "mesh_Gt.ply", points)


def flip(path: Path) -> None:
    savemat(path, {"Normal_gt": loadmat(path)["Normal_gt"] * [1, -1, 1]})


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "no object": (shutil.rmtree, "bearPNG has no view"),
    "no calibration": (lambda f: (f / "Calib_Results.mat").unlink(), "Calib_Results.mat does not"),
    "no pose": (
        lambda f: change_calibration(f, Rc_2=None),
        "expected one array, or one named Rc_2",
    ),
    "shape": (lambda f: change_calibration(f, Tc_1=np.ones(4)), r"Tc_1 of .*the shape \(1, 4\)"),
    "skew": (lambda f: change_calibration(f, KK=np.triu(np.ones((3, 3)))), "has the skew 1"),
    "rotation": (lambda f: change_calibration(f, Rc_1=2 * np.eye(3)), "Rc_1 of .*is no rotation"),
    "pose": (
        lambda f: change_calibration(f, Tc_2=np.array([[300.0], [0], [250]])),
        r"the mesh is behind 0 of \d+ pixels of .*view_02",
    ),
    "no mesh": (lambda f: (f / "mesh_Gt.ply").unlink(), "mesh_Gt.ply does not exist"),
    "cut mesh": (lambda f: cut(f / "mesh_Gt.ply"), "mesh_Gt.ply is damaged or cut off"),
    "no PLY": (lambda f: (f / "mesh_Gt.ply").write_text("solid"), "mesh_Gt.ply is damaged"),
    "points": (without_faces, "mesh_Gt.ply has no faces"),
    "no mask": (lambda f: (f / "view_01" / "mask.png").unlink(), "mask.png does not exist"),
    "cut normals": (lambda f: cut(f / "view_02" / "Normal_gt.mat"), "Normal_gt.mat is damaged"),
    "axes": (lambda f: flip(f / "view_01" / "Normal_gt.mat"), r"differ by \d+ degrees"),
    "no estimate": (
        lambda f: shutil.rmtree(f.parents[1] / "estNormal"),
        "bearPNG_Normal_TIP19Li_view1.mat does not exist",
    ),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGE.values(), ids=DAMAGE)
def test_broken_folder_gives_one_line(
    bear: Path, results: Path, damage: Callable[[Path], object], message: str
) -> None:
    damage(bear)
    with pytest.raises(SystemExit, match=message) as refusal:
        main(["diligent_mv", "--objects", "bear", "--output", str(results)])
    text = str(refusal.value)
    assert text.startswith("error: ")
    assert "\n" not in text


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
