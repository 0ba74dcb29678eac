"""How the values of a normal map stand for vectors: told from the map itself."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from rayrelief.conventions import from_opencv
from rayrelief.errors import FileError
from rayrelief.io.encoding import UNIT, _writer
from rayrelief.io.exr import write_exr
from rayrelief.io.images import write_png
from rayrelief.io.normals import check_bits, read_normals, with_fringe
from rayrelief.synthetic import GALLERY

SCENE = GALLERY["sphere"](96, 128)
INSIDE = SCENE.mask
NORMALS = from_opencv(SCENE.normals, "opengl")  # NaN outside


def worst(path):
    """Largest error of a component, inside."""
    file = read_normals(path)
    length = np.linalg.norm(file.normals, axis=-1, keepdims=True)
    return np.abs(file.normals / length - NORMALS)[INSIDE].max(), file


def stored(values, background=0):
    return np.where(INSIDE[..., None], np.nan_to_num(values), background)


@pytest.mark.parametrize("axes", [(1, 1, 1), (-1, 1, -1), (1, -1, 1)])
@pytest.mark.parametrize(
    ("writer", "word"),
    [
        (lambda n: np.rint((n + 1) / 2 * 255), "value / 255 * 2 - 1"),
        (lambda n: np.floor((n + 1) / 2 * 255), "truncated"),
        (lambda n: np.rint(127 * n + 127), "127 as zero"),
        (lambda n: np.rint(127 * n + 128), "128 as zero"),
        (lambda n: np.minimum(np.rint(128 * n + 128), 255), "value / 128 - 1"),
    ],
)
def test_the_writer_of_8_bits_is_told(tmp_path, writer, word, axes):
    vectors = NORMALS * axes
    write_png(tmp_path / "n.png", stored(writer(vectors)).astype(np.uint8))
    file = read_normals(tmp_path / "n.png")
    assert word in file.notes[0]
    errors = (file.normals - vectors)[INSIDE]
    assert np.abs(errors.mean(axis=0)).max() < 3e-4  # a tenth of a half step
    assert np.abs(errors).max() < 1.02 / 127


@pytest.mark.parametrize("vectors", [0.994 * NORMALS, 0 * NORMALS + (0.6, 0.0, 0.8)])
def test_a_map_that_does_not_tell_the_writer_says_so(tmp_path, vectors):
    values = stored(np.floor((vectors + 1) / 2 * 255)).astype(np.uint8)
    write_png(tmp_path / "n.png", values)
    assert read_normals(tmp_path / "n.png").notes[0].endswith("this map does not tell")


@pytest.mark.parametrize("bits", [8, 10, 12, 14])
def test_fewer_bits_in_a_file_of_16_are_told(tmp_path, bits):
    values = stored(np.rint((NORMALS + 1) / 2 * (2**bits - 1))).astype(np.uint16)
    write_png(tmp_path / "n.png", values)
    with pytest.raises(FileError, match=f"of 65,535: {bits} bits.* 65535 / {2**bits - 1}"):
        read_normals(tmp_path / "n.png")
    write_png(tmp_path / "n.png", np.rint(values * (65535 / (2**bits - 1))).astype(np.uint16))
    error, _ = worst(tmp_path / "n.png")
    assert error < 1.02 / (2**bits - 1) * 2


def test_a_dark_map_of_16_bits_is_one(tmp_path):
    tilt = 0.05 * np.linspace(0, 1, 81).reshape(9, 9)
    dark = np.stack((-0.57 - tilt, -0.6 + tilt, -np.full((9, 9), 0.58)), axis=-1)  # all below 0
    dark /= np.linalg.norm(dark, axis=-1, keepdims=True)
    values = np.rint((dark + 1) / 2 * 65535).astype(np.uint16)
    assert values.max() < 2**14
    write_png(tmp_path / "n.png", values)
    np.testing.assert_allclose(read_normals(tmp_path / "n.png").normals, dark, atol=4e-5)


def test_an_srgb_curve_is_undone(tmp_path):
    colours = (NORMALS + 1) / 2
    curved = np.where(colours <= 0.0031308, 12.92 * colours, 1.055 * colours ** (1 / 2.4) - 0.055)
    write_png(tmp_path / "n.png", stored(np.rint(curved * 65535)).astype(np.uint16))
    error, file = worst(tmp_path / "n.png")
    assert error < 1e-3
    assert "sRGB" in file.notes[0]


@pytest.mark.parametrize("quality", [95, 75, 50])
def test_an_srgb_curve_is_undone_in_jpeg(tmp_path, quality):
    colours = (from_opencv(GALLERY["still_life"](192, 256).normals, "opengl") + 1) / 2
    curved = np.where(colours <= 0.0031308, 12.92 * colours, 1.055 * colours ** (1 / 2.4) - 0.055)
    stored_as = [cv2.IMWRITE_JPEG_QUALITY, quality]
    for name, values in (("curved", curved), ("plain", colours)):
        picture = np.rint(255 * values).astype(np.uint8)[..., ::-1]
        cv2.imwrite(str(tmp_path / f"{name}.jpg"), picture, stored_as)
    assert "sRGB" in read_normals(tmp_path / "curved.jpg").notes[0]
    assert "sRGB" not in read_normals(tmp_path / "plain.jpg").notes[0]


def test_a_grey_background_is_no_curve(tmp_path):
    grey = np.full((64, 64, 3), 127, np.uint8)
    middle = [side // 2 for side in INSIDE.shape]
    some = NORMALS[middle[0] - 6 : middle[0] + 6, middle[1] - 6 : middle[1] + 6]
    # Means of normals and background, where a map was resized.
    grey[20:32, 20:32] = np.rint((0.85 * some + 1) / 2 * 255)
    write_png(tmp_path / "n.png", grey)
    assert "sRGB" not in read_normals(tmp_path / "n.png").notes[0]


@pytest.mark.parametrize("blue", [0, 128, 255])
def test_z_is_restored_from_two_channels(tmp_path, blue):
    plane = np.clip(GALLERY["ellipsoid_inside"](40, 60).normals, -1, 1)
    vectors = from_opencv(plane, "opengl")
    colours = np.rint((vectors + 1) / 2 * 255)
    colours[..., 2] = blue
    write_png(tmp_path / "n.png", colours.astype(np.uint8))
    file = read_normals(tmp_path / "n.png")
    assert np.abs(file.normals - vectors).max() < 0.02
    np.save(tmp_path / "two.npy", vectors[..., :2])
    np.testing.assert_allclose(read_normals(tmp_path / "two.npy").normals, vectors, atol=1e-12)


@pytest.mark.parametrize("blue", [0, 128])
@pytest.mark.parametrize("bits", [8, 16])
def test_z_is_restored_beside_a_black_background(tmp_path, blue, bits):
    top = 2**bits - 1
    colours = np.rint((NORMALS + 1) / 2 * top)
    colours[..., 2] = blue * (top // 255)
    write_png(tmp_path / "n.png", stored(colours).astype(np.uint8 if bits == 8 else np.uint16))
    error, file = worst(tmp_path / "n.png")
    assert error < 0.1  # z of a grazing normal from 8 bits
    np.testing.assert_array_equal(~file.outside, INSIDE)


def test_x_in_alpha_and_y_in_green(tmp_path):
    vectors = from_opencv(GALLERY["ellipsoid_inside"](40, 60).normals, "opengl")
    x, y, _ = np.moveaxis(np.rint((vectors + 1) / 2 * 65535).astype(np.uint16), -1, 0)
    flat = np.zeros_like(x)
    write_png(tmp_path / "n.png", np.stack([flat, y, flat, x], axis=-1))
    assert np.abs(read_normals(tmp_path / "n.png").normals - vectors).max() < 1e-3


@pytest.mark.parametrize("background", [0, 127, 128, 255])
@pytest.mark.parametrize("suffix", [".png", ".jpg"])
def test_colours_of_a_background_are_outside(tmp_path, background, suffix):
    image = stored(np.rint((NORMALS + 1) / 2 * 255), background).astype(np.uint8)
    path = tmp_path / f"n{suffix}"
    path.write_bytes(cv2.imencode(suffix, image[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 90])[1])
    inside = ~read_normals(path).outside
    assert not np.any(inside & ~INSIDE)
    assert inside.sum() > (1.0 if suffix == ".png" else 0.9) * INSIDE.sum() - 1


@pytest.mark.parametrize("grey", [60, 200])
def test_a_grey_all_around_is_a_background_also_if_it_is_as_long_as_a_normal(tmp_path, grey):
    image = stored(np.rint((NORMALS + 1) / 2 * 255), grey).astype(np.uint8)
    write_png(tmp_path / "n.png", image)
    np.testing.assert_array_equal(~read_normals(tmp_path / "n.png").outside, INSIDE)


def test_an_opaque_alpha_channel_leaves_the_background_outside(tmp_path):
    image = stored(np.rint((NORMALS + 1) / 2 * 255), 230)
    opaque = np.concatenate([image, np.full((*INSIDE.shape, 1), 255)], axis=-1)
    write_png(tmp_path / "n.png", opaque.astype(np.uint8))
    file = read_normals(tmp_path / "n.png")
    assert file.mask is None
    np.testing.assert_array_equal(~file.outside, INSIDE)


@pytest.mark.parametrize("background", [-1.0, 1.0])
def test_vectors_of_a_decoded_background_are_outside(tmp_path, background):
    np.save(tmp_path / "n.npy", stored(NORMALS, background))
    np.testing.assert_array_equal(~read_normals(tmp_path / "n.npy").outside, INSIDE)


def test_colours_as_floats_may_leave_their_range_where_they_were_resized(tmp_path):
    colours = stored((NORMALS + 1) / 2)
    colours[2, 3] = (-0.02, 0.01, 1.03)
    np.save(tmp_path / "n.npy", colours)
    error, file = worst(tmp_path / "n.npy")
    assert error < 1e-9
    assert "2 * value - 1" in file.notes[0]


@pytest.mark.parametrize("shape", ["1,3,H,W", "1,H,W,3", "3,H,W", "float16"])
def test_layouts_of_arrays(tmp_path, shape):
    vectors = np.nan_to_num(NORMALS)
    arrays: dict[str, npt.NDArray[Any]] = {
        "1,3,H,W": np.moveaxis(vectors, -1, 0)[None],
        "1,H,W,3": vectors[None],
        "3,H,W": np.moveaxis(vectors, -1, 0),
        "float16": vectors.astype(np.float16),
    }
    np.save(tmp_path / "n.npy", arrays[shape])
    assert worst(tmp_path / "n.npy")[0] < 1e-3


def test_a_fourth_channel_of_floats_is_a_confidence(tmp_path):
    kappa = np.linspace(0, 20, INSIDE.size).reshape(INSIDE.shape)
    both = np.concatenate([np.nan_to_num(NORMALS), kappa[..., None]], axis=-1)
    np.save(tmp_path / "n.npy", np.moveaxis(both, -1, 0)[None])
    file = read_normals(tmp_path / "n.npy")
    assert file.mask is None
    assert file.confidence is not None
    np.testing.assert_allclose(file.confidence, kappa / 20)
    both[..., 3] = INSIDE
    np.save(tmp_path / "n.npy", both)
    file = read_normals(tmp_path / "n.npy")
    np.testing.assert_array_equal(file.mask, INSIDE)
    assert file.confidence is None


def test_a_map_with_an_empty_half_stays_whole(tmp_path):
    normals = stored(np.rint((NORMALS + 1) / 2 * 255))
    empty = np.zeros_like(normals)
    empty[5, 7] = 3
    both = np.concatenate([normals, empty], axis=1)
    write_png(tmp_path / "n.png", both.astype(np.uint8))
    assert read_normals(tmp_path / "n.png").normals.shape == both.shape


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("channels", [3, 4])
def test_normals_beside_a_photo_are_found(tmp_path, first, channels):
    photo = np.random.default_rng(0).integers(90, 200, (*INSIDE.shape, 3))
    normals = stored(np.rint((NORMALS + 1) / 2 * 255))
    if channels == 4:
        opaque = np.full((*INSIDE.shape, 1), 255)
        photo, normals = (np.concatenate([each, opaque], axis=-1) for each in (photo, normals))
    pair = [normals, photo] if first else [photo, normals]
    write_png(tmp_path / "n.png", np.concatenate(pair, axis=1).astype(np.uint8))
    error, file = worst(tmp_path / "n.png")
    assert error < 0.01
    assert "half" in file.notes[0]


def test_the_layer_of_a_rendering_is_found(tmp_path):
    layers = {"ViewLayer.Combined": "RGBA", "ViewLayer.Normal": "XYZ"}
    channels = {
        f"{layer}.{axis}": np.nan_to_num(NORMALS[..., min(k, 2)])
        * (1 if "Normal" in layer else 0.3)
        for layer, axes in layers.items()
        for k, axis in enumerate(axes)
    }
    channels["ViewLayer.Depth.Z"] = np.ones(INSIDE.shape)
    write_exr(tmp_path / "n.exr", channels)
    assert worst(tmp_path / "n.exr")[0] < 1e-6


def test_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py", reason="needs h5py, the extra 'hdf5'")
    with h5py.File(tmp_path / "n.hdf5", "w") as file:
        file["normals"] = (np.nan_to_num(NORMALS) + 1) / 2
        file["colors"] = np.zeros(3)
    assert worst(tmp_path / "n.hdf5")[0] < 1e-6


@pytest.mark.parametrize(
    "stored",
    [
        {"shape": (10**6, 10**6, 3), "dtype": "f4"},
        {"shape": (2, 2, 3), "dtype": "u1", "external": [("other.bin", 0, 12)]},
    ],
    ids=["declares more than fits into memory", "lies in another file"],
)
def test_hdf5_that_is_not_read(tmp_path, monkeypatch, stored):
    h5py = pytest.importorskip("h5py", reason="needs h5py, the extra 'hdf5'")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.bin").write_bytes(bytes(12))
    with h5py.File(tmp_path / "n.h5", "w") as file:
        file.create_dataset("normals", **stored)
    with pytest.raises(FileError, match=r"memory|other files"):
        read_normals(tmp_path / "n.h5")


def test_what_compression_mixed_up_to_three_pixels_from_the_background_is_outside():
    outside, normals = np.arange(20) < 10, np.tile((0.0, 0.0, 1.0), (8, 20, 1))
    normals[:, 10:13] *= 0.7
    found = with_fringe(np.tile(outside, (8, 1)), normals)
    np.testing.assert_array_equal(found, np.tile(np.arange(20) < 14, (8, 1)))


def test_a_map_of_16_bits_that_might_be_of_14_is_one_of_16(tmp_path):
    component = -(1.0 + 0.8 * UNIT) / np.sqrt(3.0)  # nearly of unit length in both
    value = round((component + 1) / 2 * 65535)
    assert value < 2**14
    assert abs(np.sqrt(3.0) * (2 * value / (2**14 - 1) - 1) - 1) < UNIT
    check_bits(tmp_path, np.full((20, 20, 3), value, np.uint16))


def test_a_few_flat_faces_do_not_tell_who_wrote_8_bits():
    rng = np.random.default_rng(0)
    for _ in range(100):
        faces = rng.normal(size=(5, 3))
        faces /= np.linalg.norm(faces, axis=-1, keepdims=True)
        colours = np.rint((np.repeat(faces, 100, axis=0) + 1) / 2 * 255)
        assert _writer(colours / 255 * 2 - 1) is None
