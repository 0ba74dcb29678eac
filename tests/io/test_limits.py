"""What the head of a file declares is checked before it is decoded; what is missing is missed."""

from __future__ import annotations

import struct
import tracemalloc
import zipfile
import zlib

import cv2
import numpy as np
import pytest
import scipy.io

from fuzz.seeds import all_seeds, mat_file, npy_file
from rayrelief.datasets.folder import read_scene
from rayrelief.errors import FileError, InputError
from rayrelief.io import encoding, sources
from rayrelief.io import normals as normal_files
from rayrelief.io.arrays import read_array
from rayrelief.io.exr import write_exr
from rayrelief.io.images import DECLARED, write_png
from rayrelief.io.tiff_tags import declared_values
from rayrelief.synthetic.gallery import sphere

SHAPE = (400, 500, 3)


def write_all(folder):
    import cv2
    from scipy.io import savemat

    image = np.random.default_rng(0).integers(0, 255, SHAPE, np.uint8)
    np.save(folder / "a.npy", image)
    np.savez_compressed(folder / "a.npz", normals=image)
    savemat(folder / "a.mat", {"normals": image}, do_compression=True)
    savemat(folder / "b.mat", {"normals": image})
    write_exr(folder / "a.exr", {c: image[..., i] for i, c in enumerate("RGB")})
    write_png(folder / "a.png", image)
    for suffix in (".jpg", ".tif"):
        (folder / f"a{suffix}").write_bytes(bytes(cv2.imencode(suffix, image)[1]))
    return sorted(folder.iterdir())


def test_every_format_asks_for_room_before_it_decodes(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "SMALL", 0)
    for path in write_all(tmp_path):
        assert read_array(path).shape == SHAPE
        monkeypatch.setattr(sources, "memory_available", lambda: 5_000_000)
        with pytest.raises(FileError, match=r"needs \d+ MB of memory to be read, but 5 MB"):
            read_array(path)
        monkeypatch.undo()
        monkeypatch.setattr(sources, "SMALL", 0)


@pytest.mark.parametrize("kind", ["II", "MM", "big"])
def test_tags_of_every_byte_order(kind):
    order = ">" if kind == "MM" else "<"
    tags = [(256, 7), (257, 5), (258, 16), (259, 1), (273, 8), (277, 1), (278, 5), (279, 70)]
    pixels, big = bytes(70), kind == "big"
    head = b"II+\x00\x08\x00\x00\x00" if big else (b"MM\x00*" if kind == "MM" else b"II*\x00")
    start = 16 if big else 8
    tags[4] = (273, start)
    head += struct.pack(order + ("Q" if big else "I"), start + len(pixels))
    form = order + ("HHQQ" if big else "HHII")
    kind_of_value = 16 if big else 4
    entries = b"".join(struct.pack(form, tag, kind_of_value, 1, value) for tag, value in tags)
    directory = struct.pack(order + ("Q" if big else "H"), len(tags)) + entries
    assert declared_values(head + pixels + directory) == ((5, 7, 1), 2)
    with pytest.raises(ValueError, match="cut off"):
        declared_values(head + pixels + directory[:-9])


def test_a_tiff_with_fewer_rows_than_it_declares_is_refused(tmp_path):
    from fuzz.hostile import hostile_files

    data = next(seed.data for seed in hostile_files() if seed.name == "short.tif")
    (tmp_path / "short.tif").write_bytes(data)
    with pytest.raises(FileError, match="288 of 576 bytes"):
        read_array(tmp_path / "short.tif")


@pytest.mark.parametrize(("kind", "name"), [(4, "twice"), (9, "of the type 9")])
def test_a_tiff_whose_decoder_may_believe_another_size_is_refused(tmp_path, kind, name):
    """Libtiff takes the first of two tags, also one of a signed type."""
    image = bytes(cv2.imencode(".tif", np.ones((12, 16), np.uint8))[1])
    (start,) = struct.unpack_from("<I", image, 4)
    (entries,) = struct.unpack_from("<H", image, start)
    directory = struct.pack("<HHHII", entries + 1, 256, kind, 1, 8) + image[start + 2 :]
    path = tmp_path / "a.tif"
    path.write_bytes(image[:4] + struct.pack("<I", len(image)) + image[8:] + directory)
    with pytest.raises(FileError, match=f"the tag 256 .*{name}"):
        read_array(path)


