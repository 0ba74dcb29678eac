"""Photos among normal maps: told by the lengths of what their colours stand for."""

from __future__ import annotations

import warnings
from contextlib import suppress
from functools import partial

import numpy as np
import pytest

from rayrelief import read_scene
from rayrelief.conventions import from_opencv
from rayrelief.doctor.likeness import unlike_normals
from rayrelief.errors import IntegrationWarning
from rayrelief.io.images import write_png
from rayrelief.synthetic import GALLERY

EVERYWHERE = np.ones((96, 128), bool)


def photo(height=96, width=128):
    """Smooth colours of any brightness."""
    v, u = np.indices((height, width)) / 30.0
    bright = 0.5 + 0.4 * np.sin(2.1 * u + np.cos(v)) * np.cos(1.3 * v)
    tint = 1.0 + 0.2 * np.stack((np.sin(u), np.cos(v), np.sin(u + v)), axis=-1)
    return np.clip(bright[..., None] * tint, 0, 1)


@pytest.mark.parametrize("block", [1, 2, 4])
@pytest.mark.parametrize("name", ["still_life", "crowd", "room"])
def test_normals_are_no_photo_nor_are_means_of_them(name, block):
    normals = GALLERY[name](192, 256).normals
    means = normals.reshape(192 // block, block, 256 // block, block, 3).mean(axis=(1, 3))
    stored = np.rint((means + 1) / 2 * 255) / 255 * 2 - 1
    assert unlike_normals(stored, np.ones(stored.shape[:2], bool)) == ""


def test_colours_of_any_length_are_those_of_a_photo():
    assert "a photo" in unlike_normals(2 * photo() - 1, EVERYWHERE)


@pytest.mark.parametrize(
    ("lengths", "told"),
    [
        ((0.7, 0.7), "averaged or weighted"),
        ((0.85, 0.85), ""),  # means of normals
        ((0.5, 1.2), "a photo"),  # as near to 1 as these are
        ((0.86, 1.0), ""),
    ],
)
def test_lengths_tell_normals(lengths, told):
    rng = np.random.default_rng(0)
    normals = GALLERY["still_life"](96, 128).normals
    shortest, longest = lengths
    vectors = normals * rng.uniform(shortest, longest, (96, 128, 1))
    found = unlike_normals(vectors, EVERYWHERE)
    assert told in found
    assert bool(told) == bool(found)


def test_few_vectors_and_none_tell_nothing():
    colours = 2 * photo() - 1
    few = np.zeros_like(EVERYWHERE)
    few[5, :100] = True
    assert unlike_normals(colours, few) == ""
    colours[:, 3:] = np.nan
    assert unlike_normals(colours, EVERYWHERE) == ""


def test_what_is_inside_the_mask_alone_is_looked_at(tmp_path):
    scene = GALLERY["sphere"](96, 128)
    colours = (from_opencv(scene.normals, "opengl") + 1) / 2
    both = np.where(scene.mask[..., None], np.nan_to_num(colours), photo())
    write_png(tmp_path / "normal_map.png", np.rint(both * 255).astype(np.uint8))
    write_png(tmp_path / "mask.png", 255 * scene.mask.astype(np.uint8))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read_scene(tmp_path, convention="opengl", camera="orthographic")
    np.testing.assert_array_equal(found.mask, scene.mask)


def test_a_photo_that_is_read_as_normals_is_warned_of_unless_nothing_is_checked(tmp_path):
    path = tmp_path / "photo.png"
    write_png(path, np.rint(0.5 + 255 * photo()).clip(0, 255).astype(np.uint8))
    read = partial(read_scene, path, convention="opengl", camera="orthographic")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(check_convention=False)
    with (
        pytest.warns(IntegrationWarning, match=r"photo\.png may be no normal map: only"),
        suppress(ValueError),  # its axes are refused, too
    ):
        read()
