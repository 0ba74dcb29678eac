"""MADE, RE and ERA: closed forms, what they do not depend on, and what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import fewer_examples
from rayrelief.errors import InputError
from rayrelief.evaluation.metrics import aligned, depth_errors, error_map

SEEDS = st.integers(0, 2**32 - 1)


def random_maps(seed):
    """Positive depth and truth, each NaN here and there, both present somewhere."""
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 9, 2))
    maps = rng.uniform(0.5, 5.0, (2, *shape))
    maps[rng.random(maps.shape) < 0.2] = np.nan
    maps[:, 0, 0] = rng.uniform(0.5, 5.0, 2)
    return maps


def row(*values):
    return np.array([values], dtype=np.float64)


# Closed forms


def test_one_pixel_off_after_the_median_scale():
    errors = depth_errors(row(1, 1, 1, 1, 5) / 2, row(1, 1, 1, 1, 4), "scale")
    assert errors.made == pytest.approx(1 / 5, rel=1e-15)
    assert errors.re == pytest.approx(100 * (1 / 4) / 5, rel=1e-15)
    assert errors.era == pytest.approx(100 * (1 / 5) / (8 / 5), rel=1e-15)


def test_one_pixel_off_after_the_median_shift():
    errors = depth_errors(row(1, 2, 3, 4, 9) - 7, row(1, 2, 3, 4, 5), "shift")
    assert errors.made == pytest.approx(4 / 5, rel=1e-15)
    assert math.isnan(errors.re)
    assert math.isnan(errors.era)


def test_even_count_takes_the_middle_of_the_two_medians():
    np.testing.assert_allclose(aligned(row(1, 1), row(1, 3), "scale"), row(2, 2), rtol=1e-15)
    np.testing.assert_allclose(aligned(row(1, 1), row(1, 3), "shift"), row(2, 2), rtol=1e-15)


def test_error_map_is_absolute_and_missing_where_either_is():
    error = error_map(row(1, 2, np.nan, 4), row(1, np.nan, 3, 2), "shift")
    np.testing.assert_allclose(error, row(1, np.nan, np.nan, 1), rtol=1e-15)


@given(SEEDS)
def test_definition_of_the_benchmark(seed):
    """One global scale s = nanmedian(gt / est), then nanmean |s est - gt| and its two ratios."""
    depth, truth = random_maps(seed)
    s = np.nanmedian(truth / depth)
    errors = depth_errors(depth, truth, "scale")
    gap = np.abs(s * depth - truth)
    assert errors.made == pytest.approx(np.nanmean(gap), rel=1e-12)
    assert errors.re == pytest.approx(100 * np.nanmean(gap / truth), rel=1e-12)
    both = np.isfinite(gap)
    assert errors.era == pytest.approx(100 * gap[both].mean() / truth[both].mean(), rel=1e-12)


# What does not matter


@given(SEEDS, st.floats(1e-6, 1e6))
def test_scale_of_the_depth_does_not_matter(seed, scale):
    depth, truth = random_maps(seed)
    errors, scaled = (depth_errors(factor * depth, truth, "scale") for factor in (1.0, scale))
    # What is left of an error of zero is rounding, of the size of the depth.
    assert scaled.made == pytest.approx(errors.made, rel=1e-9, abs=1e-13)
    assert scaled.re == pytest.approx(errors.re, rel=1e-9, abs=1e-11)
    assert scaled.era == pytest.approx(errors.era, rel=1e-9, abs=1e-11)


@given(SEEDS, st.floats(-100, 100))
def test_shift_of_the_depth_does_not_matter(seed, shift):
    depth, truth = random_maps(seed)
    errors, shifted = (depth_errors(depth + step, truth, "shift") for step in (0.0, shift))
    assert shifted.made == pytest.approx(errors.made, rel=1e-9, abs=1e-12)


@given(SEEDS, st.floats(1e-3, 1e3))
def test_unit_of_the_truth_is_that_of_made_alone(seed, unit):
    depth, truth = random_maps(seed)
    errors, scaled = (depth_errors(depth, factor * truth, "scale") for factor in (1.0, unit))
    assert scaled.made == pytest.approx(unit * errors.made, rel=1e-9, abs=1e-13 * unit)
    assert scaled.re == pytest.approx(errors.re, rel=1e-9, abs=1e-11)
    assert scaled.era == pytest.approx(errors.era, rel=1e-9, abs=1e-11)


@fewer_examples(2)
@given(SEEDS, st.sampled_from(["scale", "shift"]))
def test_pixels_without_both_do_not_matter(seed, alignment):
    depth, truth = random_maps(seed)
    both = np.isfinite(depth) & np.isfinite(truth)
    kept = depth_errors(depth[both][None], truth[both][None], alignment)
    assert depth_errors(depth, truth, alignment).made == pytest.approx(kept.made, rel=1e-12)


def test_inputs_stay_as_they_are():
    depth, truth = row(1, 2, np.nan), row(2, 5, 3)
    depth.flags.writeable = truth.flags.writeable = False
    depth_errors(depth, truth, "scale")
    depth_errors(depth, truth, "shift")


# Words and refusals


def test_text_names_the_alignment():
    depth, truth = row(1, 2, 4), row(2, 4, 9)
    scaled = str(depth_errors(depth, truth, "scale"))
    shifted = str(depth_errors(depth, truth, "shift"))
    assert all(fact in scaled for fact in ("MADE", "scale", "0.3333", "RE ", "ERA "))
    assert all(fact in shifted for fact in ("MADE", "shift", "1.333"))
    assert "RE " not in shifted


def test_two_sizes():
    with pytest.raises(InputError, match=r"\(2, 3\).*\(3, 2\)"):
        depth_errors(np.ones((2, 3)), np.ones((3, 2)), "scale")


@pytest.mark.parametrize("alignment", ["scale", "shift"])
def test_no_pixel_in_common(alignment):
    with pytest.raises(InputError, match="no pixel has both"):
        depth_errors(row(1, np.nan), row(np.nan, 1), alignment)


@pytest.mark.parametrize(("depth", "truth"), [((1, 0), (1, 1)), ((1, 1), (0, 0))])
def test_zero_is_no_depth_where_a_scale_is_free(depth, truth):
    with pytest.raises(InputError, match=r"depth 0.*NaN"):
        depth_errors(row(*depth), row(*truth), "scale")
    assert depth_errors(row(*depth), row(*truth), "shift").made >= 0


def test_zero_outside_of_the_overlap_does_not_matter():
    assert depth_errors(row(1, np.nan), row(1, 0), "scale").made == 0
