"""What an earlier run left is told, and refused where it is of another, by dry runs as well."""

import json

import pytest
import zarr

HEIGHT, WIDTH = 150, 110  # of the fixture relief, in six blocks


@pytest.fixture
def words(relief, small_blocks, tmp_path):
    store = zarr.open_array(tmp_path / "map.zarr", mode="w", shape=(HEIGHT, WIDTH, 3), dtype="f4")
    store[:] = relief.normals
    return tmp_path / "map.zarr", "-o", tmp_path / "out.zarr", "--convention=opencv"


@pytest.fixture
def killed(words, command, monkeypatch):
    """Begin a run that ends at the first block of a stage, and tell what it says."""

    def call(step, *more):
        with monkeypatch.context() as broken:
            broken.setattr(f"rayrelief.large.steps.{step}", None)  # not callable: it ends there
            ended = command(*words, *more)
        assert ended.exit_code == 1
        return ended.stderr

    return call


def told(ended):
    return [line for line in ended.splitlines() if "an earlier run" in line]


def test_a_run_that_goes_on_tells_what_is_kept(words, command, killed):
    ordered, start = "--method=ordered", "note: going on with an earlier run: "
    assert not told(killed("decide", ordered))
    assert told(killed("couple", ordered)) == [f"{start}0 of 6 blocks integrated"]
    assert told(killed("join", ordered)) == [f"{start}6 of 6 blocks integrated"]
    (swept,) = told(command(*words, ordered, "--dry-run").stderr)
    assert swept.startswith(f"{start}6 of 6 blocks integrated, ")
    assert swept.endswith("sweeps")
    assert told(killed("finish", ordered)) == [swept]
    done = command(*words, ordered)
    (looked,) = told(done.stderr)
    assert looked.endswith("sweeps, 6 of 6 looked at again")
    assert int(looked.split()[12]) == len(
        json.loads(words[2].with_suffix(".json").read_text())["changes"]
    )
    assert not told(command(*words, ordered).stderr)


@pytest.mark.parametrize("more", [(), ("--dry-run",)], ids=["run", "dry run"])
def test_other_settings_than_those_begun_are_refused(more, words, command, killed, tmp_path):
    killed("couple")
    before = sorted(tmp_path.rglob("*"))
    ended = command(*words, "--connectivity=8", *more)
    assert ended.exit_code == 1
    assert "parts of a run with other settings, or another map (changed: method)" in ended.stderr
    assert "or remove the folder to begin again" in ended.stderr
    assert not told(ended.stderr)
    assert sorted(tmp_path.rglob("*")) == before
