"""Focal lengths that photos tell."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from rayrelief.cameras.calibration import Request, read_calibration
from rayrelief.errors import FileError

Image = pytest.importorskip("PIL.Image", reason="needs Pillow, the extra 'photo'")


def photo(folder: Path, *, orientation: float = 1, **tags: float) -> Path:
    """A photo of 300x200 pixels with these EXIF tags."""
    numbers = {"on_film": 0xA405, "length": 0x920A, "density": 0xA20E, "unit": 0xA210}
    image = Image.fromarray(np.zeros((200, 300, 3), np.uint8))
    exif = Image.Exif()
    exif[0x0112] = int(orientation)
    exif.get_ifd(0x8769).update({numbers[name]: value for name, value in tags.items()})
    image.save(folder / "photo.jpg", exif=exif)
    return folder / "photo.jpg"


def test_focal_length_on_film(tmp_path: Path) -> None:
    camera = read_calibration(photo(tmp_path, on_film=50), Request(height=100, width=150)).camera
    expected = 50 / math.hypot(36, 24) * math.hypot(150, 100)
    assert camera.parameters()["fx"] == pytest.approx(expected)
    assert (camera.parameters()["cx"], camera.parameters()["cy"]) == (74.5, 49.5)


def test_a_photo_that_is_shown_upright_is_a_camera_of_upright_maps(tmp_path: Path) -> None:
    path = photo(tmp_path, orientation=6, on_film=50)
    camera = read_calibration(path, Request(height=150, width=100)).camera
    expected = 50 / math.hypot(36, 24) * math.hypot(150, 100)
    assert camera.parameters()["fx"] == pytest.approx(expected)


def test_focal_length_on_the_sensor(tmp_path: Path) -> None:
    camera = read_calibration(photo(tmp_path, length=8.0, density=500.0, unit=3)).camera
    assert camera.parameters()["fx"] == pytest.approx(8.0 * 50.0)  # 500 pixels per cm


@pytest.mark.parametrize("tags", [{}, {"length": 8.0}, {"on_film": 0}])
def test_a_photo_that_does_not_tell_names_the_option(
    tmp_path: Path, tags: dict[str, float]
) -> None:
    with pytest.raises(FileError, match=r"does not tell its focal length.*--focal"):
        read_calibration(photo(tmp_path, **tags))


def test_a_map_of_another_shape_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"300x200 .* the same proportions"):
        read_calibration(photo(tmp_path, on_film=50), Request(height=100, width=100))


def test_a_photo_may_be_larger_than_what_pillow_would_decode(tmp_path: Path) -> None:
    path = photo(tmp_path, on_film=50)
    data = bytearray(path.read_bytes())
    start = data.find(b"\xff\xc0")  # the frame: its height and its width follow
    data[start + 5 : start + 9] = (20_000).to_bytes(2, "big") + (30_000).to_bytes(2, "big")
    path.write_bytes(data)
    camera = read_calibration(path).camera
    assert camera.resolution == (30_000, 20_000)


def test_a_photo_without_pixels_is_damaged(tmp_path: Path) -> None:
    path = photo(tmp_path, on_film=50)
    data = bytearray(path.read_bytes())
    start = data.find(b"\xff\xc0")
    data[start + 5 : start + 9] = bytes(4)
    path.write_bytes(data)
    with pytest.raises(FileError, match="without pixels"):
        read_calibration(path)
