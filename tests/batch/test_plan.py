"""Which maps there are below some paths, and that no two share the place of their results."""

from __future__ import annotations

import pytest

from rayrelief.batch.plan import frames, is_one_map, plan
from rayrelief.errors import InputError


@pytest.fixture
def maps(tmp_path):
    """Make files of these names, which need not be maps to be planned."""

    def make(*names):
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        return tmp_path

    return make


def names(paths, out):
    planned = plan(paths, out)
    assert all(each.folder == out / each.name for each in planned)
    return {each.name: each.path for each in planned}


def test_a_folder_of_folders_is_repeated(maps, tmp_path):
    root = maps("a/normal_map.png", "b/c/normal_map.exr", "b/photo.png", "b/d/Normal_gt.mat")
    expected = {"a": root / "a", "b/c": root / "b/c", "b/d": root / "b/d"}
    assert names([root], tmp_path / "out") == expected


def test_maps_have_names_below_the_folder_that_they_share(maps, tmp_path):
    root = maps("x/1/n.png", "x/2/n.png", "x/3/normal_map.png")
    paths = [root / "x/1/n.png", root / "x/2/n.png", root / "x/3"]
    assert [*names(paths, tmp_path / "out")] == ["1/n", "2/n", "3"]


def test_a_map_that_is_given_twice_is_done_once(maps, tmp_path):
    root = maps("a/normal_map.png", "b/normal_map.png")
    assert [*names([root, root / "a", root / "b" / ".." / "b"], tmp_path / "out")] == ["a", "b"]


def test_two_maps_for_one_place_are_refused(maps, tmp_path):
    root = maps("n.png", "n.exr")
    with pytest.raises(InputError, match=r"n\.png and .*n\.exr would both be written"):
        plan([root / "n.png", root / "n.exr"], tmp_path / "out")


def test_a_path_that_is_missing_or_holds_no_map_is_planned_and_fails_later(maps, tmp_path):
    root = maps("empty/photo.png", "a/normal_map.png")
    paths = [root / "empty", root / "nowhere.png", root / "a"]
    assert [*names(paths, tmp_path / "out")] == ["empty", "nowhere", "a"]


def test_one_map_is_a_file_or_its_folder(maps):
    root = maps("a/normal_map.png", "a/b/normal_map.png", "empty/photo.png")
    alone = [root / "a", root / "a/normal_map.png", root / "empty", root / "nowhere"]
    assert all(is_one_map([path]) for path in alone)
    assert not is_one_map([root])
    assert not is_one_map(alone[:2])


def test_frames_are_the_maps_in_a_folder_without_folders_of_maps(maps):
    files = ("v/f1.png", "v/f2.EXR", "v/mask.png", "v/K.npy", "v/._f1.png", "v/notes.txt")
    root = maps(*files, "many/a/normal_map.png", "one/normal_map.png", "one/other.png", "no/a.txt")
    assert frames([root / "v"]) == [root / "v" / "f1.png", root / "v" / "f2.EXR"]
    for name in ("many", "one", "no", "one/other.png", "nowhere"):
        assert frames([root / name]) == [root / name]
