"""Photos among normal maps: told by the lengths of what their colours stand for."""

from __future__ import annotations

import numpy as np
import pytest

from rayrelief import read_scene
from rayrelief.conventions import from_opencv
from rayrelief.datasets.check_up import check_up
from rayrelief.doctor.likeness import picture_told
from rayrelief.errors import InputError
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
    assert picture_told(stored, np.ones(stored.shape[:2], bool)) == ""


def test_colours_and_short_vectors_are_no_normals():
    assert "only" in picture_told(2 * photo() - 1, EVERYWHERE)
    short = 0.7 * GALLERY["sphere"](96, 128).normals
    assert "only 0 %" in picture_told(short, EVERYWHERE)


def test_a_photo_is_refused_unless_it_is_said_to_be_normals(tmp_path):
    path = tmp_path / "photo.png"
    write_png(path, np.rint(photo() * 255).astype(np.uint8))
    with pytest.raises(InputError, match="like a photo") as refused:
        read_scene(path, convention="opengl", camera="orthographic")
    assert "--no-convention-check" in refused.value.remedy
    assert check_up(path).picture
    assert not check_up(path).command
    read_scene(path, convention="opengl", camera="orthographic", check_convention=False)


def test_normals_on_a_photo_are_no_photo(tmp_path):
    scene = GALLERY["sphere"](96, 128)
    colours = (from_opencv(scene.normals, "opengl") + 1) / 2
    both = np.where(scene.mask[..., None], np.nan_to_num(colours), photo())
    write_png(tmp_path / "normal_map.png", np.rint(both * 255).astype(np.uint8))
    write_png(tmp_path / "mask.png", 255 * scene.mask.astype(np.uint8))
    found = read_scene(tmp_path, convention="opengl", camera="orthographic")
    np.testing.assert_array_equal(found.mask, scene.mask)
