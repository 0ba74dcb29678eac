"""What the numbers of maps in blocks stand for: decided once, as for maps in memory."""

import numpy as np
import pytest

from rayrelief.conventions import from_opencv
from rayrelief.errors import FileError
from rayrelief.io.normals import read_normals
from rayrelief.large import samples
from rayrelief.large.arrays import MapFile
from rayrelief.synthetic.surroundings import wavy_relief

tifffile = pytest.importorskip("tifffile")
zarr = pytest.importorskip("zarr")

HEIGHT, WIDTH = 96, 130
CODES = {
    "vectors": lambda n: n.astype(np.float32),
    "0 to 1": lambda n: ((n + 1) / 2).astype(np.float32),
    "8 bits": lambda n: np.round((n + 1) * 127.5).astype(np.uint8),
    "truncated": lambda n: ((n + 1) * 127.5).astype(np.uint8),
    "128 is zero": lambda n: np.round(n * 127 + 128).astype(np.uint8),
    "127 is zero": lambda n: np.round(n * 127 + 127).astype(np.uint8),
    "16 bits": lambda n: np.round((n + 1) * 32767.5).astype(np.uint16),
    "sRGB": lambda n: np.round(255 * 1.055 * ((n + 1) / 2) ** (1 / 2.4) - 14.025).astype(np.uint8),
    "two": lambda n: np.round((n * (1, 1, 0) + (1, 1, 1)) * 127.5).astype(np.uint8),
}


@pytest.fixture
def normals():
    relief = wavy_relief(HEIGHT, WIDTH)
    slopes = relief.normals * (12, 12, 1)  # which tell more than a flat wall does
    return from_opencv(slopes / np.linalg.norm(slopes, axis=-1, keepdims=True), "opengl")


def both(path, values, window=np.s_[10:70, 30:110]):
    """Window of a map as read in blocks, and of the same file as read whole."""
    tifffile.imwrite(path, values, photometric="rgb", tile=(32, 32))
    whole = read_normals(path)
    vectors, inside = MapFile.at(path, "opencv").read(window)
    return vectors, inside, whole.normals[window], ~whole.outside[window]


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("small", [True, False])
def test_parts_are_decoded_as_the_whole_map(tmp_path, normals, code, small, monkeypatch):
    if not small:
        monkeypatch.setattr(samples, "SAMPLE", 1000)
        monkeypatch.setattr(samples, "SIDE", 24)
    vectors, inside, whole, kept = both(tmp_path / "m.tif", CODES[code](normals))
    np.testing.assert_array_equal(vectors[kept], whole[kept])
    np.testing.assert_array_equal(inside, kept)


def test_a_grey_background(tmp_path, normals):
    values = CODES["8 bits"](normals)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    values[np.hypot(y - 48, x - 65) > 40] = 160
    _, inside, _, kept = both(tmp_path / "m.tif", values)
    np.testing.assert_array_equal(inside, kept)
    assert 0 < kept.sum() < kept.size


def test_what_lies_between_samples_has_to_agree(tmp_path, normals, monkeypatch):
    monkeypatch.setattr(samples, "SAMPLE", 1000)
    monkeypatch.setattr(samples, "SIDE", 4)
    values = CODES["vectors"](normals)
    values[20:60, 22:42] = CODES["0 to 1"](normals)[20:60, 22:42]
    tifffile.imwrite(tmp_path / "m.tif", values, photometric="rgb", tile=(32, 32))
    monkeypatch.setattr(samples, "spread", lambda *_: [np.s_[64:96, 0:130]])
    with pytest.raises(FileError, match="read as 'floats, as stored'"):
        MapFile.at(tmp_path / "m.tif", "opencv").read(np.s_[20:60, 22:42])
    values = CODES["0 to 1"](normals)
    values[20:60, 22:42] = CODES["vectors"](normals)[20:60, 22:42]
    tifffile.imwrite(tmp_path / "m.tif", values, photometric="rgb", tile=(32, 32))
    with pytest.raises(FileError, match="read as 'floats between 0 and 1"):
        MapFile.at(tmp_path / "m.tif", "opencv").read(np.s_[10:50, 10:50])


def test_a_hole_of_the_fourth_channel_between_samples(tmp_path, normals, monkeypatch):
    monkeypatch.setattr(samples, "SAMPLE", 1000)
    monkeypatch.setattr(samples, "spread", lambda *_: [np.s_[64:96, 0:130]])
    values = np.concatenate((CODES["8 bits"](normals), np.full((HEIGHT, WIDTH, 1), 255)), axis=-1)
    values[20:60, 22:42, 3] = 0
    values[:10, :10, :3] = 255, 0, 0  # a background, which an opaque channel does not make a normal
    expected = values[..., 3] > 0
    expected[:10, :10] = False
    path = tmp_path / "m.tif"
    tifffile.imwrite(path, values.astype(np.uint8), photometric="rgb", tile=(32, 32))
    everything = np.s_[0:HEIGHT, 0:WIDTH]
    np.testing.assert_array_equal(MapFile.at(path, "opencv").read(everything)[1], expected)
    assert MapFile.at(path, "opencv", masked=False).read(everything)[1].all()


def test_samples_are_closer_where_they_show_little(monkeypatch):
    monkeypatch.setattr(samples, "SAMPLE", 1000)
    monkeypatch.setattr(samples, "SIDE", 8)
    image = np.zeros((400, 400, 3), np.uint8)
    image[90:120, 90:120] = (200, 90, 80)  # between the windows of the first look
    assert np.count_nonzero(samples.sample_of(image).any(axis=-1)) >= 200
