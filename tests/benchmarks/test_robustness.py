"""Robustness is measured on changed inputs, and held to its limits."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import robustness
from benchmarks.accuracy.inputs import PERTURBATIONS
from rayrelief.synthetic import GALLERY

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def scene():
    return GALLERY["tori"](48, 64)


def test_every_change_is_tried_with_both_methods(scene, monkeypatch):
    seen = []

    def counted(changed, method):
        seen.append((type(method).__name__, changed))
        return 0.1 * len(seen)

    monkeypatch.setattr(robustness, "made", counted)
    table: Any = robustness.steady([scene])
    ordered = 0.1 * len(PERTURBATIONS)
    assert len(seen) == 2 * len(PERTURBATIONS)
    assert table.rows[0][2] == pytest.approx(ordered), "the largest, and of Ordered first"
    assert not table.checks[0].holds, "0.8 is more than 1.3 times 0.45"


def test_noise_is_compared_seed_by_seed(scene):
    table: Any = robustness.noisy([scene], seeds=(3,))
    assert len(table.rows) == len(robustness.LEVELS)
    _, what, ordered, plain, ratio = table.rows[-1]
    assert what == "outliers 12"
    assert ratio == pytest.approx(ordered / plain)
    assert ratio < 1
