"""What a file is that is dropped on the page."""

from __future__ import annotations

import numpy as np
import pytest

from rayrelief.errors import FileError
from rayrelief.synthetic import gallery
from rayrelief.viewer.page.dropping import CAMERA, MASK, NORMALS, drop_zone, role_of
from rayrelief.viewer.page.upload import harmless
from reference.layout import write_layout

NORMAL_MAP = gallery.sphere(20, 30).normals
GREY = np.zeros((20, 30, 3))


@pytest.fixture(scope="module")
def layout(tmp_path_factory):
    return write_layout(tmp_path_factory.mktemp("drop") / "ball", gallery.sphere(20, 30))


@pytest.mark.parametrize(
    ("name", "role"), [("normal_map.png", NORMALS), ("mask.png", MASK), ("K.txt", CAMERA)]
)
def test_files_of_a_folder(layout, name, role):
    assert role_of(layout / name) == role


@pytest.mark.parametrize(
    ("name", "array", "role"),
    [
        ("normals.npy", NORMAL_MAP, NORMALS),
        ("inside.npy", np.ones((20, 30), bool), MASK),
        ("grey.npy", GREY, MASK),
        ("K.npy", np.eye(3), CAMERA),
        ("rays.npy", NORMAL_MAP, CAMERA),
        ("first.npy", np.moveaxis(NORMAL_MAP, 2, 0), NORMALS),
        ("batch.npy", NORMAL_MAP[None], NORMALS),
        ("row.npy", np.ones(20), MASK),
        ("number.npy", np.array(1.0), MASK),
    ],
)
def test_arrays(tmp_path, name, array, role):
    np.save(tmp_path / name, array)
    assert role_of(tmp_path / name) == role


@pytest.mark.parametrize(
    ("arrays", "role"),
    [
        ({"mtx": np.eye(3), "dist": np.zeros(5)}, CAMERA),
        ({"normals": NORMAL_MAP, "mask": np.ones((20, 30))}, NORMALS),
    ],
    ids=["a calibration of OpenCV", "normals beside their mask"],
)
def test_files_of_several_arrays(tmp_path, arrays, role):
    np.savez(tmp_path / "file.npz", **arrays)
    assert role_of(tmp_path / "file.npz") == role


def test_what_cannot_be_read_is_refused(tmp_path):
    (tmp_path / "map.png").write_text("no picture")
    with pytest.raises(FileError, match="does not start like PNG data"):
        role_of(tmp_path / "map.png")


@pytest.mark.parametrize("name", ["../../K.txt", "a/b/K.txt", "..K.txt"])
def test_names_lead_nowhere_else(name):
    assert harmless(name) == "K.txt"


def test_the_label_of_the_zone_is_text():
    assert 'data-folder="&lt;b&gt;&quot;"' in drop_zone('<b>"')
