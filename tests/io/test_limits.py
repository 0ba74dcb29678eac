"""What the head of a file declares is checked before it is decoded; what is missing is missed."""

from __future__ import annotations

import struct
import tracemalloc
import zlib

import cv2
import numpy as np
import pytest
import scipy.io

from fuzz.seeds import all_seeds
from rayrelief.datasets.folder import read_scene
from rayrelief.errors import FileError
from rayrelief.io import encoding, sources
from rayrelief.io import normals as normal_files
from rayrelief.io.arrays import read_array
from rayrelief.io.exr import write_exr
from rayrelief.io.images import write_png
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
    assert declared_values(head + pixels + directory) == (35, 2)
    with pytest.raises(ValueError, match="cut off"):
        declared_values(head + pixels + directory[:-9])


def test_a_tiff_with_fewer_rows_than_it_declares_is_refused(tmp_path):
    from fuzz.hostile import hostile_files

    data = next(seed.data for seed in hostile_files() if seed.name == "short.tif")
    (tmp_path / "short.tif").write_bytes(data)
    with pytest.raises(FileError, match="288 of 576 bytes"):
        read_array(tmp_path / "short.tif")


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
