"""Valid files of every format that is read, as bytes, with what they are read as."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rayrelief.io.depth import write_depth
from rayrelief.io.exr import write_exr
from rayrelief.io.images import encode_png, swap_red_and_blue
from rayrelief.io.meshes import SUFFIXES, write_mesh
from rayrelief.mesh import Mesh
from rayrelief.synthetic.gallery import sphere
from reference.calibrations import FILES

Role = Literal["normals", "mask", "depth", "camera", "mesh", "report", "large"]
HEIGHT, WIDTH = 12, 16
REPORT: dict[str, Any] = {
    "rayrelief": "0",
    "scene": "sphere",
    "input": {"size": [WIDTH, HEIGHT]},
    "method": {"type": "RayPlane", "sharpness": 2.0},
    "status": {"cause": "converged"},
    "history": [{"number": 1, "change": 0.5}, {"number": 2, "change": 0.1}],
    "seconds": {"integrate": 0.5},
    "errors": {"made": 0.1},
    "files": ["depth.npy"],
}


@dataclass(frozen=True)
class Seed:
    """A file: its name, its content, and what it is read as."""

    name: str
    data: bytes
    role: Role


def all_seeds(folder: Path) -> list[Seed]:
    """One file of every format and kind; those that libraries write pass through a folder."""
    scene = sphere(HEIGHT, WIDTH)
    normals = np.where(scene.mask[..., None], scene.normals, 0.0)
    mask = scene.mask.astype(np.uint8) * 255
    eight = np.rint((normals + 1) / 2 * 255).astype(np.uint8)
    sixteen = np.rint((normals + 1) / 2 * 65535).astype(np.uint16)
    assert scene.depth is not None
    found = [Seed(name, _bytes(text), "camera") for name, text in FILES.values()]
    found += [Seed(f"map{i}.npy", npy_file(a), "normals") for i, a in enumerate((normals, eight))]
    found += [
        Seed("rgba.png", encode_png(np.dstack((eight, mask))), "normals"),
        Seed("sixteen.png", encode_png(sixteen), "normals"),
        Seed("mask.png", encode_png(mask), "mask"),
        Seed("mask.npy", npy_file(scene.mask), "mask"),
        Seed("normals.jpg", _encoded(".jpg", eight), "normals"),
        Seed("mask.jpg", _encoded(".jpg", mask), "mask"),
        Seed("eight.tif", _encoded(".tif", eight), "normals"),
        Seed("float.tiff", _encoded(".tiff", normals.astype(np.float32)), "normals"),
        Seed("sixteen.tif", _encoded(".tif", sixteen, (259, 1)), "normals"),
        Seed("mask.tif", _encoded(".tif", mask, (259, 8)), "mask"),
        Seed("normals.npz", npz_file(normals=normals, other=mask), "normals"),
        Seed("camera.npz", npz_file(mtx=np.diag((20.0, 20.0, 1.0)), dist=np.zeros(5)), "camera"),
        Seed("rays.npz", npz_file(rays=scene.camera.unit_rays(HEIGHT, WIDTH)), "camera"),
        Seed("rays.npy", npy_file(scene.camera.unit_rays(HEIGHT, WIDTH)), "camera"),
        Seed("K.npy", npy_file(np.array([[20.0, 0, 8], [0, 20, 6], [0, 0, 1]])), "camera"),
    ]
    for compressed in (False, True):
        several: dict[str, Any] = {"Normal_gt": normals, "n": {"a": 1}, "text": "abc"}
        name = f"normals{int(compressed)}.mat"
        found.append(Seed(name, mat_file(several, compressed), "normals"))
    tangents = {f"ray_directions_{axis}": normals[..., i] for i, axis in enumerate("xy")}
    found.append(Seed("tangents.mat", mat_file(tangents, True), "camera"))
    for kind in ("npz", "exr", "png", "npy"):
        path = folder / f"depth.{kind}"
        write_depth(path, np.where(scene.mask, scene.depth, np.nan), "z")
        found.append(Seed(path.name, path.read_bytes(), "depth"))
    path = folder / "normals.exr"
    write_exr(path, {axis: normals[..., i] for i, axis in enumerate("XYZ")})
    found.append(Seed(path.name, path.read_bytes(), "normals"))
    for number in range(1, 6):  # other compressions
        found.append(Seed(f"normals{number}.exr", _exr(folder, normals, number), "normals"))
    if find_spec("h5py"):
        found += [
            Seed(f"map{i}.h5", hdf5_file(packed, normals=normals), "normals")
            for i, packed in enumerate((False, True))
        ]
    if find_spec("PIL"):
        found.append(Seed("photo.jpg", photo(eight), "camera"))
    for suffix in SUFFIXES:
        path = folder / f"mesh{suffix}"
        write_mesh(path, Mesh(np.eye(3), np.array([[0, 1, 2]], np.int32)))
        found.append(Seed(path.name, path.read_bytes(), "mesh"))
    found.append(Seed("report.json", json.dumps(REPORT).encode(), "report"))
    return [*found, *_layered(folder, normals), *_large(folder, normals, scene.mask)]


def _layered(folder: Path, normals: Any) -> Iterator[Seed]:
    """Files of the rarer kinds: layers in tiles, ASCII."""
    import OpenEXR

    path = folder / "layers.exr"
    layers = {
        f"{layer}.{axis}": np.ascontiguousarray(normals[..., i], np.float32)
        for layer in ("ViewLayer.Normal", "ViewLayer.Combined")
        for i, axis in enumerate("XYZ")
    }
    OpenEXR.File({"type": OpenEXR.tiledimage, "tiles": OpenEXR.TileDescription()}, layers).write(
        str(path)
    )
    yield Seed(path.name, path.read_bytes(), "normals")
    lines = ["ply", "format ascii 1.0", "element vertex 3"]
    lines += [f"property float {axis}" for axis in "xyz"]
    lines += ["element face 1", "property list uchar int vertex_indices", "end_header"]
    lines += ["0 0 1", "1 0 1", "0 1 1", "3 0 1 2", ""]
    yield Seed("ascii.ply", "\n".join(lines).encode(), "mesh")


def _large(folder: Path, normals: Any, mask: Any) -> Iterator[Seed]:
    """Maps that are read in parts: EXR, TIFF, and the files of a zarr folder in an archive."""
    for number in (3, 4):
        yield Seed(f"large{number}.exr", _exr(folder, normals, number), "large")
    if not (find_spec("zarr") and find_spec("tifffile")):
        return
    import tifffile
    import zarr

    single = normals.astype(np.float32)
    for name, options in (
        ("tiles.tif", {"tile": (16, 16), "compression": "zlib"}),
        ("strips.tif", {"rowsperstrip": 5, "bigtiff": True, "byteorder": ">"}),
    ):
        path = folder / name
        tifffile.imwrite(path, single, photometric="rgb", **options)
        yield Seed(name, path.read_bytes(), "large")
    for number, (version, shards) in enumerate(((2, None), (3, None), (3, (16, 16, 3)))):
        path = folder / f"map{number}.zarr"
        group = zarr.open_group(path, mode="w", zarr_format=version)
        shape: Any = {"shape": single.shape, "dtype": "f4", "chunks": (8, 8, 3), "shards": shards}
        group.create_array("normals", **shape)[:] = single
        group.create_array("mask", shape=mask.shape, dtype="bool", chunks=(8, 8))[:] = mask
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for file in sorted(path.rglob("*")):
                if file.is_file():
                    archive.write(file, file.relative_to(path))
        shutil.rmtree(path)
        yield Seed(f"{path.name}.zip", stream.getvalue(), "large")


def hdf5_file(packed: bool, **arrays: Any) -> bytes:
    """Content of an .h5 file, in compressed chunks or not."""
    import h5py

    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array, compression="gzip" if packed else None)
    return stream.getvalue()


def photo(image: Any) -> bytes:
    """Content of a .jpg file with a focal length in its EXIF."""
    from PIL import Image

    exif, stream = Image.Exif(), io.BytesIO()
    exif.get_ifd(0x8769).update({0xA405: 28, 0x920A: 4.2, 0xA20E: 300.0, 0xA210: 3})
    Image.fromarray(image).save(stream, "JPEG", exif=exif)
    return stream.getvalue()


def _bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode()


def npy_file(array: Any) -> bytes:
    """Content of a .npy file."""
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def npz_file(**arrays: Any) -> bytes:
    """Content of a compressed .npz file."""
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def mat_file(arrays: dict[str, Any], compressed: bool) -> bytes:
    """Content of a .mat file."""
    from scipy.io import savemat

    stream = io.BytesIO()
    savemat(stream, arrays, do_compression=compressed)
    return stream.getvalue()


def _encoded(suffix: str, image: Any, options: tuple[int, ...] = ()) -> bytes:
    import cv2

    _, data = cv2.imencode(suffix, swap_red_and_blue(image), options)
    return bytes(data)


def _exr(folder: Path, normals: Any, compression: int) -> bytes:
    import OpenEXR

    path = folder / "other.exr"
    header = {"compression": OpenEXR.Compression(compression), "type": OpenEXR.scanlineimage}
    half = np.ascontiguousarray(normals.astype(np.float16))
    OpenEXR.File(header, {"RGB": half}).write(str(path))
    return path.read_bytes()
