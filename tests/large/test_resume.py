"""A working folder is gone on with by the run that it is of, and by no other."""

import os

import numpy as np
import pytest
import tifffile

from rayrelief.batch.here import Here
from rayrelief.cameras import Orthographic, Pinhole, RayMap
from rayrelief.errors import InputError
from rayrelief.io.exr import write_exr
from rayrelief.large.arrays import MapFile
from rayrelief.large.layout import Layout
from rayrelief.large.running import integrate_blocks
from rayrelief.methods import Smooth

SIDE, SMOOTH = 80, Smooth()


class KilledError(Exception):
    pass


@pytest.fixture
def begin(tmp_path):
    """Begin a run, and end it before its first block."""

    def kill(*_):
        raise KilledError

    def call(source, camera, method=SMOOTH, side=60):
        layout = Layout.of(SIDE, SIDE, side, 8)
        given = {"method": method, "layout": layout, "engine": Here(1), "threads": 1}
        with pytest.raises(KilledError):
            integrate_blocks(source, camera, tmp_path / "work", **given, progress=kill)

    return call


@pytest.fixture
def flat(in_memory):
    normals = np.zeros((SIDE, SIDE, 3))
    normals[..., 2] = -1.0
    return in_memory(normals, np.ones((SIDE, SIDE), bool))


def bent(much):
    v, u = np.mgrid[:SIDE, :SIDE] / SIDE
    return RayMap(np.dstack((u - 0.5 + much * v * v, v - 0.5, np.ones((SIDE, SIDE)))))


def pinhole(focal):
    return Pinhole(focal, focal, 40.0, 40.0, size=(SIDE, SIDE))


@pytest.mark.parametrize(
    ("before", "after"),
    [(pinhole(100.0), pinhole(100.00001)), (bent(0.1), bent(0.2))],
    ids=["focal length", "ray map"],
)
def test_another_camera_is_refused(before, after, flat, begin):
    begin(flat, before)
    begin(flat, before)
    with pytest.raises(InputError, match=r"changed: camera\)"):
        begin(flat, after)


def test_another_method_other_blocks_and_another_version_are_refused(flat, begin, monkeypatch):
    camera = Orthographic(size=(SIDE, SIDE))
    begin(flat, camera)
    with pytest.raises(InputError, match=r"changed: method\)"):
        begin(flat, camera, Smooth(connectivity=8))
    with pytest.raises(InputError, match=r"changed: blocks\)"):
        begin(flat, camera, side=50)
    monkeypatch.setattr("rayrelief.large.identity._version", lambda: "0.0.1")
    with pytest.raises(InputError, match=r"changed: version\)"):
        begin(flat, camera)


@pytest.mark.parametrize("kind", ["map", "mask"])
@pytest.mark.parametrize("suffix", [".tif", ".zarr", ".exr"])
def test_another_map_at_the_same_path_is_refused(kind, suffix, flat, begin, tmp_path):
    zarr = pytest.importorskip("zarr")

    def write(name, values):
        path = tmp_path / f"{name}{suffix}"
        if suffix == ".tif":
            kind = "rgb" if values.ndim == 3 else "minisblack"
            tifffile.imwrite(path, values, tile=(32, 32), photometric=kind)
        elif suffix == ".exr":
            write_exr(path, dict(zip("RGB", np.atleast_3d(values).T.swapaxes(1, 2), strict=False)))
        else:
            chunks = (40, 40, *values.shape[2:])
            array = {"shape": values.shape, "dtype": values.dtype, "chunks": chunks}
            zarr.create_array(path, overwrite=True, **array)[:] = values
        return path

    content = {"map": flat.normals.astype("f4"), "mask": np.ones((SIDE, SIDE), np.uint8)}
    paths = {name: write(name, values) for name, values in content.items()}
    source = MapFile.at(paths["map"], "opencv", paths["mask"])
    camera = Orthographic(size=(SIDE, SIDE))
    begin(source, camera)
    begin(source, camera)
    content[kind][:10] = 0
    write(kind, content[kind])
    for file in [paths[kind], *paths[kind].rglob("*")]:  # clocks of files may be coarse
        os.utime(file, ns=(1, file.stat().st_mtime_ns + 1_000_000))
    with pytest.raises(InputError, match=rf"changed: {kind}\)"):
        begin(source, camera)


def test_finished_blocks_of_a_sweep_are_not_solved_again(in_memory, depth_of, monkeypatch):
    rng = np.random.default_rng(0)
    slopes = 0.2 * rng.normal(size=(SIDE, SIDE, 2))
    normals = np.concatenate((slopes, -np.ones((SIDE, SIDE, 1))), axis=-1)
    source = in_memory(normals, np.ones((SIDE, SIDE), bool))
    camera, layout = Orthographic(size=(SIDE, SIDE)), Layout.of(SIDE, SIDE, 60, 8)
    solved = []

    def counted(job, block, *given):
        solved.append(block.number)
        return solve_block(job, block, *given)

    def kill(name, done, _):
        if (name, done) == ("sweep 2", 3):
            raise KilledError

    from rayrelief.large.sweeping import solve_block

    monkeypatch.setattr("rayrelief.large.steps.solve_block", counted)
    with pytest.raises(KilledError):
        depth_of(source, camera, Smooth(), layout, progress=kill)
    _, finished = depth_of(source, camera, Smooth(), layout)
    assert len(solved) == len(layout) * len(finished.changes)
