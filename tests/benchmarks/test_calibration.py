"""Calibration on tiny scenes: the curves rise where they must, and the models follow them."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from benchmarks.calibration import edges as measured
from benchmarks.calibration.__main__ import INPUTS, main
from benchmarks.calibration.curves import (
    COSTS,
    constants,
    error_curve,
    error_over_sigma,
    in_order,
    jump_curve,
    jump_probability,
    order_curve,
    order_probability,
)
from benchmarks.calibration.edges import Edges, edges_of, renderers, turned
from benchmarks.calibration.stages import stages
from rayrelief.formulation import intervals
from rayrelief.io.images import read_image

SIZE = 96, 128
inputs = pytest.mark.parametrize("name", INPUTS)


@cache
def small(name: str) -> Edges:
    scenes = renderers(*SIZE)
    chosen = [scenes[scene] for scene in ("crowd 0", "still_life", "tori")]
    return Edges.joined(edges_of(scene, INPUTS[name], SIZE) for scene in chosen)


def gain(happens, probability) -> float:
    """By how much a probability for each edge predicts better than one for all, per edge."""
    happens = np.asarray(happens, dtype=bool)

    def likelihood(p):
        return np.mean(np.log(np.where(happens, p, 1.0 - p)))

    return float(likelihood(probability) - likelihood(happens.mean()))


@inputs
def test_error_grows_with_the_width_and_sigma_says_so(name):
    edges = small(name)
    errors = error_curve(edges, 0.9).measured[3:]  # narrower ones are exact
    assert (np.diff(errors[np.isfinite(errors)]) > 0).all()
    whole = edges.where(~edges.jumps & (np.abs(edges.half_width) > 0.1))

    def likelihood(sigma):
        z = whole.residual / sigma
        gauss, stray = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi), 1 / (3 * np.pi * (1 + z**2 / 9))
        return np.mean(np.log((0.95 * gauss + 0.05 * stray) / sigma))

    assert likelihood(whole.sigma) > max(map(likelihood, np.geomspace(1e-3, 10, 40)))


@inputs
def test_jumps_are_where_intervals_are_wide_and_their_probability_says_so(name):
    edges = small(name)
    valleys, ridges = jump_curve(edges, ridges=False), jump_curve(edges, ridges=True)
    assert (np.diff(valleys.measured[2:6]) > 0).all()  # from 0.01 to 1 pixel; then they are common
    assert (valleys.measured[2:8] > 5 * ridges.measured[2:8]).all()
    assert gain(edges.jumps, jump_probability(edges.half_width, edges.lead)) > 0


@inputs
def test_jumps_are_rarer_where_both_sides_recede(name):
    edges = small(name)
    valleys = edges.where(edges.half_width > 0.3)
    known = jump_probability(valleys.half_width, valleys.lead)
    blind = jump_probability(valleys.half_width, 2 * valleys.half_width)  # as if one ran level
    assert gain(valleys.jumps, known) > gain(valleys.jumps, blind)


@inputs
def test_faster_receding_side_is_in_front_and_its_probability_says_so(name):
    edges = small(name)
    assert order_curve(edges, both_recede=False).measured[-1] > 0.95
    jumps = edges.where(edges.jumps)
    known = order_probability(jumps.half_width, jumps.lead)
    assert gain(in_order(jumps), known) > gain(in_order(jumps), np.full(known.shape, known.mean()))


@pytest.mark.parametrize("degrees", [0.5, 2.0])
def test_noise_is_found_and_covered_by_sigma(degrees):
    edges = edges_of(renderers(*SIZE)["crowd 0"], turned(degrees), SIZE)
    assert np.degrees(edges.noise) == pytest.approx(degrees / np.sqrt(3), rel=0.15)
    assert error_over_sigma(edges, 0.9) < 1


def test_truth_does_not_depend_on_the_input():
    scene = renderers(*SIZE)["crowd 0"]
    exact, noisy = (edges_of(scene, each, SIZE) for each in (measured.exact, turned(0.1)))
    np.testing.assert_array_equal(exact.jump, noisy.jump)


def test_constants_are_read_off_where_the_model_is_the_truth():
    rng, count = np.random.default_rng(0), 400_000
    half_width = 10 ** rng.uniform(-3, 1.5, count) * rng.choice([-1, 1], count)
    sigma = np.hypot(intervals.EXACT, intervals.SPREAD * half_width)
    lead = rng.choice([-1.0, 1.0], count) * 2 * COSTS.sure
    happens = rng.random(count) < jump_probability(half_width, lead)
    front = np.where(rng.random(count) < 0.5 + COSTS.ordered, -1.0, 1.0)
    jump = np.where(happens, front * lead, 0.0)
    edges = Edges(half_width, sigma, lead, rng.normal(0.0, sigma), jump, np.zeros(1))
    for name, value in constants(edges).items():
        used = getattr(COSTS, name) if name in COSTS._fields else getattr(intervals, name)
        assert value == pytest.approx(used, rel=0.25), name


def test_stages_go_on_where_the_one_before_ended():
    scene = renderers(*SIZE)["crowd 0"](*SIZE)
    energies = [[each.energy for each in result.history] for result in stages(scene)]
    assert len({len(each) for each in energies}) == 3
    for before, after in pairwise(energies):
        assert after[: len(before)] == before


def test_command_draws_what_it_measures(tmp_path, capsys):
    options = ["--size", "48,64", "--images", str(tmp_path), "--output", str(tmp_path)]
    assert main(["curves", *options]) == 0
    picture = read_image(tmp_path / "ordered_calibration.png")
    assert 0.01 < (picture < 255).mean() < 0.5  # on white
    text = (tmp_path / "calibration-curves.md").read_text(encoding="utf-8")
    assert text.count("\n## ") == 6
    with pytest.raises(SystemExit, match="2"):
        main(["curve", *options])
