"""What lies where a map in blocks is written: of others, of an earlier run, of one under way."""

import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import tifffile
import zarr

from rayrelief.errors import FileError
from rayrelief.io.atomic import locked
from rayrelief.large.state import State
from rayrelief.large.store import Store

HEIGHT, WIDTH = 150, 110  # of the fixture relief


def test_what_somebody_else_wrote_is_not_replaced(command, tmp_path):
    (tmp_path / "out.zarr").mkdir()
    tifffile.imwrite(tmp_path / "map.tif", np.full((64, 64, 3), 200, np.uint8), tile=(32, 32))
    done = command(tmp_path / "map.tif", "-o", tmp_path / "out.zarr", "--convention", "opengl")
    assert "is not the result of a map in blocks" in done.output
    assert (tmp_path / "out.zarr").is_dir()


@pytest.mark.parametrize("foreign", ["text", "image"])
def test_a_tiff_of_somebody_else_is_not_replaced(foreign, command, relief, tmp_path):
    values = relief.normals.astype("f4")
    tifffile.imwrite(tmp_path / "map.tif", values, tile=(64, 64), photometric="rgb")
    words = tmp_path / "map.tif", "-o", tmp_path / "out.tif", "--convention", "opencv"
    assert command(*words).exit_code == 0
    assert command(*words).exit_code == 0, "its own result is replaced"
    if foreign == "text":
        (tmp_path / "out.tif").write_text("years")
    else:
        tifffile.imwrite(tmp_path / "out.tif", values, photometric="rgb")
    before = (tmp_path / "out.tif").read_bytes()
    done = command(*words)
    assert done.exit_code == 1
    assert "is not the result of a map in blocks" in done.output
    assert (tmp_path / "out.tif").read_bytes() == before


@pytest.fixture
def begun(command, tmp_path):
    """A command whose working folder is there, with a file of it as somebody left it."""
    tifffile.imwrite(tmp_path / "map.tif", np.full((64, 64, 3), 200, np.uint8), tile=(32, 32))

    def call(name, content):
        (tmp_path / "out.zarr.work").mkdir()
        (tmp_path / "out.zarr.work" / name).write_bytes(content)
        words = "-o", tmp_path / "out.zarr", "--convention", "opengl"
        return command(tmp_path / "map.tif", *words)

    return call


def test_a_folder_of_somebody_else_is_not_removed(begun, tmp_path):
    assert "thesis.txt, and would be removed" in begun("thesis.txt", b"years").output
    assert (tmp_path / "out.zarr.work" / "thesis.txt").read_bytes() == b"years"


@pytest.mark.parametrize("place", ["camera.zarr", "camera.tif"])
def test_a_report_does_not_replace_the_camera(place, command, tmp_path):
    tifffile.imwrite(tmp_path / "map.tif", np.full((64, 64, 3), 200, np.uint8), tile=(32, 32))
    before = (tmp_path / "camera.json").read_bytes()
    done = command(tmp_path / "map.tif", "-o", tmp_path / place, "--convention", "opengl")
    assert "is read by this run" in done.output
    assert (tmp_path / "camera.json").read_bytes() == before


@pytest.mark.parametrize("content", [b"{", b"[]", b"{}", b'{"rows": 1, "columns": 2}'])
def test_a_broken_working_folder(content, begun):
    output = begun("run.json", content).output
    assert "run.json cannot be gone on with" in output
    assert "to begin again" in output


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY"])
def test_broken_arrays_of_a_working_folder(content, tmp_path):
    (tmp_path / "state.0.npz").write_bytes(content)
    (tmp_path / "depth.0.npy").write_bytes(content)
    with pytest.raises(FileError, match="to begin again"):
        State.load(tmp_path / "state.0.npz")
    with pytest.raises(FileError, match="to begin again"):
        Store(tmp_path).read("depth", 0)


