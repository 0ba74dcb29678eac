"""What holds for every format of calibrations, through the door that all of them go through."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import fewer_examples
from rayrelief.cameras.calibration import (
    READERS,
    Reading,
    Request,
    blender,
    camera_json,
    colmap_binary,
    colmap_text,
    intrinsics_text,
    k_txt,
    kalibr,
    meshroom,
    metashape,
    moge,
    mrcal,
    nerfstudio,
    opencv_file,
    read_calibration,
    ros_camera_info,
)
from rayrelief.cameras.calibration.reading import Reader
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.errors import FileError, RayreliefError
from reference.calibrations import FILES, ROS_MESSAGE, parse, write

OWNERS: dict[str, Reader] = {
    "camera_json": camera_json,
    "opencv_yaml": opencv_file,
    "opencv_xml": opencv_file,
    "opencv_json": opencv_file,
    "opencv_script": opencv_file,
    "ros_file": ros_camera_info,
    "ros_message": ros_camera_info,
    "kalibr": kalibr,
    "mrcal": mrcal,
    "colmap_text": colmap_text,
    "colmap_binary": colmap_binary,
    "nerfstudio": nerfstudio,
    "nerf_blender": nerfstudio,
    "metashape_calibration": metashape,
    "metashape_cameras": metashape,
    "meshroom": meshroom,
    "blender": blender,
    "bop_camera": blender,
    "bop_scene": blender,
    "moge_intrinsics": moge,
    "moge_fov": moge,
    "dsine": intrinsics_text,
    "k_txt": k_txt,
}
# What has to be said to read some of them: one of several cameras, or the size of the image.
REQUESTS = {
    "kalibr": Request(which="cam1"),
    "colmap_text": Request(which="2"),
    "colmap_binary": Request(which="2"),
    "bop_scene": Request(which="1"),
    "nerf_blender": Request(height=800, width=800),
    "moge_intrinsics": Request(height=480, width=640),
    "moge_fov": Request(height=480, width=640),
}
DAMAGES = 300
PIECES = (
    *(b"", b" ", b"\n", b"\t", b"-", b"0", b"9" * 5000, b"1e999", b"nan", b"inf", b"null", b"true"),
    *(b"[", b"]", b"{", b"}", b"[]", b"{}", b"<", b">", b"<a/>", b"&", b"*", b"!", b"!!", b"'"),
    *(b'"', b"#", b"//", b":", b",", b"\\", b"%", b"---\n", b"\0", b"\xff", b"\xef\xbb\xbf"),
)
NUMBER = re.compile(rb"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
NUMBERS = (
    *(b"0", b"-1", b"0.5", b"1e308", b"-1e308", b"1e-320", b"9" * 5000, b"0x" + b"f" * 5000),
    *(b"nan", b"inf", b"null", b"true", b"[]", b"{}", b'""', b"'1'"),
)

EVERY_SAMPLE = pytest.mark.parametrize("key", FILES)


def read(folder: Path, content: str | bytes, name: str, request: Request | None = None) -> Reading:
    return read_calibration(write(folder, content, name), request)


def damaged(content: str | bytes, random: Random) -> Iterator[bytes]:
    """A file that was cut, overwritten or garbled at random places, again and again."""
    data = content if isinstance(content, bytes) else content.encode()
    numbers = list(NUMBER.finditer(data))
    while True:
        if numbers:
            start, end = random.choice(numbers).span()
            yield data[:start] + random.choice(NUMBERS) + data[end:]
        start, end = sorted(random.randrange(len(data) + 1) for _ in range(2))
        yield data[:start]
        yield data[:start] + random.choice(PIECES) + data[start:]
        yield data[:start] + random.choice((data[start:end], *PIECES)) + data[end:]
        garbled = bytearray(data)
        for _ in range(random.randint(1, 4)):
            garbled[random.randrange(len(data))] = random.choice(b" \n0159-.,:[]{}'\"#ex<>/&*!\0")
        yield bytes(garbled)


def test_every_sample_has_its_reader_and_every_reader_a_sample() -> None:
    assert OWNERS.keys() == FILES.keys()
    assert {reader.FORMAT for reader in OWNERS.values()} == {reader.FORMAT for reader in READERS}


@EVERY_SAMPLE
def test_a_file_is_recognised_by_its_own_reader_alone(tmp_path: Path, key: str) -> None:
    name, content = FILES[key]
    document = parse(tmp_path, content, name)
    assert [each.FORMAT for each in READERS if each.recognises(document)] == [OWNERS[key].FORMAT]
    notes = read_calibration(tmp_path / name, REQUESTS.get(key)).notes
    assert notes[0] == f"{name}: {OWNERS[key].FORMAT}"


@pytest.mark.parametrize("name", ["calibration.dat", "calibration", "K.txt"])
@EVERY_SAMPLE
def test_the_name_of_a_file_does_not_matter(tmp_path: Path, key: str, name: str) -> None:
    usual, content = FILES[key]
    request = REQUESTS.get(key)
    renamed = read(tmp_path, content, name, request)
    assert renamed.camera == read(tmp_path, content, usual, request).camera
    assert renamed.notes[0] == f"{name}: {OWNERS[key].FORMAT}"


@EVERY_SAMPLE
@fewer_examples(50)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_damaged_file_gives_a_camera_or_an_error_in_words(
    tmp_path: Path, key: str, seed: int
) -> None:
    name, content = FILES[key]
    random = Random(seed)
    refused = 0
    for _, variant in zip(range(DAMAGES), damaged(content, random), strict=False):
        file = random.choice((name, "calibration.dat"))
        try:
            read(tmp_path, variant, file, REQUESTS.get(key))
        except RayreliefError as error:
            if str(tmp_path / file) not in error.found:
                pytest.fail(f"{error} does not name the file, from {variant!r}")
            refused += 1
        except Exception as error:
            pytest.fail(f"{error!r} from {variant!r}")
    assert refused > DAMAGES // 4


@pytest.mark.parametrize("name", ["message.txt", "message.yaml", "message"])
def test_a_message_as_ros_prints_it_ends_with_the_mark_of_the_next(
    tmp_path: Path, name: str
) -> None:
    printed = read(tmp_path, ROS_MESSAGE + "---\n", name)
    assert printed.camera == read(tmp_path, ROS_MESSAGE, name).camera
    assert printed.notes[0] == f"{name}: {ros_camera_info.FORMAT}"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("frames.dat", '[{"fl_x": 500, "fl_y": 50'),
        ("frames.txt", '[\n  "left", "ri'),
        ("K.json", "[[500, 0, 320], [0, 500, 240], [0,"),
    ],
)
def test_a_list_of_json_that_was_cut_is_named(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(FileError, match=rf"{name}.*JSON.*line \d"):
        read(tmp_path, text, name)


def test_a_list_is_no_calibration(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"frames\.json.*COLMAP"):
        read(tmp_path, '[{"fl_x": 500}]', "frames.json")


CORNER = {
    "normalised.json": (
        '{"K": [[500, 0, 0.5], [0, 500, 0.5], [0, 0, 1]], "image_size": [640, 480]}',
        "(0.5, 0.5)",
    ),
    "cameras.txt": ("1 PINHOLE 640 480 500 500 0.5 0.25\n", "(0, -0.25)"),
}


@pytest.mark.parametrize("name", CORNER)
def test_a_principal_point_in_the_corner_is_noted(tmp_path: Path, name: str) -> None:
    text, place = CORNER[name]
    note = f"the principal point {place} lies in the corner of the image: is it normalised?"
    assert read(tmp_path, text, name).notes[-1] == note


@pytest.mark.parametrize(
    "camera",
    [
        Pinhole(500, 500, 1.5, 0.5, size=(640, 480)),
        Pinhole(500, 500, 0.5, 1.5, size=(640, 480)),
        Pinhole(500, 500, 0.5, 0.5, size=(15, 480)),
    ],
    ids=repr,
)
def test_a_principal_point_elsewhere_is_not_noted(tmp_path: Path, camera: Pinhole) -> None:
    opencv_file.write(tmp_path / "camera.yml", camera)
    assert len(read_calibration(tmp_path / "camera.yml").notes) == 1  # the name of the format


def test_the_corner_of_a_part_that_was_cut_out_is_not_noted(tmp_path: Path) -> None:
    camera_json.write(tmp_path / "part.json", Pinhole(500, 500, 0.5, 0.5, size=(640, 480)))
    assert not any("corner" in note for note in read_calibration(tmp_path / "part.json").notes)


@pytest.mark.parametrize("name", ["camera.yaml", "calibration.dat"])
@pytest.mark.parametrize(
    "text",
    [
        *("a: 2001-13-45\n", "x: !!float abc\n", "x: !!int ''\n", "x: !!bool maybe\n"),
        *("x: !!timestamp today\n", f"x: {'1:' * 300}1.5\n", f"x: 0x{'f' * 5000}\n"),
        "[" * 100_000,
    ],
    ids=lambda text: text[:20],
)
def test_what_breaks_a_parser_of_yaml_is_named(tmp_path: Path, text: str, name: str) -> None:
    with pytest.raises(FileError) as caught:
        read(tmp_path, text, name)
    assert name in caught.value.found
    assert caught.value.expected
    assert caught.value.remedy


@pytest.mark.parametrize("depth", [100, 900, 960, 980, 990])
def test_what_lies_as_deep_as_python_goes_is_refused_in_words(tmp_path, depth):
    content = '{"fl_x": ' + "[" * depth + "]" * depth + ', "w": 3, "h": 2, "frames": []}'
    with pytest.raises(FileError, match=r"transforms\.json"):
        read_calibration(write(tmp_path, content, "transforms.json"))
