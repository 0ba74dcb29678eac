"""Normal maps from files: decoding, layout, background and refusals."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.errors import FileError
from rayrelief.io.exr import write_exr
from rayrelief.io.images import write_png
from rayrelief.io.masks import read_mask
from rayrelief.io.normals import read_normals


def dome(height=12, width=16):
    """Unit normals of a bulging surface, z towards the camera; x and y differ, none is zero."""
    v, u = np.mgrid[0:height, 0:width]
    normals = np.stack((u - width / 2 + 0.3, v - height / 2 + 0.3, np.full(u.shape, 6.0)), axis=-1)
    return normals / np.linalg.norm(normals, axis=-1, keepdims=True)


def encode(normals, dtype):
    return np.rint((normals + 1) / 2 * np.iinfo(dtype).max).astype(dtype)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("suffix", [".png", ".tif", ".npy"])
def test_integers_decode_to_half_a_step(tmp_path, suffix, dtype):
    path = tmp_path / f"n{suffix}"
    encoded = encode(dome(), dtype)
    if suffix == ".npy":
        np.save(path, encoded)
    else:
        path.write_bytes(cv2.imencode(suffix, encoded[..., ::-1])[1].tobytes())
    file = read_normals(path)
    top = np.iinfo(dtype).max
    assert file.normals.dtype == np.float64
    assert np.abs(file.normals - dome()).max() <= 1 / top * (1 + 1e-9)
    (note,) = file.notes
    assert f"{8 * encoded.itemsize}-bit" in note
    assert f"value / {top} * 2 - 1" in note
    assert file.mask is None


def test_integers_of_the_other_byte_order_are_read_as_those_of_this_one(tmp_path):
    mask = np.arange(24, dtype=">u2").reshape(4, 6) * 2000
    for order in "<>":
        np.save(tmp_path / f"{order}.npy", encode(dome(), np.uint16).astype(f"{order}u2"))
        np.save(tmp_path / f"mask{order}.npy", mask.astype(f"{order}u2"))
    for read, prefix in ((lambda path: read_normals(path).normals, ""), (read_mask, "mask")):
        first, second = (read(tmp_path / f"{prefix}{order}.npy") for order in "<>")
        np.testing.assert_array_equal(first, second)


def save_float(path, normals):
    if path.suffix == ".npy":
        np.save(path, normals)
    elif path.suffix == ".npz":
        np.savez(path, normals=normals, other=np.ones(3))
    elif path.suffix == ".mat":
        scipy.io.savemat(path, {"Normal_est": normals, "other": np.ones(3)})
    else:
        channels = {f"Normal.{axis}": normals[..., i] for i, axis in enumerate("XYZ")}
        write_exr(path, channels | {"R": normals[..., 0]})
    return path


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".mat", ".exr"])
def test_signed_floats_are_taken_as_they_are(tmp_path, suffix):
    normals = dome().astype(np.float32)
    file = read_normals(save_float(tmp_path / f"n{suffix}", normals))
    np.testing.assert_array_equal(file.normals, normals)
    (note,) = file.notes
    assert "*v" not in note


@pytest.mark.parametrize("suffix", [".npy", ".exr"])
def test_floats_encoded_in_the_unit_interval_are_decoded(tmp_path, suffix):
    file = read_normals(save_float(tmp_path / f"n{suffix}", (dome() + 1) / 2))
    np.testing.assert_allclose(file.normals, dome(), atol=2e-7)
    (note,) = file.notes
    assert "2 * value - 1" in note


@pytest.mark.parametrize("background", [0.0, 0.5, 1.0])
def test_a_grey_background_does_not_tell_how_floats_are_encoded(tmp_path, background):
    colours = np.full((24, 48, 3), background)
    colours[4:16, 8:24] = (dome() + 1) / 2
    np.save(tmp_path / "n.npy", colours)
    file = read_normals(tmp_path / "n.npy")
    np.testing.assert_allclose(file.normals[4:16, 8:24], dome(), atol=1e-12)
    assert file.outside.sum() == 24 * 48 - 12 * 16


@given(
    axis=st.sampled_from([(0, 0, 1), (0, 0.6, 0.8), (1, 0, 0)]),
    encoded=st.booleans(),
)
def test_wall_within_the_unit_interval_is_told_by_its_length(tmp_path_factory, axis, encoded):
    wall = np.tile(np.array(axis, dtype=np.float64), (4, 5, 1))
    path = tmp_path_factory.mktemp("wall") / "n.npy"
    np.save(path, (wall + 1) / 2 if encoded else wall)
    np.testing.assert_allclose(read_normals(path).normals, wall, atol=1e-15)


def test_components_on_the_first_axis_are_moved(tmp_path):
    np.save(tmp_path / "n.npy", np.moveaxis(dome(), -1, 0))
    file = read_normals(tmp_path / "n.npy")
    np.testing.assert_array_equal(file.normals, dome())
    assert "axis" in file.notes[0]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_alpha_becomes_the_mask(tmp_path, dtype):
    top = np.iinfo(dtype).max
    alpha = np.full((12, 16, 1), top, dtype)
    alpha[:3] = top // 2
    alpha[3] = top // 2 + 1
    write_png(tmp_path / "n.png", np.concatenate((encode(dome(), dtype), alpha), axis=-1))
    file = read_normals(tmp_path / "n.png")
    assert file.mask is not None
    np.testing.assert_array_equal(file.mask, np.arange(12)[:, None].repeat(16, 1) >= 3)
    assert np.isfinite(file.normals).all()


@pytest.mark.parametrize(
    ("dtype", "background"),
    [
        (np.uint8, (0, 0, 0)),
        (np.uint8, (127, 127, 127)),
        (np.uint8, (128, 128, 128)),
        (np.uint16, (0, 0, 0)),
        (np.uint16, (32768, 32767, 32768)),
    ],
)
def test_black_and_mid_grey_integers_carry_no_normal(tmp_path, dtype, background):
    encoded = encode(dome(), dtype)
    encoded[:2] = background
    encoded[2, 0] = (0, 0, np.iinfo(dtype).max)  # two black channels are still a vector
    write_png(tmp_path / "n.png", encoded)
    file = read_normals(tmp_path / "n.png")
    assert np.isnan(file.normals[:2]).all()
    assert np.isfinite(file.normals[2:]).all()
    assert "32 pixels" in file.notes[-1]


@pytest.mark.parametrize("encoded", [False, True])
def test_zero_and_nan_vectors_carry_no_normal(tmp_path, encoded):
    normals = (dome() + 1) / 2 if encoded else dome()
    normals[0] = 0.5 if encoded else 0.0
    normals[1] = 0.0
    normals[2, 0] = np.nan
    normals[2, 1, 2] = np.inf
    np.save(tmp_path / "n.npy", normals)
    with np.errstate(all="raise"):
        file = read_normals(tmp_path / "n.npy")
    missing = np.zeros((12, 16), bool)
    missing[:2] = True
    missing[2, :2] = True
    np.testing.assert_array_equal(np.isnan(file.normals).any(axis=-1), missing)
    np.testing.assert_array_equal(np.isnan(file.normals).all(axis=-1), missing)


def test_jpeg_is_noted(tmp_path):
    (tmp_path / "n.jpg").write_bytes(cv2.imencode(".jpg", encode(dome(), np.uint8))[1].tobytes())
    assert "JPEG compression reduces" in read_normals(tmp_path / "n.jpg").notes[-1]


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones((4, 5)), "is grey"),
        (np.ones((4, 5, 1)), "is grey"),
        (np.tile(np.arange(20.0).reshape(4, 5, 1), 3), "3 channels are equal"),
        (np.stack((np.ones((4, 5)), np.eye(4, 5)), axis=-1), "two channels"),
        (np.ones((4, 5, 4)), "3 channels are equal"),
        (np.ones((2, 3, 4, 5)), "shape"),
        (np.ones((5, 5, 6)), "shape"),
        (np.ones(3), "shape"),
        (np.zeros((0, 5, 3)), "shape"),
        (dome() * 127.5 + 127.5, r"floats from .* to .*between -1 and 1"),
        ((dome() * 127.5 + 127.5).astype(np.int64), "int64"),
        (dome() + 0j, "complex"),
        (np.tile(np.eye(4, dtype=np.bool_), (3, 1, 1)), "bool"),
        (np.full((4, 5, 3), (0, 0, np.nan)), "no normal"),
    ],
)
def test_what_is_no_normal_map_is_refused(tmp_path, array, message):
    path = tmp_path / "n.npy"
    np.save(path, array)
    with pytest.raises(FileError, match=message) as caught:
        read_normals(path)
    assert str(path) in str(caught.value)


def test_grey_png_is_refused(tmp_path):
    write_png(tmp_path / "n.png", np.arange(20, dtype=np.uint8).reshape(4, 5))
    with pytest.raises(FileError, match="is grey"):
        read_normals(tmp_path / "n.png")