@pytest.mark.skipif(sys.platform == "win32", reason="has no such locks")
def test_two_runs_at_once(command, tmp_path):
    tifffile.imwrite(tmp_path / "map.tif", np.full((64, 64, 3), 200, np.uint8), tile=(32, 32))
    (tmp_path / "out.zarr.work").mkdir()
    words = tmp_path / "map.tif", "-o", tmp_path / "out.zarr", "--convention", "opengl"
    with locked(tmp_path / "out.zarr.work"):
        assert "another run is writing" in command(*words).output


def test_a_second_run_that_is_killed_leaves_no_report_of_the_first(
    relief, small_blocks, command, tmp_path, monkeypatch
):
    store = zarr.open_array(tmp_path / "map.zarr", mode="w", shape=(HEIGHT, WIDTH, 3), dtype="f4")
    store[:] = relief.normals
    out, index = tmp_path / "out.zarr", tmp_path / "out.tiles" / "tiles.json"
    words = (tmp_path / "map.zarr", "-o", out, "--convention=opencv", "--mesh-format=glb")
    assert command(*words).exit_code == 0
    assert index.exists()
    removed: list[Path] = []
    with monkeypatch.context() as killed:
        killed.setattr(shutil, "rmtree", lambda path, **_: removed.append(Path(path)))
        killed.setattr("rayrelief.large.tiles._write_tile", None)  # not callable: it ends there
        assert command(*words).exit_code == 1
    assert zarr.open_group(out, mode="r")["0"].shape == (HEIGHT, WIDTH)
    assert out not in removed, "what is removed file by file can be found half removed"
    assert not index.exists()
    assert not out.with_suffix(".json").exists()
    assert command(*words).exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["map.zarr", "camera.json", "out.zarr", "out.json", "out.camera.json", "out.tiles"]
    )


def test_tiles_of_an_earlier_run_are_removed(relief, command, tmp_path, monkeypatch):
    store = zarr.open_array(tmp_path / "map.zarr", mode="w", shape=(HEIGHT, WIDTH, 3), dtype="f4")
    store[:] = relief.normals
    words = (tmp_path / "map.zarr", "-o", tmp_path / "out.zarr", "--convention=opencv")
    folder, counts = tmp_path / "out.tiles", []
    for side in (80, 100):
        monkeypatch.setattr("rayrelief.cli.runs.large.side_for", lambda *_, side=side: side)
        done = command(*words, "--mesh-format=glb")
        assert done.exit_code == 0, done.output
        index = json.loads((folder / "tiles.json").read_text())
        listed = {entry["file"] for entry in (index["overview"], *index["tiles"])}
        assert {path.name for path in folder.iterdir()} == {"tiles.json", *listed}
        counts.append(len(listed))
    assert counts == [7, 5]
    assert f"7 files of an earlier mesh were removed from {folder}" in done.output
    (folder / "notes.txt").write_text("years")
    index["tiles"].append({"file": "../map.zarr/zarr.json"})
    (folder / "tiles.json").write_text(json.dumps(index))
    done = command(*words)
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    assert f"{folder} also holds notes.txt, which this run did not write" in done.output
    assert (tmp_path / "map.zarr" / "zarr.json").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")
@pytest.mark.parametrize("name", ["out.tif", "out.exr", "out.zarr", "out.json", "out.camera.json"])
@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_only_files_of_ours_are_replaced_by_a_map_in_blocks(name, kind, command, tmp_path):
    tifffile.imwrite(tmp_path / "map.tif", np.full((64, 64, 3), 200, np.uint8), tile=(32, 32))
    out = tmp_path / "results" / (name if name in ("out.tif", "out.exr") else "out.zarr")
    out.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(out.with_name(name))
    else:
        out.with_name(name).symlink_to(tmp_path / "elsewhere")
    done = command(tmp_path / "map.tif", "-o", out, "--convention", "opengl")
    assert done.exit_code == 1
    assert name in done.output
    assert [path.name for path in out.parent.iterdir()] == [name]
    assert not out.with_name(name).is_file()
    assert not (tmp_path / "elsewhere").exists()
