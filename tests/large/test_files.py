"""Maps in zarr and TIFF files, through the command."""

import json
import sys

import numpy as np
import pytest
import tifffile
import typer
import zarr
from PIL import Image
from typer.testing import CliRunner

import rayrelief
from rayrelief.cameras import Orthographic, Pinhole
from rayrelief.cameras.calibration import write_camera
from rayrelief.cli.app import app
from rayrelief.cli.runs.large import Lines, parse_memory
from rayrelief.large.layout import Layout, size_of
from rayrelief.large.levels import halved
from rayrelief.large.planning import kind_of
from rayrelief.large.zarr_files import open_array
from rayrelief.methods import Smooth
from rayrelief.synthetic.gallery import sphere
from rayrelief.synthetic.surroundings import wavy_relief

HEIGHT, WIDTH = 150, 110  # of the fixture relief


def test_a_run_in_blocks_that_fails_still_has_its_report(relief, command, tmp_path, monkeypatch):
    def exhausted(*_, **__):
        raise MemoryError

    store = zarr.open_array(tmp_path / "map.zarr", mode="w", shape=(HEIGHT, WIDTH, 3), dtype="f4")
    store[:] = relief.normals
    monkeypatch.setattr("rayrelief.cli.runs.large.integrate_blocks", exhausted)
    out = tmp_path / "out.zarr"
    assert command(tmp_path / "map.zarr", "-o", out, "--convention=opencv").exit_code == 1
    status = json.loads(out.with_suffix(".json").read_text())["status"]
    assert (status["ok"], status["cause"]) == (False, "not enough memory")


def test_zarr_to_zarr(relief, small_blocks, command, tmp_path):
    group = zarr.open_group(tmp_path / "map.zarr", mode="w", zarr_format=3)
    normals = group.create_array(
        "normals", shape=(HEIGHT, WIDTH, 3), chunks=(64, 64, 3), dtype="f4"
    )
    normals[:] = relief.normals * (1, -1, -1)
    normals.attrs["convention"] = "opengl"
    mask = np.ones((HEIGHT, WIDTH), bool)
    mask[60:70, 30:90] = False
    group.create_array("mask", shape=mask.shape, chunks=(64, 64), dtype="bool")[:] = mask
    done = command(tmp_path / "map.zarr", "-o", tmp_path / "out.zarr", "--mesh-format", "glb")
    assert done.exit_code == 0, done.output
    written = zarr.open_group(tmp_path / "out.zarr", mode="r")
    whole = rayrelief.integrate(relief.normals, relief.camera, mask=mask, method=Smooth())
    difference = written["0"][:] - whole.depth
    assert np.nanstd(difference) < 1e-4 * np.nanstd(whole.depth)
    assert np.array_equal(np.isfinite(written["0"][:]), mask)
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["blocks"] == 6
    assert report == written.attrs["rayrelief"]
    index = json.loads((tmp_path / "out.tiles" / "tiles.json").read_text())
    assert len(index["tiles"]) == 6
    import trimesh

    parts = [trimesh.load_mesh(tmp_path / "out.tiles" / tile["file"]) for tile in index["tiles"]]
    # Tiles share their borders: together they have the area of one mesh of all.
    one = whole.mesh(min_part=1)
    area = trimesh.Trimesh(one.vertices, one.faces, process=False).area
    assert sum(part.area for part in parts) == pytest.approx(area, rel=1e-3)
    assert not (tmp_path / "out.zarr.work").exists()


def test_integers_of_either_byte_order(tmp_path):
    values = np.arange(48, dtype=">u2").reshape(4, 4, 3) * 1000
    written = {"shape": values.shape, "chunks": (4, 4, 3), "dtype": ">u2", "zarr_format": 2}
    zarr.create_array(tmp_path / "map.zarr", **written)[:] = values
    read = open_array(tmp_path / "map.zarr")
    assert read.dtype == read[:4, :4].dtype == np.uint16
    np.testing.assert_array_equal(read[:4, :4], values)


def test_the_same_command_goes_on_whatever_is_free(relief, command, tmp_path, monkeypatch):
    tifffile.imwrite(
        tmp_path / "map.tif", relief.normals.astype("f4"), tile=(64, 64), photometric="rgb"
    )
    words = tmp_path / "map.tif", "-o", tmp_path / "out.tif", "--convention", "opencv"
    monkeypatch.setattr("rayrelief.cli.runs.large.side_for", lambda *_: 80)
    with monkeypatch.context() as killed:
        killed.setattr("rayrelief.cli.runs.large.write_depth", None)  # not callable: it ends there
        assert command(*words).exit_code == 1
    monkeypatch.setattr("rayrelief.cli.runs.large.side_for", lambda *_: 120)
    assert command(*words).exit_code == 0
    assert json.loads((tmp_path / "out.json").read_text())["blocks"] == 6


