"""One array from one file: formats, names inside files, and what is refused."""

from __future__ import annotations

import contextlib
import pickle
import struct
import zipfile
import zlib
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import OpenEXR
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rayrelief.errors import FileError, InputError
from rayrelief.io.arrays import READERS, read_array
from rayrelief.io.exr import read_attributes, write_exr
from rayrelief.io.images import silent_opencv, write_png


def assert_same(actual, expected):
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("arrays")


# Round trips


@pytest.mark.parametrize("dtype", ["bool", "u1", "u2", "i8", "f2", "f4", "f8", ">u2", ">f8"])
@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_numpy_files_keep_every_bit(tmp_path, suffix, dtype):
    array = np.arange(24).reshape(2, 3, 4).astype(dtype)
    path = tmp_path / f"a{suffix}"
    (np.save if suffix == ".npy" else np.savez)(path, array)
    assert_same(read_array(path), array.astype(array.dtype.newbyteorder("=")))


@pytest.mark.parametrize("compressed", [False, True])
def test_matlab_files_keep_every_bit(tmp_path, compressed):
    array = np.linspace(-1, 1, 24).reshape(2, 4, 3)
    scipy.io.savemat(tmp_path / "a.mat", {"Normal_gt": array}, do_compression=compressed)
    assert_same(read_array(tmp_path / "a.mat"), array)


@given(
    image=st.sampled_from([np.uint8, np.uint16]).flatmap(
        lambda dtype: st.sampled_from([(3, 5), (3, 5, 3), (3, 5, 4)]).flatmap(
            lambda shape: arrays(dtype, shape)
        )
    )
)
def test_png_round_trip(folder, image):
    write_png(folder / "a.png", image)
    assert_same(read_array(folder / "a.png"), image)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("suffix", [".tif", ".tiff", ".TIF"])
def test_tiff_is_read_in_rgb_order(tmp_path, suffix, dtype):
    rgb = np.arange(60).reshape(4, 5, 3).astype(dtype)
    path = tmp_path / f"a{suffix}"
    uncompressed = (cv2.IMWRITE_TIFF_COMPRESSION, 1)  # OpenCV 4.10 rounds floats otherwise
    path.write_bytes(cv2.imencode(".tif", rgb[..., ::-1], uncompressed)[1].tobytes())
    assert_same(read_array(path), rgb)


@pytest.mark.parametrize(
    ("dtype", "options", "found"),
    [
        (np.uint8, {"planarconfig": "separate"}, None),
        (np.uint8, {"planarconfig": "separate", "tile": (16, 16)}, "channels one after the other"),
        (np.uint16, {"planarconfig": "separate"}, "channels one after the other"),
        (np.float32, {"planarconfig": "separate"}, "channels one after the other"),
        (np.float16, {"planarconfig": "contig"}, "floats of 16 bits"),
        (np.float64, {"planarconfig": "contig"}, None),
    ],
)
def test_tiff_in_other_layouts_is_read_or_refused_by_name(tmp_path, dtype, options, found):
    """OpenCV decodes some of them to whatever the memory held before."""
    tifffile = pytest.importorskip("tifffile")
    rgb = np.arange(60).reshape(4, 5, 3).astype(dtype)
    stored = np.moveaxis(rgb, 2, 0) if options["planarconfig"] == "separate" else rgb
    tifffile.imwrite(tmp_path / "a.tif", stored, photometric="rgb", **options)
    if found is None:
        assert_same(read_array(tmp_path / "a.tif"), rgb)
    else:
        with pytest.raises(FileError, match=found):
            read_array(tmp_path / "a.tif")


def test_jpeg_is_read_in_rgb_order(tmp_path):
    rgb = np.full((16, 16, 3), (200, 100, 50), np.uint8)
    (tmp_path / "a.jpg").write_bytes(cv2.imencode(".jpg", rgb[..., ::-1])[1].tobytes())
    np.testing.assert_allclose(read_array(tmp_path / "a.jpg").astype(int), rgb, atol=2)


