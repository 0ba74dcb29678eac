"""Tiles of the mesh of a map in blocks."""

import json

import numpy as np
import pytest
import trimesh

from rayrelief.batch.here import Here
from rayrelief.cameras import Orthographic
from rayrelief.large.layout import Layout
from rayrelief.large.tiles import discard_tiles, write_tiles
from rayrelief.methods import Ordered, Smooth
from rayrelief.synthetic.crowd import crowd

HEIGHT, WIDTH = 120, 160
JUMP = 1.05  # depth over depth: 5 % is more than a surface gains in a pixel


def test_no_face_bridges_a_jump(in_memory, depth_of, tmp_path):
    scene = crowd(HEIGHT, WIDTH)
    layout = Layout.of(HEIGHT, WIDTH, 100, 12)
    camera = scene.camera.crop(0, 0, WIDTH, HEIGHT)
    _, finished = depth_of(in_memory(scene.normals, scene.mask), camera, Ordered(), layout)
    write_tiles(tmp_path / "tiles", finished, Here(1), lambda *_: None)
    index = json.loads((tmp_path / "tiles" / "tiles.json").read_text(encoding="utf-8"))
    assert len(index["tiles"]) == len(layout) > 1
    faces = bridges = 0
    for entry in index["tiles"]:
        mesh = trimesh.load(tmp_path / "tiles" / entry["file"], force="mesh", process=False)
        points = mesh.vertices * (1, -1, -1)  # from the frame of glTF
        u, v = np.rint(camera.project(points)).astype(int).T
        true, found = np.asarray(scene.depth)[v, u][mesh.faces], points[mesh.faces, 2]
        across = [each.max(axis=1) > JUMP * each.min(axis=1) for each in (true, found)]
        faces += len(mesh.faces)
        bridges += int(np.count_nonzero(across[0] & across[1]))
    assert faces > HEIGHT * WIDTH
    assert bridges == 0


@pytest.mark.parametrize(
    ("shape", "tiles"), [((1, 100), 0), ((100, 100), 9)], ids=["one row", "thin stripes"]
)
def test_an_overview_without_faces_is_left_out(
    shape, tiles, in_memory, depth_of, tmp_path, monkeypatch
):
    monkeypatch.setattr("rayrelief.large.tiles.OVERVIEW_PIXELS", 2500)
    mask = np.broadcast_to(np.arange(shape[1]) % 6 < 2, shape) | (shape[0] == 1)
    normals = np.broadcast_to(np.array([0.0, 0.0, -1.0]), (*shape, 3))
    layout = Layout.of(shape[0], shape[1], 60, 8)
    camera = Orthographic(size=shape[::-1])
    depth, finished = depth_of(in_memory(normals, mask), camera, Smooth(), layout)
    assert np.array_equal(np.isfinite(depth), mask)
    for _ in range(2):  # the second run removes what the first one listed
        write_tiles(tmp_path / "tiles", finished, Here(1), lambda *_: None)
        index = json.loads((tmp_path / "tiles" / "tiles.json").read_text(encoding="utf-8"))
        assert index["overview"]["file"] is None
        listed = {entry["file"] for entry in index["tiles"]}
        assert len(listed) == tiles
        assert {path.name for path in (tmp_path / "tiles").iterdir()} == {"tiles.json", *listed}
        assert discard_tiles(tmp_path / "tiles") == tiles
