"""What the benchmark of known depths measures, on one draw of each."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import known_depth
from benchmarks.diligent import read_map, truth
from benchmarks.report import Table
from benchmarks.robustness import METHODS, made


@pytest.mark.data
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize(("wrong", "limit"), [(0, 0.3), (2, 0.5)])
def test_twenty_depths_place_the_parts_of_goblet(data_root, method, wrong, limit):
    scene = read_map("goblet")
    known = known_depth.few_depths(scene, wrong, seed=0)
    off = np.abs(known / truth(scene) - 1)
    assert (np.count_nonzero(np.isfinite(known)), np.count_nonzero(off > 0.2)) == (20, wrong)
    assert known_depth.errors(scene, method, known)[0] < limit


@pytest.mark.data
def test_a_coarse_depth_does_no_harm_to_bear(data_root):
    scene, method = read_map("bear"), METHODS["Ordered"]
    coarse = known_depth.coarse_depth(scene, seed=4)  # whose noise used to bend the surface most
    assert 1.9 < np.nanstd(coarse - truth(scene)) < 3
    assert known_depth.errors(scene, method, coarse)[1] < made(scene, method)


def test_textures_repeat():
    table = known_depth.tiles()
    assert table.checks
    assert all(check.holds for check in table.checks)


def test_other_draws_are_asked_for_by_their_first_seed(monkeypatch, tmp_path):
    asked: list[range] = []

    def noted(seeds: range) -> Table:
        asked.append(seeds)
        return Table("", (), ())

    monkeypatch.setattr(known_depth, "points", noted)
    for chosen in ([], ["--first", "100"], ["--draws", "3", "--first", "7"]):
        known_depth.main(["points", "--output", str(tmp_path), *chosen])
    assert asked == [range(16), range(100, 116), range(7, 10)]
