"""Perturbations do exactly what they say, and leave NaN and the input alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import fewer_examples
from rayrelief.errors import InputError
from rayrelief.synthetic.perturb import (
    quantised,
    with_extended_errors,
    with_outliers,
    with_rotation_noise,
)

SEEDS = st.integers(0, 2**32 - 1)


def normal_map(seed, height=40, width=50):
    normals = np.random.default_rng(seed).normal(size=(height, width, 3))
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    normals[:5] = np.nan
    return normals


def angles(a, b):
    return np.degrees(np.arccos(np.clip(np.sum(a * b, axis=-1), -1, 1)))


@fewer_examples(2)
@given(seed=SEEDS, fraction=st.floats(0.0, 1.0))
def test_outliers_replace_exactly_their_share(seed, fraction):
    normals = normal_map(seed)
    before = normals.copy()
    noisy = with_outliers(normals, fraction, np.random.default_rng(seed + 1))
    np.testing.assert_array_equal(normals, before)
    changed = (noisy != normals).any(axis=-1)
    assert changed[5:].sum() == round(fraction * (35 * 50))
    assert np.isnan(noisy[:5]).all()
    np.testing.assert_allclose(np.linalg.norm(noisy[5:], axis=-1), 1.0, rtol=1e-14)


def test_outliers_point_everywhere():
    normals = np.broadcast_to((0.0, 0.0, -1.0), (100, 100, 3))
    mean = with_outliers(normals, 1.0, np.random.default_rng(7)).mean(axis=(0, 1))
    assert np.linalg.norm(mean) < 0.05


@fewer_examples(2)
@given(seed=SEEDS, degrees=st.floats(0.0, 30.0))
def test_rotation_noise_keeps_lengths_and_has_the_right_size(seed, degrees):
    normals = normal_map(seed, 105, 100)
    noisy = with_rotation_noise(normals, degrees, np.random.default_rng(seed + 1))
    np.testing.assert_allclose(np.linalg.norm(noisy[5:], axis=-1), 1.0, rtol=1e-13)
    assert np.isnan(noisy[:5]).all()
    # A random axis leaves two thirds of the squared chord 2 - 2 cos(angle) on average.
    chord = np.mean(np.sum((noisy - normals)[5:] ** 2, axis=-1))
    expected = 2 / 3 * 2 * (1 - np.exp(-(np.radians(degrees) ** 2) / 2))
    assert chord == pytest.approx(expected, rel=0.12)


def test_extended_errors_turn_neighbours_alike():
    normals = normal_map(3, 205, 200)
    flat = np.broadcast_to((0.0, 0.0, -1.0), normals.shape)
    turned = with_extended_errors(
        np.where(np.isnan(normals), normals, flat), 3.0, 10.0, np.random.default_rng(1)
    )
    assert np.isnan(turned[:5]).all()
    # A normal shows the rotations about two of the three axes.
    assert np.sqrt(np.mean(angles(turned, flat)[5:] ** 2)) == pytest.approx(3 * np.sqrt(2), rel=0.2)
    assert angles(turned[5:, 1:], turned[5:, :-1]).max() < 2.0


@pytest.mark.parametrize("truncate", [False, True])
@pytest.mark.parametrize("bits", [4, 8, 16])
def test_quantised_is_within_a_level_and_biased_only_where_truncated(bits, truncate):
    normals = normal_map(3, 205, 200)
    coarse = quantised(normals, bits, truncate=truncate)
    level = 2 / (2**bits - 1)
    np.testing.assert_allclose(np.linalg.norm(coarse[5:], axis=-1), 1.0, rtol=1e-14)
    assert np.isnan(coarse[:5]).all()
    worst = np.degrees(level * np.sqrt(3) * (1.0 if truncate else 0.5))
    assert angles(coarse, normals)[5:].max() < 1.1 * worst + 1e-5
    # Cutting off lowers each component by half a level; unit length keeps two thirds of it.
    bias = (coarse - normals)[5:].mean(axis=(0, 1)) / level
    np.testing.assert_allclose(bias, -1 / 3 if truncate else 0.0, atol=0.02)


def test_two_bits_in_closed_form():
    # Levels -1, -1/3, 1/3, 1: a component of 0.1 rounds to 1/3 and is cut off to -1/3.
    normal = np.array((0.1, 0.1, -np.sqrt(0.98)))
    np.testing.assert_allclose(quantised(normal, 2) * np.sqrt(11), (1, 1, -3), rtol=1e-14)
    cut = quantised(normal, 2, truncate=True)
    np.testing.assert_allclose(cut * np.sqrt(11), (-1, -1, -3), rtol=1e-14)


@pytest.mark.parametrize(
    "call",
    [
        lambda n, rng: with_outliers(n, 1.5, rng),
        lambda n, rng: with_rotation_noise(n, -1.0, rng),
        lambda n, rng: with_extended_errors(n, -1.0, 9.0, rng),
        lambda n, rng: with_extended_errors(n, 3.0, 0.0, rng),
        lambda n, rng: quantised(n, 0),
        lambda n, rng: quantised(n, 32),
    ],
)
def test_impossible_noise_is_refused(call):
    with pytest.raises(InputError):
        call(normal_map(0), np.random.default_rng(0))
