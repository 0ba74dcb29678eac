"""cameras.bin: the same cameras as the text, byte by byte."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from rayrelief.cameras.calibration import colmap_binary, colmap_text
from rayrelief.cameras.calibration.colmap_models import MODELS, Model
from rayrelief.cameras.calibration.reading import Request
from rayrelief.cameras.equirectangular import Equirectangular
from rayrelief.cameras.pinhole import Pinhole
from reference import calibrations as files

ONE = struct.pack("<QIiQQ4d", 1, 5, 1, 640, 480, 500.0, 510.0, 320.25, 240.75)


def test_a_single_camera(tmp_path: Path) -> None:
    reading = files.read(colmap_binary, tmp_path, ONE)
    assert reading.camera == Pinhole(500, 510, 319.75, 240.25, size=(640, 480))
    assert any("cx - 0.5" in note for note in reading.notes)


@pytest.mark.parametrize("which", ["1", "2"])
def test_the_binary_file_holds_what_the_text_holds(tmp_path: Path, which: str) -> None:
    request = Request(which=which)
    binary = files.read(colmap_binary, tmp_path, files.COLMAP_BINARY, request)
    text = files.read(colmap_text, tmp_path, files.COLMAP_TEXT, request)
    assert binary == text


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_every_model_is_read_by_its_number(tmp_path: Path, model: Model) -> None:
    values = [500.0, 510.0, 320.0, 240.0][-4:] + [0.01 * i for i in range(1, 13)]
    values = values[: len(model.parameters)]
    if model.kind is Equirectangular:
        values = [640.0, 480.0]
    data = struct.pack(f"<QIiQQ{len(values)}d", 1, 1, model.number, 640, 480, *values)
    assert files.read(colmap_binary, tmp_path, data).camera == model.camera(values, (640, 480))


@pytest.mark.parametrize(
    "data",
    [
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'shape': (3, 3), }      \n" + b"\0" * 72,
        b"PK\x03\x04" + b"\0" * 60,
        struct.pack("<QI4d3dI", 1, 1, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1) + b"a.jpg\0",
        struct.pack("<QIiQQ", 0, 1, 1, 640, 480),
        struct.pack("<QIiQQ", 1, 1, 1 << 20, 640, 480),
        struct.pack("<QIiQQ", 1, 1, 1, 0, 480),
        b"\0\1",
    ],
)
def test_other_binary_files_are_not_recognised(tmp_path: Path, data: bytes) -> None:
    assert not colmap_binary.recognises(files.parse(tmp_path, data))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            ONE[:-1],
            r"ends within camera 5 \(camera 1 of 1\), at byte 63; expected 4 parameters of PINHOLE",
        ),
        (ONE + b"\0", "1 bytes follow the last of 1 cameras; expected the end .* byte 64"),
        (struct.pack("<Q", 2) + ONE[8:] + b"\1\0\0\0", "ends within camera 2 of 2, at byte 68"),
        (struct.pack("<Q", 2) + ONE[8:] * 2, "camera 5 appears twice"),
        (
            struct.pack("<Q", 2) + ONE[8:] + struct.pack("<IiQQ", 6, 18, 4, 3),
            r"camera 6 \(camera 2 of 2, at byte 64\) has the model 18; expected one of 0 to 17",
        ),
        (
            struct.pack("<QIiQQ4d", 1, 7, 99, 640, 480, 1, 1, 1, 1),
            r"camera 7 \(camera 1 of 1, at byte 8\) has the model 99; expected one of 0 to 17",
        ),
        (
            struct.pack("<Q", 2) + ONE[8:] + struct.pack("<IiQQ4d", 6, 1, 2**40, 3, 5, 5, 2, 1),
            "camera 6 has the size 1099511627776x3",
        ),
        (ONE[:32] + struct.pack("<4d", 5, float("nan"), 2, 1), "camera 5 has fy = nan"),
        (ONE[:32] + struct.pack("<4d", -5, 5, 2, 1), "camera 5, holds focal lengths fx = -5.0"),
    ],
)
def test_broken_files(tmp_path: Path, data: bytes, words: str) -> None:
    files.check_broken(colmap_binary, tmp_path, data, words)
