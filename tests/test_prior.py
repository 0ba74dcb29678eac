"""Known depths: what they may be, and what a result says about them."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from rayrelief.errors import InputError
from rayrelief.prior import DepthPrior, PriorFit, nearest_pixel

FLAT = np.full((3, 4), 2.0)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"depth": np.full((3, 4), np.nan)}, "0 of them finite"),
        ({"depth": np.ones(5)}, r"shape \(5,\)"),
        ({"depth": FLAT > 1}, "those of a mask"),
        ({"depth": FLAT, "sigma": 0.0}, "not positive"),
        ({"depth": FLAT, "sigma": np.ones((4, 3))}, r"shape \(4, 3\)"),
        ({"depth": FLAT, "weight": -1.0}, "weight is -1"),
        ({"depth": FLAT, "residual": "cubic"}, "residual is 'cubic'"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, told):
    with pytest.raises(InputError, match=told):
        DepthPrior(**settings)


def test_sigma_of_pixels_without_a_known_depth_does_not_matter():
    depth = np.array([[1.0, np.nan]])
    assert DepthPrior(depth, sigma=np.array([[0.1, np.nan]])).known.tolist() == [[True, False]]


def test_points_are_columns_and_rows():
    prior = DepthPrior.at([(3, 0, 5.0), (0.4, 2.2, 7.0)], 3, 4)
    assert np.argwhere(prior.known).tolist() == [[0, 3], [2, 0]]
    assert np.asarray(prior.depth)[2, 0] == 7.0


@pytest.mark.parametrize("width", [4, 5])
def test_a_pixel_begins_half_a_pixel_before_its_centre(width):
    borders = [-0.5, 0.49, 0.5, 1.49, 1.5, width - 0.51, width - 0.5, -0.51]
    last = width - 1
    places = [0, 0, 1, 1, 2, last, None, None]
    assert [nearest_pixel(u, 1.0, 3, width) for u in borders] == [
        None if column is None else (1, column) for column in places
    ]


@pytest.mark.parametrize("point", [(4, 0, 1.0), (0, -1, 1.0), (0, 0, np.nan)])
def test_points_outside_of_the_image_are_refused(point):
    with pytest.raises(InputError, match="known point"):
        DepthPrior.at([point], 3, 4)


@pytest.mark.parametrize(
    ("depths", "kept"), [((2.0, 9.0), 2.0), ((2.0, 2.5, 9.0), 2.5), ((7.0, 7.0), 7.0)]
)
def test_of_several_points_at_one_pixel_the_median_counts(depths, kept):
    for order in permutations(depths):
        points = [(1.0 + 0.1 * i, 2.0, z) for i, z in enumerate(order)]
        assert np.asarray(DepthPrior.at(points, 4, 5).depth)[2, 1] == kept


def test_the_median_residual_leaves_out_what_was_outvoted():
    residual = np.array([[0.1, -0.1, 50.0, np.nan]])
    fit = PriorFit(residual, np.abs(residual) > 1, 0.1)
    assert fit.median_residual == 0.1
    assert str(fit) == "3 known depths, median residual 0.1, 1 outvoted"


def test_one_known_depth_is_told_as_one():
    residual = np.array([[0.1, np.nan]])
    assert str(PriorFit(residual, residual > 1, 0.1)).startswith("1 known depth, ")