@pytest.mark.parametrize("marker", [0x00, 0x01, 0xD0, 0xD7, 0xD9])
def test_a_jpeg_with_a_marker_that_hides_its_size_is_refused(tmp_path, marker):
    """Decoders go on right behind a marker that has no length."""
    image = bytes(cv2.imencode(".jpg", np.ones((12, 16, 3), np.uint8))[1])
    hidden = b"\xff\xfe" + struct.pack(">H", 0xFFFE - 2) + bytes(0xFFFE - 4)
    path = tmp_path / "a.jpg"
    path.write_bytes(image[:2] + bytes((0xFF, marker)) + hidden + image[2:])
    with pytest.raises(FileError, match="the size of the image is missing"):
        read_array(path)


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "JPEG"])
def test_an_image_of_another_shape_than_it_declares_is_refused(tmp_path, monkeypatch, kind):
    path = tmp_path / f"a.{kind.lower()}"
    path.write_bytes(bytes(cv2.imencode(path.suffix, np.ones((12, 16), np.uint8))[1]))
    assert read_array(path).shape == (12, 16)
    monkeypatch.setitem(DECLARED, kind, lambda _: ((12, 8, 1), 1))
    with pytest.raises(FileError, match=r"declares \(12, 8\) rows and columns, and has \(12, 16"):
        read_array(path)


def test_an_array_that_is_longer_than_its_file_is_refused_by_its_head(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 2, 3)))
    data = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(data.replace(b"(2, 2, 3)", b"(9, 2, 3)"))
    with pytest.raises(FileError, match=r"96 bytes for float64 values of the shape \(9, 2, 3\)"):
        read_array(tmp_path / "a.npy")


@pytest.mark.parametrize(
    ("method", "content", "found"),
    [
        (zipfile.ZIP_BZIP2, npy_file(np.ones(4)), "by the method 12 of ZIP"),
        (zipfile.ZIP_LZMA, npy_file(np.ones(4)), "by the method 14 of ZIP"),
        (zipfile.ZIP_DEFLATED, bytes(50_000_000), "magic string is not correct"),
        (zipfile.ZIP_DEFLATED, npy_file(np.ones(4)) + bytes(50_000_000), "50000032 bytes for"),
        (
            zipfile.ZIP_DEFLATED,
            b"\x93NUMPY\x02\x00" + struct.pack("<I", 50_000_000) + bytes(50_000_000),
            "expected 50000000 bytes",
        ),
    ],
)
def test_a_member_of_an_archive_that_is_no_array_is_refused_unread(
    tmp_path, method, content, found
):
    with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as archive:
        archive.writestr("normals.npy", content)
    tracemalloc.start()
    try:
        with pytest.raises(FileError, match=found):
            read_array(tmp_path / "a.npz")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000