def test_after_wrong_axes_the_right_ones_need_no_other_folder(relief, command, tmp_path):
    tifffile.imwrite(
        tmp_path / "map.tif", relief.normals.astype("f4"), tile=(64, 64), photometric="rgb"
    )
    words = tmp_path / "map.tif", "-o", tmp_path / "out.tif", "--convention"
    done = command(*words, "opengl")
    assert "do not fit the convention 'opengl'" in done.output
    assert "--convention opencv" in done.output
    assert "face away" in command(*words, "opengl", "--no-convention-check").output
    assert not (tmp_path / "out.tif.work").exists()
    assert command(*words, "opencv").exit_code == 0
    assert not (tmp_path / "out.tif.work").exists()


def test_axes_are_checked_by_the_fullest_part(command, tmp_path):
    """A body somewhere in a large map that shows no other: mirrored, its outline turns inwards."""
    scene, large = sphere(200, 200), np.full((1400, 1400, 3), np.nan, "f4")
    large[1000:1200, 1100:1300] = np.where(scene.mask[..., None], scene.normals, np.nan)
    store = zarr.open_array(tmp_path / "map.zarr", mode="w", shape=large.shape, dtype="f4")
    store[:] = large
    write_camera(tmp_path / "camera.json", Orthographic(size=(1400, 1400)))
    words = tmp_path / "map.zarr", "-o", tmp_path / "out.zarr", "--dry-run", "--convention"
    assert command(*words, "opencv").exit_code == 0
    assert "--convention opencv" in command(*words, "directx").output


@pytest.mark.parametrize("floats", [False, True])
def test_tiff_to_tiff(floats, relief, small_blocks, command, tmp_path):
    colours = (relief.normals * (1, -1, -1) + 1) / 2
    colours = colours.astype("f4") if floats else np.round(colours * 65535).astype(np.uint16)
    tifffile.imwrite(tmp_path / "map.tif", colours, tile=(64, 64), photometric="rgb")
    done = command(tmp_path / "map.tif", "-o", tmp_path / "o.tif", "--convention", "opengl")
    assert done.exit_code == 0, done.output
    assert ("floats between 0 and 1" if floats else "16-bit, decoded as") in done.output
    depth = tifffile.imread(tmp_path / "o.tif")
    difference = depth - relief.depth
    assert np.std(difference) < 1e-3 * np.std(relief.depth)


