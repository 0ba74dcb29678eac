"""Camera matrices in NumPy's files: K.npy, and what OpenCV's tutorials save."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.io import savemat

from profiles import fewer_examples
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration import KOrder, Request, read_calibration, read_camera
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.ray_map import RayMap
from rayrelief.cameras.unified import Unified
from rayrelief.errors import FileError, InputError, RayreliefError

HEIGHT, WIDTH = 512, 612
NEW: list[list[float]] = [[3772, 0, 305.875], [0, 3759, 255.125], [0, 0, 1]]
OLD: list[list[float]] = [[3759, 0, 255.875], [0, 3772, 305.875], [0, 0, 1]]
BEAR = Pinhole(3772, 3759, 305.875, 255.125)

MTX = np.array([[500.5, 0, 319.25], [0, 501.5, 240.75], [0, 0, 1]])
LENS = [0.11, -0.22, 0.001, -0.002, 0.033, 0.12, -0.05, 0.02, 1e-3, 2e-3, -3e-3, 4e-4, 0.01, -0.02]
OTHER = {"a": MTX, "b": MTX}


def save(folder: Path, **arrays: Any) -> Path:
    np.savez(folder / "calib.npz", **arrays)
    return folder / "calib.npz"


def save_alone(folder: Path, name: str, array: Any, suffix: str) -> Path:
    """An array as a .npy file of this name, or under it in a .npz file."""
    if suffix == ".npz":
        return save(folder, **{name: array})
    np.save(folder / f"{name}.npy", array)
    return folder / f"{name}.npy"


# A 3x3 array alone


@pytest.mark.parametrize(
    ("matrix", "size", "order"),
    [
        *((matrix, (560, 560), order) for matrix in (NEW, OLD) for order in get_args(KOrder)),
        *((matrix, (HEIGHT, WIDTH), "auto") for matrix in (NEW, OLD)),
        *((NEW, (HEIGHT, WIDTH), order) for order in ("opencv", "legacy")),
        (OLD, (HEIGHT, WIDTH), "legacy"),
    ],
)
def test_a_matrix_is_read_as_if_it_were_text(
    tmp_path: Path, matrix: list[list[float]], size: tuple[int, int], order: KOrder
) -> None:
    np.savetxt(tmp_path / "K.txt", matrix)
    np.save(tmp_path / "K.npy", matrix)
    request = Request(*size, k_order=order)
    text, array = (read_calibration(tmp_path / name, request) for name in ("K.txt", "K.npy"))
    assert array.camera == text.camera
    assert [note.replace("K.npy", "K.txt", 1) for note in array.notes] == list(text.notes)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.longdouble, np.int64, np.uint16])
def test_a_matrix_of_any_real_type_is_read(tmp_path: Path, kind: type) -> None:
    np.save(tmp_path / "K.npy", np.array([[400, 0, 300], [0, 410, 250], [0, 0, 1]], kind))
    assert read_camera(tmp_path / "K.npy") == Pinhole(400, 410, 300, 250)


@pytest.mark.parametrize("name", ["K", "arr_0", "k"])
def test_the_order_of_a_lone_matrix_without_another_name_is_detected(
    tmp_path: Path, name: str
) -> None:
    request = Request(HEIGHT, WIDTH)
    assert read_calibration(save(tmp_path, **{name: OLD}), request).camera == BEAR


# A principal point off the middle of a wide image, which the old order would take to the middle.
OFF: list[list[float]] = [[800, 0, 200], [0, 810, 330], [0, 0, 1]]


@pytest.mark.parametrize("suffix", [".npz", ".npy"])
@pytest.mark.parametrize("name", ["mtx", "camera_matrix", "cameraMatrix", "intrinsics"])
def test_a_lone_matrix_of_opencv_is_in_its_order(tmp_path: Path, name: str, suffix: str) -> None:
    size = Request(480, 640)
    guessed = read_calibration(save_alone(tmp_path, "K", OFF, suffix), size)
    assert guessed.camera == Pinhole(810, 800, 330, 279)
    path = save_alone(tmp_path, name, OFF, suffix)
    reading = read_calibration(path, size)
    assert reading.camera == Pinhole(800, 810, 200, 330)
    assert f"in OpenCV order, as always for a matrix named {name};" in reading.notes[1]
    legacy = read_camera(path, height=480, width=640, k_order="legacy")
    assert legacy == Pinhole(810, 800, 330, 279)


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
@pytest.mark.parametrize("count", [1, 2, 300])
def test_a_stack_of_matrices_is_no_map_of_rays(tmp_path: Path, count: int, suffix: str) -> None:
    path = save_alone(tmp_path, "K", [NEW] * count, suffix)
    words = rf"{path.name} holds camera matrices, .* \({count}, 3, 3\); .* one matrix .*K\[0\]"
    with pytest.raises(FileError, match=words):
        read_camera(path)


def test_three_columns_of_rays_are_rays(tmp_path: Path) -> None:
    rays = Pinhole(9, 9, 1, 1).unit_rays(4, 3)
    np.save(tmp_path / "rays.npy", rays)
    np.testing.assert_allclose(read_camera(tmp_path / "rays.npy").unit_rays(4, 3), rays)


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        ([[np.nan, 0, 2], [0, 9, 2], [0, 0, 1]], "'nan' in row 1, which is not a finite number"),
        ([[9, 0, 2], [0, 9, np.inf], [0, 0, 1]], "'inf' in row 2, which is not a finite number"),
        ([[9j, 0, 2], [0, 9, 2], [0, 0, 1]], "'9j' in row 1, which is not a finite number"),
        (np.eye(3, dtype=bool), "'True' in row 1, which is not a finite number"),
        (np.zeros((3, 3)), "the last row 0 0 0"),
        ([[0, 0, 2], [0, 9, 2], [0, 0, 1]], "a singular matrix"),
        ([[9, 0, 2], [0, -9, 2], [0, 0, 1]], "focal lengths that are not positive, 9 and -9"),
        ([[9, 0, 2], [0, 9, 2]], r"an array of the shape \(2, 3\)"),
        (np.eye(4), r"an array of the shape \(4, 4\)"),
    ],
)
def test_what_is_no_camera_matrix_is_refused(tmp_path: Path, matrix: Any, words: str) -> None:
    np.save(tmp_path / "K.npy", matrix)
    with pytest.raises(FileError, match=rf"K\.npy holds {words}.*numpy\.save\('K\.npy', K\)"):
        read_camera(tmp_path / "K.npy")


def test_a_transposed_matrix_is_told(tmp_path: Path) -> None:
    np.save(tmp_path / "K.npy", np.transpose(NEW))
    words = r"the last row 305\.875 255\.125 1; .* transposed: .*numpy\.save\('K\.npy', K\.T\)"
    with pytest.raises(FileError, match=words):
        read_camera(tmp_path / "K.npy")


def test_a_matrix_of_matlab_may_count_from_1_and_is_not_read(tmp_path: Path) -> None:
    savemat(tmp_path / "K.mat", {"K": NEW})
    with pytest.raises(FileError, match=r"K\.mat.*\(3, 3\).*K\.txt"):
        read_camera(tmp_path / "K.mat")


# OpenCV's arrays


@pytest.mark.parametrize("shape", [(1, -1), (-1, 1), (-1,)], ids=["row", "column", "flat"])
@pytest.mark.parametrize("count", [4, 5, 8, 12, 14])
def test_every_lens_of_opencv_is_read(tmp_path: Path, count: int, shape: tuple[int, ...]) -> None:
    path = save(tmp_path, mtx=MTX, dist=np.reshape(LENS[:count], shape))
    reading = read_calibration(path, Request(480, 640))
    assert reading.camera == BrownConrady(500.5, 501.5, 319.25, 240.75, *LENS[:count])
    assert all(fact in reading.notes[0] for fact in ("calib.npz", "OpenCV"))
    assert any("k1, k2, p1, p2" in note for note in reading.notes) == (count == 4)


@pytest.mark.parametrize(
    ("matrix", "lens"),
    [
        *(("mtx", "dist"), ("camera_matrix", "dist_coeffs"), ("K", "D")),
        *(("cameraMatrix", "distCoeffs"), ("camera_matrix", "distortion_coefficients")),
    ],
)
def test_every_usual_name_is_known(tmp_path: Path, matrix: str, lens: str) -> None:
    path = save(tmp_path, **{"ret": 0.2, lens: LENS[:5], matrix: MTX})
    assert read_camera(path) == BrownConrady(500.5, 501.5, 319.25, 240.75, *LENS[:5])


def test_what_the_tutorial_saves_projects_as_opencv_does(tmp_path: Path) -> None:
    cv2 = pytest.importorskip("cv2")
    board = np.zeros((54, 3), np.float32)
    board[:, :2] = np.mgrid[:9, :6].T.reshape(-1, 2)
    truth = np.array([[620.0, 0, 311], [0, 615, 247], [0, 0, 1]])
    poses = [((0.3, -0.2, 0.1), (-4, -2, 12)), ((-0.4, 0.3, 0), (-3, -3, 10))]
    poses += [((0.1, 0.5, -0.2), (-5, -3, 14)), ((-0.2, -0.4, 0.3), (-4, -1, 11))]
    views = [
        cv2.projectPoints(board, np.array(turn), np.array(place, float), truth, np.array(LENS[:5]))
        for turn, place in poses
    ]
    seen = [points.astype(np.float32) for points, _ in views]
    _, mtx, dist, rvecs, tvecs = cv2.calibrateCamera(
        [board] * len(seen), seen, (640, 480), None, None
    )
    np.savez(tmp_path / "B.npz", mtx=mtx, dist=dist, rvecs=rvecs, tvecs=tvecs)
    camera = read_camera(tmp_path / "B.npz", height=480, width=640)
    for turn, place in zip(rvecs, tvecs, strict=True):
        points = board @ cv2.Rodrigues(turn)[0].T + place.ravel()
        expected = cv2.projectPoints(board, turn, place, mtx, dist)[0][:, 0]
        np.testing.assert_allclose(camera.project(points), expected, rtol=0, atol=1e-4)


def test_a_camera_without_a_size_serves_every_image_that_it_may_have_taken(tmp_path: Path) -> None:
    path = save(tmp_path, mtx=MTX, dist=LENS[:5])
    for height, width in ((480, 640), (500, 620)):
        camera = read_camera(path, height=height, width=width)
        assert camera.resolution is None
        assert camera.unit_rays(height, width).shape == (height, width, 3)
    with pytest.raises(FileError, match=r"calib\.npz.*640x482"):
        read_camera(path, height=240, width=320)


def test_a_size_beside_the_matrix_is_that_of_the_camera(tmp_path: Path) -> None:
    for size in (
        *({"image_size": (640, 480)}, {"image_width": 640, "image_height": 480}),
        {"width": 640, "height": 480},
    ):
        path = save(tmp_path, mtx=MTX, dist=np.zeros((1, 5)), **size)
        assert read_camera(path) == Pinhole(500.5, 501.5, 319.25, 240.75, size=(640, 480))


@pytest.mark.parametrize(
    "says",
    [
        *({"model": "fisheye"}, {"distortion_model": "equidistant"}, {"fisheye": True}),
        *({"fisheye_model": 1}, {"is_fisheye": 1.0}),
    ],
)
def test_a_file_may_say_that_its_lens_is_a_fisheye(tmp_path: Path, says: dict[str, Any]) -> None:
    path = save(tmp_path, K=MTX, D=np.reshape(LENS[:4], (4, 1)), **says)
    assert read_camera(path) == KannalaBrandt(500.5, 501.5, 319.25, 240.75, *LENS[:4])


@pytest.mark.parametrize("suffix", ["", "_left"])
def test_xi_makes_an_omnidirectional_camera(tmp_path: Path, suffix: str) -> None:
    lens = {f"K{suffix}": MTX, f"D{suffix}": LENS[:4], f"xi{suffix}": [[1.25]]}
    assert read_camera(save(tmp_path, **lens)) == Unified(
        500.5, 501.5, 319.25, 240.75, 1.25, *LENS[:4]
    )


def test_the_cameras_of_a_pair_are_told_apart(tmp_path: Path) -> None:
    second = MTX + np.diag([10, 20, 0])
    path = save(tmp_path, mtx_left=MTX, dist_left=LENS[:5], mtx_right=second, dist_right=LENS[:8])
    expected = BrownConrady(510.5, 521.5, 319.25, 240.75, *LENS[:8])
    assert read_camera(path, which="mtx_right") == expected
    with pytest.raises(FileError, match="mtx_left, mtx_right"):
        read_camera(path)


def test_only_what_describes_the_camera_is_loaded(tmp_path: Path) -> None:
    pickled = np.array([{"danger": 1}], dtype=object)
    path = save(tmp_path, mtx=MTX, dist=LENS[:5], rvecs=pickled, notes=pickled)
    assert isinstance(read_camera(path), BrownConrady)
    for lens in (pickled, None):
        words = r"array dist of .*calib\.npz holds pickled Python objects"
        with pytest.raises(FileError, match=words):
            read_camera(save(tmp_path, mtx=MTX, dist=lens))


@pytest.mark.parametrize("name", ["rays", "left.rays"])
def test_rays_go_before_a_matrix(tmp_path: Path, name: str) -> None:
    path = save(tmp_path, mtx=MTX, dist=LENS[:5], **{name: np.ones((4, 5, 3))})
    assert isinstance(read_camera(path), RayMap)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        (OTHER, r"calib\.npz holds the arrays a, b; expected a camera matrix mtx .* rays of the"),
        ({}, r"calib\.npz holds no array; expected a camera matrix mtx"),
        ({"k1": 0.1, "fx": 9.0}, r"calib\.npz holds the arrays k1, fx"),
        ({"mtx": MTX, "dist": LENS[:3]}, r"calib\.npz: dist holds 3 values; expected .*5 or 8"),
        ({"mtx": MTX, "dist": [np.nan] * 5}, r"calib\.npz: dist\[0\] is nan"),
        ({"mtx": MTX, "dist": np.zeros((2, 5))}, r"dist has 2 rows of 5 values"),
        ({"mtx": MTX[:2], "dist": LENS[:5]}, r"mtx has 2 rows of 3 values"),
        ({"mtx": MTX.T, "dist": LENS[:5]}, r"calib\.npz: mtx is 500\.5 .* transposed"),
        ({"mtx": MTX * 1j, "dist": LENS[:5]}, r"mtx\[0\]\[0\] is .*j"),
        ({"mtx": -MTX, "dist": LENS[:5]}, r"calib\.npz: mtx is"),
        ({"mtx": MTX, "distortion": LENS[:5]}, r"distortion is an unknown key"),
        ({"mtx": MTX, "k1": 0.1, "k2": 0.2}, r"calib\.npz: k1 is an unknown key"),
        ({"mtx": MTX, "p1": [0.1], "P2": np.eye(3, 4)}, r"calib\.npz: p1 is an unknown key"),
        ({"mtx": MTX, "coeffs": LENS[:5]}, r"calib\.npz: coeffs is an unknown key"),
        ({"K": MTX, "D_left": LENS[:5]}, r"calib\.npz: D_left is an unknown key"),
        ({f"a{i}": MTX for i in range(300)}, r"arrays a0, a1, .*a7, \.\.\. \(300 in all\);"),
    ],
)
def test_every_broken_file_gives_one_clear_message(
    tmp_path: Path, arrays: dict[str, Any], words: str
) -> None:
    with pytest.raises(FileError, match=words) as caught:
        read_camera(save(tmp_path, **arrays))
    assert caught.value.expected
    assert caught.value.remedy


@fewer_examples(50)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_damaged_file_gives_a_camera_or_an_error_in_words(tmp_path: Path, seed: int) -> None:
    data = save(tmp_path, mtx=MTX, dist=LENS[:5], tvecs=np.zeros((3, 3, 1))).read_bytes()
    random, path, refused = Random(seed), tmp_path / "damaged.npz", []
    for _ in range(150):
        broken = bytearray(data)
        for _ in range(random.randint(1, 4)):
            broken[random.randrange(len(data))] = random.randrange(256)
        path.write_bytes(broken[: random.choice((len(data), random.randrange(len(data))))])
        try:
            read_camera(path)
        except RayreliefError as error:
            refused.append(error.found)
    assert len(refused) > 50
    assert all("damaged.npz" in found for found in refused)


# What is asked of a file that leaves nothing to choose


@pytest.mark.parametrize("order", ["opencv", "legacy"])
def test_only_a_matrix_alone_has_an_order(tmp_path: Path, order: KOrder) -> None:
    np.save(tmp_path / "rays.npy", np.ones((4, 5, 3)))
    (tmp_path / "dsine.txt").write_text("500,501,320,240\n")
    for path in (save(tmp_path, mtx=MTX, dist=LENS[:5]), tmp_path / "rays.npy"):
        with pytest.raises(InputError, match=rf"k_order='{order}'.*--k-order"):
            read_camera(path, k_order=order)
    words = r"dsine\.txt, which holds: .*; expected a 3x3 camera matrix.* Leave it out"
    with pytest.raises(InputError, match=words):
        read_camera(tmp_path / "dsine.txt", k_order=order)


def test_a_camera_without_a_name_cannot_be_asked_for(tmp_path: Path) -> None:
    np.save(tmp_path / "K.npy", NEW)
    words = r"which='cam0' \(--which\) was given for .*K\.npy, .* several cameras"
    with pytest.raises(InputError, match=words):
        read_camera(tmp_path / "K.npy", which="cam0")