def test_decompression_ends_at_the_declared_size(tmp_path):
    """16 values, whose stream goes on with 100 MB."""
    scipy.io.savemat(tmp_path / "a.mat", {"a": np.ones((4, 4))})
    data = (tmp_path / "a.mat").read_bytes()
    packed = zlib.compress(data[128:] + bytes(100_000_000))
    (tmp_path / "a.mat").write_bytes(data[:128] + struct.pack("<II", 15, len(packed)) + packed)
    tracemalloc.start()
    try:
        np.testing.assert_array_equal(read_array(tmp_path / "a.mat"), np.ones((4, 4)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000


@pytest.mark.parametrize("twice", [False, True])
def test_chunks_of_hdf5_that_hold_more_than_their_values_are_refused(tmp_path, twice):
    h5py = pytest.importorskip("h5py")
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_chunk((16,))
    for _ in range(1 + twice):
        plan.set_deflate(9)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        space = h5py.h5s.create_simple((16,))
        array = h5py.h5d.create(file.id, b"a", h5py.h5t.NATIVE_UINT8, space, plan)
        content = zlib.compress(bytes(16 if twice else 10_000_000))
        array.write_direct_chunk((0,), zlib.compress(content) if twice else content)
    found = "a filter of HDF5 twice" if twice else "of 16 bytes of a chunk"
    with pytest.raises(FileError, match=found):
        read_array(tmp_path / "a.h5")


def test_chunks_of_hdf5_that_are_not_all_there_are_refused(tmp_path):
    """HDF5 would fill them with what the memory held before, or take minutes."""
    h5py = pytest.importorskip("h5py")
    path, values = tmp_path / "a.h5", np.ones((12, 16, 3))
    with h5py.File(path, "w") as file:
        chunked = file.create_dataset("a", data=values, chunks=(12, 16, 3), compression="gzip")
        chunked.id.write_direct_chunk((0, 0, 0), zlib.compress(bytes(800)))
    with pytest.raises(FileError, match="800 of 4,608 bytes of a chunk"):
        read_array(path)
    with h5py.File(path, "w") as file:
        file.create_dataset("a", data=values, compression="lzf")
    with pytest.raises(FileError, match=r"the filters \[32000\] of HDF5"):
        read_array(path)
    with h5py.File(path, "w") as file:
        file.create_dataset("a", (8000, 8000, 3), "u1", chunks=(1, 1, 3))
    with pytest.raises(FileError, match="64,000,000 chunks"):
        read_array(path)


@pytest.mark.parametrize("options", [{}, {"shuffle": True, "fletcher32": True}])
@pytest.mark.parametrize("values", [np.ones((30, 20, 3)), np.random.default_rng(0).random((9, 7))])
def test_chunks_of_hdf5_are_read(tmp_path, options, values):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        options = options | {"compression": "gzip", "chunks": (5, 5, 3)[: values.ndim]}
        file.create_dataset("a", data=values, **options)
    np.testing.assert_array_equal(read_array(tmp_path / "a.h5"), values)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
def test_a_tiff_that_does_not_say_how_many_channels_it_has_is_refused(tmp_path, dtype):
    _, image = cv2.imencode(".tif", np.ones((12, 16, 3), dtype), (cv2.IMWRITE_TIFF_COMPRESSION, 1))
    entry = bytes(image).rindex(struct.pack("<HHI", 277, 3, 1))
    data = bytes(image)[:entry] + struct.pack("<H", 65000) + bytes(image)[entry + 2 :]
    (tmp_path / "a.tif").write_bytes(data)
    with pytest.raises(FileError, match="1 of 3 channels"):
        read_array(tmp_path / "a.tif")


def test_exr_prints_nothing_for_a_damaged_file(tmp_path, capfd):
    seed = next(seed for seed in all_seeds(tmp_path) if seed.name == "normals.exr")
    (tmp_path / "cut.exr").write_bytes(seed.data[: len(seed.data) * 2 // 3])
    with pytest.raises(FileError, match="damaged"):
        read_array(tmp_path / "cut.exr")
    assert capfd.readouterr().out == ""


def test_an_empty_path_is_not_the_current_folder():
    with pytest.raises(InputError, match="a path that is empty"):
        read_scene("")


@pytest.mark.parametrize("name", ["a\0b.npy", "a\0b.txt", "a\0b.png"])
def test_a_null_character_in_a_path_is_refused(tmp_path, name):
    import rayrelief

    with pytest.raises(FileError):
        rayrelief.read_scene(tmp_path / name, convention="opencv", camera="fov:50")
    with pytest.raises(FileError):
        rayrelief.read_camera(tmp_path / name)
    with pytest.raises(FileError):
        rayrelief.write_depth(str(tmp_path / name).replace(".txt", ".npy"), np.ones((2, 2)), "z")


def test_reading_takes_less_than_forty_bytes_per_pixel_beyond_the_result(tmp_path, monkeypatch):
    import tracemalloc

    from scipy.io import savemat

    for module in (encoding, normal_files):  # pixels of which copies are made, however large it is
        monkeypatch.setattr(module, "SAMPLE", 10_000)
    scene = sphere(500, 600)
    normals = np.where(scene.mask[..., None], scene.normals, 0.0)
    colours = (normals + 1) / 2
    np.save(tmp_path / "double.npy", normals)
    np.save(tmp_path / "single.npy", normals.astype(np.float32))
    np.save(tmp_path / "between_0_and_1.npy", colours)
    np.save(tmp_path / "components_first.npy", np.moveaxis(normals, 2, 0).copy())
    np.savez_compressed(tmp_path / "packed.npz", normals=normals)
    savemat(tmp_path / "packed.mat", {"Normal_gt": normals}, do_compression=True)
    write_exr(tmp_path / "single.exr", {axis: normals[..., i] for i, axis in enumerate("XYZ")})
    write_png(tmp_path / "eight.png", np.rint(255 * colours).astype(np.uint8))
    write_png(tmp_path / "sixteen.png", np.rint(65535 * colours).astype(np.uint16))
    taken = {}
    for path in sorted(tmp_path.iterdir()):
        tracemalloc.start()
        found = read_scene(path, convention="opencv", camera="fov:50", check_convention=False)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        taken[path.name] = (peak - found.normals.nbytes - found.mask.nbytes) / found.mask.size
    assert max(taken.values()) < 40, taken
    assert min(taken.values()) > 5, "all of it was seen"


def test_an_image_that_is_to_be_turned_is_read(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    path = tmp_path / "turned.tif"
    by_a_quarter = [(274, "H", 1, 6, True)]
    tifffile.imwrite(path, np.zeros((20, 30, 3), np.uint16), extratags=by_a_quarter)
    assert read_array(path).shape == (30, 20, 3)


def test_an_element_of_matlab_that_is_compressed_twice_is_refused(tmp_path):
    data = mat_file({"normals": np.ones((2, 2, 3))}, compressed=True)
    twice = zlib.compress(data[128:])
    path = tmp_path / "twice.mat"
    path.write_bytes(data[:128] + struct.pack("<II", 15, len(twice)) + twice)
    with pytest.raises(FileError, match="an element of the unknown type 15"):
        read_array(path)