@pytest.mark.parametrize("moved", [True, False], ids=["since 4.13", "before"])
def test_opencv_is_silent_while_a_file_is_read_wherever_it_keeps_its_level(monkeypatch, moved):
    levels = [3]
    log = {"getLogLevel": lambda: levels[-1], "setLogLevel": levels.append}
    if moved:
        monkeypatch.setattr(cv2.utils, "logging", SimpleNamespace(**log), raising=False)
    else:
        monkeypatch.delattr(cv2.utils, "logging", raising=False)
        for name, function in log.items():
            monkeypatch.setattr(cv2, name, function, raising=False)
    with silent_opencv():
        assert levels == [3, 0]
    assert levels == [3, 0, 3]


def hand_made_png(rgb, bits):
    """A PNG file put together from the specification alone: one filter byte per row, big-endian."""
    height, width, _ = rgb.shape
    rows = b"".join(b"\0" + row.astype(f">u{bits // 8}").tobytes() for row in rgb)
    header = struct.pack(">IIBBBBB", width, height, bits, 2, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n"
    for kind, content in ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")):
        checksum = struct.pack(">I", zlib.crc32(kind + content))
        png += struct.pack(">I", len(content)) + kind + content + checksum
    return png


@pytest.mark.parametrize("bits", [8, 16])
def test_hand_made_png_keeps_all_bits_and_the_order_of_its_channels(tmp_path, bits):
    top = 2**bits - 1
    rgb = np.array([[[top, 1, 2], [3, top - 1, 4]], [[5, 6, top - 2], [7, 300 % top, 9]]])
    path = tmp_path / "a.png"
    path.write_bytes(hand_made_png(rgb, bits))
    assert_same(read_array(path), rgb.astype(f"u{bits // 8}"))
    write_png(tmp_path / "b.png", rgb.astype(f"u{bits // 8}"))
    assert_same(read_array(tmp_path / "b.png"), rgb.astype(f"u{bits // 8}"))


@pytest.mark.parametrize(
    ("names", "keys", "chosen"),
    [
        ("RGB", (), "RGB"),
        ("RGBA", (), "RGBA"),
        ("XYZ", (), "XYZ"),
        ("Z", (), "Z"),
        ("Y", (), "Y"),
        (("Normal.X", "Normal.Y", "Normal.Z"), (), ("Normal.X", "Normal.Y", "Normal.Z")),
        (("R", "G", "B", "Z"), ("Z",), "Z"),
        (("R", "G", "B", "Z"), ("RGB",), "RGB"),
        (("R", "G", "B", "A.X", "A.Y", "A.Z"), ("A",), ("A.X", "A.Y", "A.Z")),
        (("V.N.X", "V.N.Y", "V.N.Z", "V.D.Z"), ("N",), ("V.N.X", "V.N.Y", "V.N.Z")),
    ],
)
def test_exr_layers(tmp_path, names, keys, chosen):
    rng = np.random.default_rng(0)
    channels = {name: rng.normal(size=(3, 4)).astype(np.float32) for name in names}
    write_exr(tmp_path / "a.exr", channels)
    expected = np.stack([channels[name] for name in chosen], axis=-1)
    expected = expected[..., 0] if len(chosen) == 1 else expected
    assert_same(read_array(tmp_path / "a.exr", keys=keys), expected)


def test_exr_attributes_round_trip(tmp_path):
    write_exr(tmp_path / "a.exr", {"Z": np.ones((2, 3))}, {"purpose": "test", "number": 2.5})
    attributes = read_attributes(tmp_path / "a.exr")
    assert (attributes["purpose"], attributes["number"]) == ("test", 2.5)


def test_exr_that_stores_a_window_is_refused(tmp_path):
    header = {"displayWindow": (np.array([0, 0], np.int32), np.array([9, 9], np.int32))}
    OpenEXR.File(header, {"Z": np.ones((2, 3), np.float32)}).write(str(tmp_path / "a.exr"))
    with pytest.raises(FileError, match="only part of its image"):
        read_array(tmp_path / "a.exr")


def test_exr_to_a_path_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot be written"):
        write_exr(tmp_path / "file" / "a.exr", {"Z": np.ones((2, 3))})


def test_path_with_letters_beyond_ascii(tmp_path):
    image = np.arange(6, dtype=np.uint16).reshape(2, 3)
    for suffix, write in ((".png", write_png), (".exr", lambda p, a: write_exr(p, {"Z": a}))):
        path = tmp_path / f"höhe_深さ{suffix}"
        write(path, image)
        np.testing.assert_array_equal(read_array(path), image)


# Names inside files


def save_named(path, named):
    if path.suffix == ".npz":
        np.savez(path, **named)
    else:
        scipy.io.savemat(path, named)
    return path


@pytest.mark.parametrize("name", ["a.npz", "a.mat"])
def test_first_key_wins_else_the_only_array(tmp_path, name):
    one, two = np.ones((2, 2)), np.zeros((2, 2))
    path = save_named(tmp_path / name, {"one": one, "two": two})
    assert_same(read_array(path, keys=("absent", "two", "one")), two)
    with pytest.raises(FileError, match=r"one, two.*named x"):
        read_array(path, keys=("x",))
    with pytest.raises(FileError, match="one, two"):
        read_array(path)
    assert_same(read_array(save_named(path, {"other": one}), keys=("x",)), one)


# Refusals


def broken(path, data):
    path.write_bytes(data)
    return path


def test_unknown_suffix_lists_the_known_ones(tmp_path):
    for name in ("a.gif", "a"):
        with pytest.raises(FileError, match=r"\.npy, \.npz, \.mat, \.exr, \.png") as caught:
            read_array(tmp_path / name)
        assert name in str(caught.value)


@pytest.mark.parametrize("suffix", READERS)
def test_missing_empty_text_and_folder(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    with pytest.raises(FileError, match=f"a{suffix} does not exist"):
        read_array(path)
    with pytest.raises(FileError, match=f"a{suffix} is empty"):
        read_array(broken(path, b""))
    with pytest.raises(FileError, match=f"a{suffix} does not start like"):
        read_array(broken(path, b"<html>404 Not Found</html>" * 20))
    path.unlink()
    path.mkdir()
    with pytest.raises(FileError, match=f"a{suffix} is a folder"):
        read_array(path)


@pytest.mark.parametrize("name", ["masks", "masks.d"])
def test_a_folder_is_not_a_file_without_a_suffix(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(FileError, match=rf"{name} is a folder; expected one of \.npy"):
        read_array(tmp_path / name)


@pytest.fixture(scope="module")
def whole_files(tmp_path_factory):
    """One whole file of each kind, with enough content that a cut hurts."""
    folder = tmp_path_factory.mktemp("whole")
    values = np.random.default_rng(0).random((40, 30, 3))
    np.save(folder / "a.npy", values)
    np.savez(folder / "a.npz", values)
    np.savez_compressed(folder / "compressed.npz", values)
    scipy.io.savemat(folder / "a.mat", {"values": values})
    scipy.io.savemat(folder / "compressed.mat", {"values": values}, do_compression=True)
    write_exr(folder / "a.exr", dict(zip("RGB", np.moveaxis(values, -1, 0), strict=True)))
    write_png(folder / "a.png", (values * 65535).astype(np.uint16))
    for name, image in (
        ("a.tif", (values * 65535).astype(np.uint16)),
        ("float.tiff", values.astype(np.float32)),
        ("a.jpg", (values * 255).astype(np.uint8)),
    ):
        (folder / name).write_bytes(cv2.imencode(Path(name).suffix, image)[1].tobytes())
    return sorted(folder.iterdir())


@pytest.mark.parametrize("kept", [0.0, 0.001, 0.01, 0.1, 0.5, 0.9, 0.999])
def test_cut_off_files_are_refused_by_name(tmp_path, whole_files, kept):
    for whole in whole_files:
        data = whole.read_bytes()
        path = broken(tmp_path / whole.name, data[: min(int(kept * len(data)) + 1, len(data) - 1)])
        with pytest.raises(FileError) as caught:
            read_array(path)
        assert str(path) in str(caught.value)


@given(data=st.data())
def test_damaged_files_never_raise_anything_else(folder, whole_files, data):
    whole = data.draw(st.sampled_from(whole_files))
    content = bytearray(whole.read_bytes())
    near_start = st.integers(0, 300)
    anywhere = st.integers(0, len(content) - 1)
    for position in data.draw(st.lists(near_start | anywhere, min_size=1, max_size=5)):
        content[position] ^= 1 << data.draw(st.integers(0, 7))
    path = broken(folder / whole.name, bytes(content))
    with contextlib.suppress(FileError):  # where no checksum guards it, a changed value is read
        assert read_array(path).dtype != object


def test_damaged_png_is_never_read_as_if_whole(tmp_path, whole_files):
    (whole,) = (path for path in whole_files if path.suffix == ".png")
    data = bytearray(whole.read_bytes())
    data[len(data) // 2] ^= 1
    with pytest.raises(FileError, match="checksum"):
        read_array(broken(tmp_path / "a.png", bytes(data)))


def test_mislabelled_files_say_what_they_hold(tmp_path, whole_files):
    for whole in whole_files:
        suffix = ".exr" if whole.suffix == ".png" else ".png"
        path = broken(tmp_path / f"a{suffix}", whole.read_bytes())
        with pytest.raises(FileError, match=r"holds (NPY|NPZ|MAT|EXR|PNG|TIFF|JPEG) data"):
            read_array(path)


def test_matlab_7_3_says_how_to_save_again(tmp_path):
    header = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM"
    for data in (header + bytes(384) + b"\x89HDF\r\n\x1a\n", b"\x89HDF\r\n\x1a\n" + bytes(500)):
        with pytest.raises(FileError, match=r"7\.3.*-v7"):
            read_array(broken(tmp_path / "a.mat", data))


def test_matlab_element_of_an_unknown_type_is_refused(tmp_path):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"values": np.ones((40, 30))})
    data = bytearray(path.read_bytes())
    tag = data.index(struct.pack("<II", 9, 40 * 30 * 8))  # type 9: the values are doubles
    for kind in (8, 10, 11, 19, 300):  # numbers that the format does not define
        data[tag : tag + 2] = struct.pack("<H", kind)
        with pytest.raises(FileError, match=f"the unknown type {kind}"):
            read_array(broken(path, bytes(data)))


def test_matlab_cells_and_text_are_refused(tmp_path):
    for value in (np.array([1, "a"], dtype=object), "text", {"field": 1.0}):
        scipy.io.savemat(tmp_path / "a.mat", {"value": value})
        with pytest.raises(FileError, match="expected an array of numbers"):
            read_array(tmp_path / "a.mat")


class Touch:
    """Creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_pickles_are_refused_and_never_loaded(tmp_path):
    sign = tmp_path / "unpickled"
    objects = np.array([Touch(sign)], dtype=object)
    np.save(tmp_path / "a.npy", objects)
    np.savez(tmp_path / "a.npz", objects)
    for name in ("a.npy", "a.npz"):
        with pytest.raises(FileError, match="pickled Python objects"):
            read_array(tmp_path / name)
    bare = pickle.dumps(Touch(sign))
    for name in ("b.npy", "b.npz"):
        with pytest.raises(FileError, match="does not start like"):
            read_array(broken(tmp_path / name, bare))
    with zipfile.ZipFile(tmp_path / "c.npz", "w") as archive:
        archive.writestr("a", bare)
        archive.writestr("b.npy", bare)
    for key in ("a", "b"):
        with pytest.raises(FileError):
            read_array(tmp_path / "c.npz", keys=(key,))
    assert not sign.exists()
    pickle.loads(bare)
    assert sign.exists()  # the trap works


def test_pickle_beside_a_good_array_is_left_alone(tmp_path):
    good = np.ones((2, 2))
    np.savez(tmp_path / "a.npz", good=good, bad=np.array([Touch(tmp_path / "x")], dtype=object))
    assert_same(read_array(tmp_path / "a.npz", keys=("good",)), good)


@pytest.mark.parametrize(
    "image",
    [
        np.zeros((2, 3)),
        np.zeros((2, 3, 2), np.uint8),
        np.zeros(3, np.uint8),
        np.zeros((0, 3), np.uint8),
        np.zeros((2, 3, 3, 1), np.uint16),
    ],
)
def test_png_refuses_what_it_cannot_hold(tmp_path, image):
    with pytest.raises(InputError) as caught:
        write_png(tmp_path / "a.png", image)
    assert caught.value.remedy
    assert list(tmp_path.iterdir()) == []


def test_png_needs_its_suffix(tmp_path):
    with pytest.raises(FileError, match=r"one of \.png for a PNG image"):
        write_png(tmp_path / "a.jpg", np.zeros((2, 3), np.uint8))
