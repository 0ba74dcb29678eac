"""K.txt: two orders under one name, and every way to get it wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration import KOrder, Request, read_calibration, read_camera
from rayrelief.cameras.calibration.k_txt import choose_order, write
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.errors import CameraError, FileError, InputError

HEIGHT, WIDTH = 512, 612
BEAR = Pinhole(3772, 3759, 305.875, 255.125)
NEW = "3772 0 305.875\n0 3759 255.125\n0 0 1\n"
OLD = "3759 0 255.875\n0 3772 305.875\n0 0 1\n"
OTHER_ORDER: dict[KOrder, KOrder] = {"opencv": "legacy", "legacy": "opencv"}


@pytest.fixture
def k_txt(tmp_path):
    def write(text):
        path = tmp_path / "K.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.mark.parametrize(("text", "order"), [(NEW, "OpenCV order"), (OLD, "old BiNI order")])
def test_both_orders_describe_one_camera(k_txt, text, order):
    reading = read_calibration(k_txt(text), Request(HEIGHT, WIDTH))
    camera, (_, note) = reading.camera, reading.notes
    assert camera == BEAR
    for words in (order, "detected", "612x512", "fx = 3772", "cy = 255.125", "--k-order"):
        assert words in note


@pytest.mark.parametrize(("text", "order"), [(NEW, "opencv"), (OLD, "legacy")])
def test_a_requested_order_is_obeyed(k_txt, text, order):
    path = k_txt(text)
    reading = read_calibration(path, Request(HEIGHT, WIDTH, k_order=order))
    camera, (_, note) = reading.camera, reading.notes
    assert camera == BEAR
    assert "as requested" in note
    camera, _ = choose_order(path, np.loadtxt(path), HEIGHT, WIDTH, OTHER_ORDER[order])
    assert camera != BEAR


def test_the_old_order_is_not_that_of_opencv(k_txt):
    words = r"middle of an image of 512x612, for the 612x512 image .* rotated .*--k-order legacy"
    with pytest.raises(FileError, match=words):
        read_camera(k_txt(OLD), height=HEIGHT, width=WIDTH, k_order="opencv")


@given(
    st.floats(100, 5000),
    st.floats(100, 5000),
    st.floats(-20, 20),
    st.floats(-20, 20),
    st.sampled_from([(480, 640), (640, 480), (1080, 1920)]),
    st.booleans(),
)
def test_either_order_is_detected_near_the_centre(fx, fy, du, dv, shape, legacy):
    height, width = shape
    cx, cy = (width - 1) / 2 + du, (height - 1) / 2 + dv
    K = np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1]])
    if legacy:
        K = np.array([[fy, 0, height - 1 - cy], [0, fx, cx], [0, 0, 1]])
    camera, _ = choose_order(Path("K.txt"), K, height, width, "auto")
    expected = (fx, fy, cx, cy)
    np.testing.assert_allclose((camera.fx, camera.fy, camera.cx, camera.cy), expected, rtol=1e-12)


def test_a_square_image_decides_nothing(k_txt):
    reading = read_calibration(k_txt(OLD), Request(560, 560))
    camera, (_, note) = reading.camera, reading.notes
    assert camera == Pinhole(3759, 3772, 255.875, 305.875)
    assert "assumed" in note
    assert "k_order='legacy'" in note


def test_an_unknown_image_size_means_opencv_order(k_txt):
    reading = read_calibration(k_txt(NEW), Request(None, None))
    camera, (_, note) = reading.camera, reading.notes
    assert camera == BEAR
    assert "image size is not known" in note
    with pytest.raises(InputError, match="without the height of the image"):
        read_camera(k_txt(OLD), height=None, width=None, k_order="legacy")


def test_an_unknown_order_is_refused(k_txt):
    with pytest.raises(InputError, match=r"k_order='bini'.*'auto', 'opencv'.*Leave it out"):
        read_camera(k_txt(NEW), height=HEIGHT, width=WIDTH, k_order="bini")  # type: ignore[arg-type]


def test_commas_comments_and_a_byte_order_mark_are_fine(k_txt):
    text = "\ufeff# from calibration\n3772, 0, 305.875\n\n0, 3759, 255.125\n0, 0, 1"
    assert read_camera(k_txt(text), height=HEIGHT, width=WIDTH) == BEAR


@given(st.floats(15, 1e6), st.floats(15, 1e6), st.floats(220, 400), st.floats(180, 285))
def test_savetxt_survives_bit_for_bit(tmp_path_factory, fx, fy, cx, cy):
    path = tmp_path_factory.mktemp("k") / "K.txt"
    np.savetxt(path, [[fx, 0, cx], [0, fy, cy], [0, 0, 1]])
    camera = read_camera(path, height=HEIGHT, width=WIDTH, k_order="opencv")
    assert camera == Pinhole(fx, fy, cx, cy)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        (" \n\t\n", "is empty"),
        (b"\xff\xfe\x00", "is not in a known calibration format"),
        ("fx 0 cx\n0 fy cy\n0 0 1", "'fx' in line 1, which is not a finite number"),
        ("# K\n100 0 2\n\n0 up 2\n0 0 1", "'up' in line 4, which is not a finite number"),
        ("1 0 2\n0 1 2\n", "2 rows with 3, 3 entries"),
        ("1 0 2 0\n0 1 2 0\n0 0 1 0\n", "3 rows with 4, 4, 4 entries"),
        ("1 0 2 0 1 2 0 0 1", "1 rows with 9 entries"),
        ("0 0 2\n0 0 2\n0 0 1", "singular"),
        ("100 0 2\n0 0 2\n0 0 1", "singular"),
        ("-100 0 2\n0 100 2\n0 0 1", "focal lengths that are not positive, -100 and 100"),
        ("1e308 0 2\n0 1e308 2\n0 0 1", "focal lengths fx = 1e"),
        ("100 0 2\n3 100 2\n0 0 1", "the number 3 below the diagonal"),
        (".8 0 .5\n0 1.1 .5\n0 0 1", "focal lengths of 0.8 and 1.1 pixels .* look normalised"),
        ("100 0 2\n0 100 2\n0 0 2", "last row 0 0 2"),
        ("100 0 0\n0 100 0\n306 256 1", r"last row 306 256 1; .* transposed: .* K\.T\)"),
        ("100 0 nan\n0 100 2\n0 0 1", "'nan' in line 1, which is not a finite number"),
        ("100 0 2\n0 100 inf\n0 0 1", "'inf' in line 2, which is not"),
        ("1_000 0 306\n0 1000 256\n0 0 1", "'1_000' in line 1, which is not a finite number"),
        ("[[100 0 2]\n [0 100 2]\n [0 0 1]]", r"'\[\[100' in line 1, which is not a finite"),
        ("100 0 2000\n0 100 256\n0 0 1", "far outside the 612x512 image .* this resolution"),
        ("100 0 306\n0 100 -600\n0 0 1", "far outside"),
    ],
)
def test_every_broken_file_gives_one_clear_message(k_txt, text, words):
    with pytest.raises(FileError, match=words) as caught:
        read_camera(k_txt(text), height=HEIGHT, width=WIDTH, k_order="opencv")
    assert "K.txt" in caught.value.found
    assert caught.value.expected
    assert caught.value.remedy


def test_skew_is_kept(k_txt):
    path = k_txt("100 3 300\n0 110 250\n0 0 1")
    assert read_camera(path, height=HEIGHT, width=WIDTH) == Pinhole(100, 110, 300, 250, skew=3)
    with pytest.raises(FileError, match="skew 3"):
        read_camera(path, height=HEIGHT, width=WIDTH, k_order="legacy")


@given(st.floats(15, 1e6), st.floats(15, 1e6), st.floats(-600, 600), st.floats(-9, 9))
def test_what_is_written_is_read(tmp_path_factory, fx, fy, cx, skew):
    path = tmp_path_factory.mktemp("k") / "K.txt"
    camera = Pinhole(fx, fy, cx, 77.7, skew=skew)
    write(path, camera)
    assert read_camera(path, k_order="opencv") == camera


def test_a_lens_does_not_fit(tmp_path):
    with pytest.raises(CameraError, match="BrownConrady"):
        write(tmp_path / "K.txt", BrownConrady(9, 9, 0, 0, k1=0.1))
    assert not list(tmp_path.iterdir())


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(FileError, match=r"K\.txt does not exist"):
        read_camera(tmp_path / "K.txt", height=HEIGHT, width=WIDTH)
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(FileError, match=r"folder\.txt is a folder"):
        read_camera(tmp_path / "folder.txt", height=HEIGHT, width=WIDTH)
