"""Maps in EXR through the command, alone and mixed with the other formats."""

import json
import os
import sys

import numpy as np
import pytest
import tifffile
import zarr

import rayrelief
from rayrelief.io.exr import read_attributes, write_exr
from rayrelief.large.exr_pyramid import Pyramid
from rayrelief.methods import Smooth

HEIGHT, WIDTH = 150, 110  # of the fixture relief


@pytest.fixture
def written(relief, tmp_path):
    """Write the relief as a map of a kind, with a mask where the kind has one; path and mask."""

    def write(suffix):
        path, mask = tmp_path / f"map{suffix}", np.ones((HEIGHT, WIDTH), bool)
        mask[60:70, 30:90] = suffix != ".exr"
        values = relief.normals.astype("f4")
        if suffix == ".zarr":
            zarr.create_array(path, data=values, chunks=(64, 64, 3))
        elif suffix == ".tif":
            tifffile.imwrite(path, values, tile=(64, 64), photometric="rgb")
        else:
            planes = dict(zip("RGBA", np.moveaxis(np.dstack((values, mask)), -1, 0), strict=True))
            write_exr(path, planes)
        return path, mask

    return write


def read(path):
    """Depth (H, W) of a result."""
    if path.suffix == ".exr":
        return rayrelief.read_depth(path)[0]
    return zarr.open_group(path)["0"][:] if path.suffix == ".zarr" else tifffile.imread(path)


@pytest.mark.parametrize(
    ("map_suffix", "suffix"),
    [(".exr", ".exr"), (".exr", ".zarr"), (".exr", ".tif"), (".zarr", ".exr"), (".tif", ".exr")],
)
def test_any_mix(map_suffix, suffix, written, relief, small_blocks, command, tmp_path):
    path, mask = written(map_suffix)
    out = tmp_path / f"out{suffix}"
    for _ in range(2):  # its own result is replaced
        done = command(path, "-o", out, "--convention=opencv")
        assert done.exit_code == 0, done.output
    whole = rayrelief.integrate(relief.normals, relief.camera, mask=mask, method=Smooth())
    depth = read(out)
    assert np.nanstd(depth - whole.depth) < 1e-4 * np.nanstd(whole.depth)
    np.testing.assert_array_equal(np.isfinite(depth), mask)
    report = json.loads(out.with_suffix(".json").read_text())
    assert report["blocks"] == 6
    assert not out.with_name(f"{out.name}.work").exists()
    if suffix == ".exr":
        assert rayrelief.read_depth(out)[1] == report["depth_kind"] == "z"
        assert json.loads(read_attributes(out)["rayrelief"]) == report


def test_maps_in_exr_are_still_integrated_whole_into_a_folder(written, command, tmp_path):
    done = command(written(".exr")[0], "-o", tmp_path / "out", "--convention=opencv")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "report.json").exists()


def test_a_result_is_whole_or_not_there(written, small_blocks, command, tmp_path, monkeypatch):
    path, _ = written(".exr")
    words = path, "-o", tmp_path / "out.exr", "--convention=opencv"
    tiles = []

    def killed(self, *place):
        tiles.append(place)
        if len(tiles) == 3:
            raise KeyboardInterrupt
        return whole_tile(self, *place)

    whole_tile = Pyramid._tile
    with monkeypatch.context() as context:
        context.setattr(Pyramid, "_tile", killed)
        done = command(*words)
    assert done.exit_code != 0
    assert "the same command goes on" in done.output
    assert not (tmp_path / "out.exr").exists()
    with monkeypatch.context() as context:
        context.setattr("rayrelief.large.steps.assemble", None)  # not callable: no block is run
        done = command(*words)
    assert done.exit_code == 0, done.output
    assert np.isfinite(read(tmp_path / "out.exr")).any()


@pytest.mark.parametrize("foreign", ["text", "image", "depth", "folder"])
def test_what_somebody_else_wrote_is_not_replaced(foreign, written, command, tmp_path):
    path, _ = written(".exr")
    out = tmp_path / "out.exr"
    if foreign == "text":
        out.write_text("years")
    elif foreign == "image":
        write_exr(out, {"Z": np.ones((5, 5))})
    elif foreign == "depth":
        rayrelief.write_depth(out, np.ones((5, 5)), "z")
    else:
        out.mkdir()
    before = out.is_dir() or out.read_bytes()
    done = command(path, "-o", out, "--convention=opencv")
    assert done.exit_code == 1
    told = "is a folder" if foreign == "folder" else "is not the result of a map in blocks"
    assert told in " ".join(done.output.split())
    assert (out.is_dir() or out.read_bytes()) == before


def test_rows_that_are_too_wide_for_the_memory_are_told(written, command, tmp_path, monkeypatch):
    path, _ = written(".exr")
    monkeypatch.setattr("rayrelief.large.arrays.PIECE", 10**6)
    done = command(path, "-o", tmp_path / "out.exr", "--convention=opencv", "--memory=1GB")
    told = " ".join(done.output.split())
    assert f"{path} is stored in pieces of 16 x 110 pixels" in told
    assert not [name for name in os.listdir(tmp_path) if name.startswith("out")]


def test_neither_zarr_nor_tifffile_is_needed(written, command, tmp_path, monkeypatch):
    path, _ = written(".exr")
    for name in ("zarr", "tifffile"):
        monkeypatch.setitem(sys.modules, name, None)
    done = command(path, "-o", tmp_path / "out.exr", "--convention=opencv")
    assert done.exit_code == 0, done.output