@pytest.mark.parametrize(("missing", "out"), [("zarr", "o.zarr"), ("tifffile", "o.tif")])
def test_what_to_install(missing, out, monkeypatch, command, tmp_path):
    tifffile.imwrite(tmp_path / "map.tif", np.zeros((64, 64, 3), np.uint8), tile=(32, 32))
    monkeypatch.setitem(sys.modules, missing, None)
    done = command(tmp_path / "map.tif", "-o", tmp_path / out, "--convention", "opengl")
    assert done.exit_code == 1
    assert f"needs the package {missing}, which is not installed" in done.output
    assert "extra large" in done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-o", "out.zarr", "--point", "1,1,1"], "--point goes with maps that are"),
        (["-o", "out.zarr", "--cut", "1"], "--cut goes with maps that are"),
        (["-o", "out.zarr", "--height", "h.png", "--tile"], "--tile and --height go with maps"),
        (["-o", "out.zarr", "--sequence"], "--sequence goes with maps"),
        (["-o", "out.zarr", "--depth-format", "png"], "--depth-format goes with maps"),
        (["-o", "out.zarr", "--device", "cuda"], "--device goes with maps"),
        (["-o", "out.zarr", "--convention", "opengl", "--memory", "much"], "a size such as 4GB"),
        (["-o", "out.zarr", "--mesh-format", "stl"], "--mesh-format stl: the tiles"),
        (["-o", "out.zarr", "--mesh-format", "ply"], "--mesh-format ply: the tiles"),
        (["-o", "out.zarr", "--mesh-format", "glb,ply"], "--mesh-format ply: the tiles"),
        (["-o", "out.zarr"], "the axes of"),
        (["-o", "out.zarr", "--convention", "auto"], "is not looked at as a whole"),
        (["-o", "none/out.tif"], "none is no folder"),
        (["-o", "out", "--memory", "1GB"], "--memory goes with maps in blocks"),
    ],
)
def test_wrong_usage(words, message, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tifffile.imwrite("map.tif", np.full((64, 64, 3), 200, np.uint8), tile=(32, 32))
    done = command("map.tif", *words)
    assert done.exit_code != 0
    assert message in " ".join(done.output.replace("│", " ").split())


@pytest.fixture
def masked(relief, small_blocks, command, tmp_path):
    """Run a zarr group with a mask of its own, or without; its output and its pixels inside."""

    def call(*words, own=False, alpha=False):
        group = zarr.open_group(tmp_path / "map.zarr", mode="w", zarr_format=3)
        values = relief.normals.astype("f4")
        if alpha:
            values = np.concatenate((values, mask_of(60)[..., None]), axis=-1, dtype="f4")
        group.create_array("normals", shape=values.shape, chunks=(64, 64, 4), dtype="f4")[:] = (
            values
        )
        if own:
            mask = mask_of(50).astype("u1")  # 0 and 1 in integers
            group.create_array("mask", shape=mask.shape, chunks=(64, 64), dtype="u1")[:] = mask
        done = command(
            tmp_path / "map.zarr", "-o", tmp_path / "out.zarr", "--convention=opencv", *words
        )
        if done.exit_code:
            return done.output, None
        return done.output, np.isfinite(zarr.open_group(tmp_path / "out.zarr", mode="r")["0"][:])

    return call


def mask_of(columns):
    """Mask that leaves out the first columns."""
    return np.broadcast_to(np.arange(WIDTH) >= columns, (HEIGHT, WIDTH))


@pytest.mark.parametrize("name", ["other.png", "other.npy"])
def test_a_mask_that_is_an_image_or_a_plain_array(name, masked, tmp_path):
    if name.endswith("png"):
        Image.fromarray(mask_of(70).astype(np.uint8) * 255).save(tmp_path / name)
    else:
        np.save(tmp_path / name, mask_of(70))
    output, inside = masked("--mask", tmp_path / name, own=True)
    np.testing.assert_array_equal(inside, mask_of(70), output)


def test_errors_of_a_mask_name_the_mask(masked, tmp_path, monkeypatch):
    assert "none.png does not exist" in masked("--mask", tmp_path / "none.png")[0]
    np.save(tmp_path / "small.npy", mask_of(70)[:50])
    assert "small.npy, has the shape (50, 110)" in masked("--mask", tmp_path / "small.npy")[0]
    np.save(tmp_path / "m.npy", mask_of(70))
    monkeypatch.setattr("rayrelief.large.arrays.WHOLE", 10**9)
    assert "m.npy is read as a whole" in masked("--mask", tmp_path / "m.npy")[0]


def test_which_mask_is_used(masked, tmp_path):
    output, inside = masked(own=True, alpha=True)
    np.testing.assert_array_equal(inside, mask_of(50), output)
    assert "mask: that in the group" in output
    _, inside = masked("--mask=none", own=True, alpha=True)
    assert inside.all()
    output, inside = masked(alpha=True)
    np.testing.assert_array_equal(inside, mask_of(60), output)
    Image.fromarray(mask_of(70).astype(np.uint8) * 255).save(tmp_path / "mask.png")
    output, inside = masked(alpha=True)
    np.testing.assert_array_equal(inside, mask_of(70), output)
    assert "note: mask: mask.png beside the map\n" in output
    output, inside = masked(own=True)
    np.testing.assert_array_equal(inside, mask_of(50), output)
    assert "mask.png beside the map is not used, as its group has one" in output
    Image.fromarray(mask_of(70)[:50].astype(np.uint8) * 255).save(tmp_path / "mask.png")
    output, inside = masked()
    assert inside.all()
    assert "beside the map has another size and is not used" in output


def test_parts_that_hang_on_nothing_are_told_in_the_last_lines(masked, tmp_path):
    np.save(tmp_path / "mask.npy", np.broadcast_to(np.arange(WIDTH) != 50, (HEIGHT, WIDTH)))
    output, _ = masked("--mask", tmp_path / "mask.npy")
    last = output.partition("of 16,500 pixels")[2]
    assert "  note: 2 separate components: the shift of each is arbitrary" in last


def test_chunks_that_are_not_stored_are_told(relief, small_blocks, command, tmp_path):
    words = tmp_path / "map.zarr", "-o", tmp_path / "out.zarr", "--convention=opencv"
    for options in ({"zarr_format": 2}, {"shards": (64, 64, 3)}, {}):
        usual = {"chunks": (32, 32, 3), "fill_value": 0, "overwrite": True}
        values = relief.normals.astype("f4")
        zarr.create_array(words[0], data=values, **usual | options)
        assert "not stored" not in command(*words).output
        values[:64, :64] = 0  # of which no chunk is written
        zarr.create_array(words[0], data=values, **usual | options)
        told = "1 of 6 shards" if "shards" in options else "4 of 20 chunks"
        (words[0] / ".DS_Store").touch()  # no chunk
        mask = np.ones((HEIGHT, WIDTH), bool)
        mask[:32, :32] = False
        usual_mask = {"chunks": (32, 32), "fill_value": False, "overwrite": True}
        zarr.create_array(tmp_path / "mask.zarr", data=mask, **usual_mask)
        output = command(*words, "--mask", tmp_path / "mask.zarr").output
        assert f"note: map.zarr: {told} are not stored, and read as 0.0" in output
        assert "note: mask.zarr: 1 of 20 chunks are not stored, and read as False" in output


def test_the_camera_beside_the_map(relief, tmp_path, small_blocks):
    store = zarr.open_array(tmp_path / "map.zarr", mode="w", shape=(HEIGHT, WIDTH, 3), dtype="f4")
    store[:] = relief.normals
    words = ["integrate", tmp_path / "map.zarr", "-o", tmp_path / "out.zarr", "--threads=1"]
    words += ["--convention=opencv", "--method=smooth"]
    assert "has no camera" in CliRunner().invoke(app, [*map(str, words)]).output
    write_camera(tmp_path / "camera.json", relief.camera)
    done = CliRunner().invoke(app, [*map(str, words)])
    assert "note: camera: camera.json beside the map" in done.output
    difference = zarr.open_group(tmp_path / "out.zarr", mode="r")["0"][:] - relief.depth
    assert np.std(difference) < 1e-3 * np.std(relief.depth)
    words[3] = tmp_path / "camera.zarr"
    assert "is read by this run" in CliRunner().invoke(app, [*map(str, words)]).output


def test_a_ray_map_is_refused_before_any_block(tmp_path):
    store = zarr.open_array(tmp_path / "map.zarr", mode="w", shape=(HEIGHT, WIDTH, 3), dtype="f4")
    store[:] = wavy_relief(HEIGHT, WIDTH).normals
    rays = tmp_path / "rays.npy"
    write_camera(rays, Pinhole(200, 200, 55, 75), height=HEIGHT, width=WIDTH)
    words = ["integrate", tmp_path / "map.zarr", "-o", tmp_path / "out.zarr", "--method=smooth"]
    words += ["--convention=opencv", "--camera", rays]
    output = CliRunner().invoke(app, [*map(str, words)]).output
    assert "error: a ray map as the camera of a map in blocks" in output
    assert not [*tmp_path.glob("out.*")]


def test_a_dry_run_tells_the_plan_and_writes_nothing(relief, small_blocks, command, tmp_path):
    store = zarr.open_array(tmp_path / "map.zarr", mode="w", shape=(HEIGHT, WIDTH, 3), dtype="f4")
    store[:] = relief.normals
    before = sorted(tmp_path.rglob("*"))
    words = tmp_path / "map.zarr", "-o", tmp_path / "out.zarr", "--convention=opencv", "--dry-run"
    done = command(*words)
    for fact in ("110x150 pixels, about 100 % inside", "6 of at most", "overlap 10", "1 worker"):
        assert fact in done.output
    told = json.loads(command(*words, "--json", "--quiet", "--memory=1GB").stdout)
    assert sorted(tmp_path.rglob("*")) == before
    assert told["blocks"]["number"] == 6
    layout = Layout.of(HEIGHT, WIDTH, 80)
    wholes = [size_of(layout.block(number).whole) for number in range(len(layout))]
    assert told["blocks"]["pixels"] == sum(wholes) > HEIGHT * WIDTH
    assert told["memory_bytes"]["limit"] == 10**9
    connectivity, wide = 4, 20 * sum(wholes)
    assert told["disk_bytes"]["needed"] == (4 * connectivity + 9) * HEIGHT * WIDTH + wide
    expected = told["expected"]
    decided = told["sample"]["seconds_per_pixel"] * told["blocks"]["pixels"]
    assert expected["deciding_seconds"] == pytest.approx(decided)
    assert expected["seconds"] > decided > 0
    assert command(*words).exit_code == 0


@pytest.mark.parametrize("side", [20, 47, 50, 160])
def test_a_dry_run_tells_the_share_inside(side, small_blocks, command, tmp_path, monkeypatch):
    """However the windows that are looked at overlap; of a map larger than all of them about."""
    monkeypatch.setattr("rayrelief.cli.runs.large_plan.SAMPLE_SIDE", side)
    v, u = np.mgrid[:HEIGHT, :WIDTH]
    inside = np.hypot(v - HEIGHT / 2, u - WIDTH / 2) < 40
    normals = np.where(inside[..., None], [0.0, 0.0, -1.0], 0.0).astype("f4")
    store = zarr.open_array(tmp_path / "map.zarr", mode="w", shape=normals.shape, dtype="f4")
    store[:] = normals
    words = tmp_path / "map.zarr", "-o", tmp_path / "out.zarr", "--convention=opencv", "--dry-run"
    told = json.loads(command(*words, "--json", "--quiet").stdout)
    covered = 5 * side >= max(HEIGHT, WIDTH)
    assert told["inside"] == pytest.approx(inside.mean(), abs=1e-9 if covered else 0.1)


def test_few_lines_tell_how_far_a_run_is(relief, small_blocks, command, tmp_path, monkeypatch):
    monkeypatch.setattr("rayrelief.cli.runs.large.QUIET", 1e9)  # however long kernels compile
    for name in ("FASTEST", "SLOWEST"):
        monkeypatch.setattr(f"rayrelief.large.state.{name}", 0.9999)  # more sweeps
    store = zarr.open_array(tmp_path / "map.zarr", mode="w", shape=(HEIGHT, WIDTH, 3), dtype="f4")
    store[:] = relief.normals
    done = command(tmp_path / "map.zarr", "-o", tmp_path / "out.zarr", "--convention=opencv")
    stages = [line for line in done.stderr.splitlines() if line.endswith(": 6 blocks")]
    sweeps = [line for line in stages if line.startswith("note: sweep")]
    assert stages[:2] == ["note: integrating blocks: 6 blocks", "note: joining blocks: 6 blocks"]
    assert len(sweeps) == len(json.loads((tmp_path / "out.json").read_text())["changes"])
    assert len(sweeps) > 2
    assert all("times the tolerance is left" in line for line in sweeps[2:])
    assert len(stages) == len(sweeps) + 4
    assert not [line for line in done.stderr.splitlines() if " of 6 blocks" in line]


def test_stages_that_take_long_say_so_ten_times(capsys, monkeypatch):
    monkeypatch.setattr("rayrelief.cli.runs.large.QUIET", -1.0)
    lines = Lines()
    for stage in ("one", "two"):
        for done in range(201):
            lines(stage, done, 200)
    said = capsys.readouterr().err.splitlines()
    first = [line.removeprefix("note: one: ") for line in said[:3]]
    assert first == ["200 blocks", "20 of 200 blocks", "40 of 200 blocks"]
    assert len(said) == 20
    lines("three", 0, 1)
    assert capsys.readouterr().err == "note: three: 1 block\n"


def test_sizes():
    assert parse_memory("4GB") == 4 * 10**9
    assert parse_memory("512m") == 512 * 10**6
    assert parse_memory("4GiB") == 4 * 2**30
    assert parse_memory("1.5 ki") == 1536
    assert parse_memory("100b") == parse_memory("100") == 100
    assert parse_memory(None) > 0


@pytest.mark.parametrize("text", ["", "GB", "0GB", "0.1", "4ib", "4iB", "4i", "-4GB", "9" * 400])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(typer.BadParameter, match="expected a size such as 4GB or 4GiB"):
        parse_memory(text)


def test_half_the_size_counts_what_has_a_value():
    image = np.array([[1, 3, np.nan], [np.nan, 5, np.nan], [2, 4, 6]], np.float32)
    np.testing.assert_array_equal(halved(image), np.array([[3, np.nan], [3, 6]], np.float32))


def test_the_kind_of_depth_is_that_of_the_whole_map():
    from rayrelief.cameras import Equidistant, Pinhole

    assert kind_of(Pinhole(50.0, 50.0, 50.0, 50.0), 100, 100) == "z"
    assert kind_of(Equidistant(30.0, 30.0, 50.0, 50.0), 100, 100) == "distance"
