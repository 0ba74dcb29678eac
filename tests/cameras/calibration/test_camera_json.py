"""camera.json: bit for bit there and back, and clear words for everything else."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras.base import Camera
from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.calibration import camera_json, read_camera
from rayrelief.cameras.calibration.camera_json import MODELS, Parametric
from rayrelief.cameras.calibration.document import read_document
from rayrelief.cameras.calibration.reading import Reading, Request
from rayrelief.cameras.intrinsics import FOCAL_LENGTHS, IntrinsicCamera
from rayrelief.cameras.orthographic import PIXEL_SIZES, Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.ray_map import RayMap
from rayrelief.errors import CameraError, FileError
from reference import calibrations as files

ANY = st.floats(allow_nan=False, allow_infinity=False)
SIZE = st.none() | st.tuples(st.integers(1, 10_000), st.integers(1, 10_000))
RANGES = {
    "fx": st.floats(*FOCAL_LENGTHS),
    "fy": st.floats(*FOCAL_LENGTHS),
    "pixel_size": st.floats(*PIXEL_SIZES),
    "size": SIZE,
    **dict.fromkeys(("cx", "cy", "skew"), ANY),
}
COEFFICIENT = st.floats(0.1, 0.9)  # within the domain of every model


def any_camera(kind: type[Parametric]) -> st.SearchStrategy[Parametric]:
    """Camera of a kind with all of its parameters."""
    named = {field.name: RANGES.get(field.name, COEFFICIENT) for field in fields(kind)}
    if getattr(kind, "panoramic", False):  # what goes around more than once is refused
        named["size"] = st.none() | st.tuples(st.just(1), st.just(1))
    return st.builds(kind, **named)


def read(path: Path) -> Reading:
    document = read_document(path)
    assert camera_json.recognises(document)
    return camera_json.read(document, Request())


def bits(camera: Parametric) -> list[object]:
    return [value.hex() if isinstance(value, float) else value for value in asdict(camera).values()]


@given(st.sampled_from(list(MODELS.values())).flatmap(any_camera))
def test_cameras_survive_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, camera: Parametric
) -> None:
    path = tmp_path_factory.mktemp("camera") / "camera.json"
    camera_json.write(path, camera)
    reading = read(path)
    again = reading.camera
    assert isinstance(again, type(camera))
    assert bits(again) == bits(camera)
    assert reading.notes == ()


def test_every_camera_with_parameters_has_a_name() -> None:
    def below(kind: type[Any]) -> set[type[Any]]:
        kinds = {each for child in kind.__subclasses__() for each in {child} | below(child)}
        own = {each for each in kinds if each.__module__.startswith("rayrelief.")}
        return {each for each in own if not each.__abstractmethods__}

    assert {*below(IntrinsicCamera), Orthographic} == set(MODELS.values())


def test_numpy_and_whole_numbers_are_written_as_plain_ones(tmp_path: Path) -> None:
    size: Any = (np.int64(4), 3)
    camera = Pinhole(np.float32(0.1), 3772, np.float64(1), np.int64(2), size=size)  # type: ignore[arg-type]
    camera_json.write(tmp_path / "camera.json", camera)
    assert read(tmp_path / "camera.json").camera == camera


def test_the_file_looks_as_documented(tmp_path: Path) -> None:
    camera_json.write(tmp_path / "camera.json", Pinhole(1.5, 2, 3, 4, size=(640, 480)))
    assert json.loads((tmp_path / "camera.json").read_text()) == {
        "format": "rayrelief-camera",
        "version": 1,
        "model": "pinhole",
        "parameters": {
            **{"fx": 1.5, "fy": 2.0, "cx": 3.0, "cy": 4.0},
            **{"skew": 0.0, "size": [640, 480]},
        },
    }


OLD = {"format": "rayrelief-camera", "version": 1}
CORE = {"fx": 600.0, "fy": 601.0, "cx": 320.0, "cy": 240.0}
LENS = {"k1": 0.1, "k2": 0.2, "p1": 0.3, "p2": 0.4, "k3": 0.5, "k4": 0.6, "k5": 0.7, "k6": 0.8}


@pytest.mark.parametrize(
    ("content", "camera"),
    [
        ({"model": "pinhole", "parameters": CORE}, Pinhole(600, 601, 320, 240)),
        (
            {"model": "brown_conrady", "parameters": CORE | LENS | {"size": [640, 480]}},
            BrownConrady(600, 601, 320, 240, *LENS.values(), size=(640, 480)),
        ),
        (
            {"model": "orthographic", "parameters": {"pixel_size": 2.0, "cx": 1.0, "cy": 3.0}},
            Orthographic(2, 1, 3),
        ),
        ({"model": "pinhole", "parameters": CORE | {"size": None}}, Pinhole(600, 601, 320, 240)),
    ],
)
def test_files_of_older_versions_are_read(
    tmp_path: Path, content: dict[str, object], camera: Parametric
) -> None:
    (tmp_path / "camera.json").write_text(json.dumps(OLD | content))
    assert read(tmp_path / "camera.json") == Reading(camera)


PLAIN = {"fx": 500, "fy": 400.5, "cx": 31, "cy": 23}


@pytest.mark.parametrize(
    ("content", "camera"),
    [
        (PLAIN, Pinhole(500.0, 400.5, 31.0, 23.0)),
        (PLAIN | {"size": [64, 48]}, Pinhole(500.0, 400.5, 31.0, 23.0, size=(64, 48))),
        (
            PLAIN | {"type": "BrownConrady", "k1": 0.1, "size": None},
            BrownConrady(500.0, 400.5, 31.0, 23.0, k1=0.1),
        ),
    ],
)
def test_parameters_alone_are_read_as_a_report_holds_them(
    tmp_path: Path, content: dict[str, Any], camera: Camera
) -> None:
    (tmp_path / "camera.json").write_text(json.dumps(content))
    assert read_camera(tmp_path / "camera.json") == camera


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (PLAIN | {"fx": "wide"}, "fx is 'wide'; expected a finite number"),
        (PLAIN | {"width": 64}, "width is unknown; expected only fx, fy"),
        (PLAIN | {"type": "Foo"}, "type is 'Foo'; expected one of Pinhole"),
        ({"fx": 500}, "fy is missing"),
        ({"version": 1, "model": "pinhole", "parameters": PLAIN}, "format is missing"),
        ({"format": "x", "model": "pinhole", "parameters": PLAIN}, "format is 'x'; expected one"),
        ({"type": "FeatureCollection"}, "not in a known calibration format"),
    ],
)
def test_a_file_that_is_nearly_one_is_refused_with_the_key(
    tmp_path: Path, content: dict[str, Any], words: str
) -> None:
    (tmp_path / "camera.json").write_text(json.dumps(content))
    with pytest.raises(FileError, match=words):
        read_camera(tmp_path / "camera.json")


def test_a_ray_map_is_sent_to_npy(tmp_path: Path) -> None:
    with pytest.raises(CameraError, match=r"RayMap.*\.npy"):
        camera_json.write(tmp_path / "camera.json", RayMap(np.ones((2, 2, 3))))
    assert list(tmp_path.iterdir()) == []


GOOD: dict[str, Any] = {
    "format": "rayrelief-camera",
    "version": 1,
    "model": "pinhole",
    "parameters": {"fx": 1.0, "fy": 1.0, "cx": 0.0, "cy": 0.0},
}


def changed(**parameters: object) -> str:
    return json.dumps(GOOD | {"parameters": GOOD["parameters"] | parameters})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("{", "is not valid JSON"),
        (changed()[:-1], "is not valid JSON"),
        ('{"a":' * 100_000, "is not valid JSON"),
        (json.dumps(GOOD | {"version": 2}), "version is 2; expected version 1"),
        (json.dumps(GOOD | {"version": None}), "version is missing"),
        (json.dumps(GOOD | {"model": "lens"}), "model is 'lens'; expected one of pinhole"),
        (json.dumps(GOOD | {"model": ["pinhole"]}), r"model is \['pinhole'\]"),
        (json.dumps(GOOD | {"parameters": [1, 2]}), r"parameters is \[1, 2\]"),
        (json.dumps(GOOD | {"parameters": {"fx": 1.0}}), r"parameters\.fy is missing"),
        (changed(k1=0.5), r"k1 is unknown; expected only fx, fy, cx, cy, skew, size"),
        (changed(fx="wide"), r"parameters\.fx is 'wide'"),
        (changed(fx=True), "fx is True"),
        (changed(fx=None), r"parameters\.fx is missing"),
        (changed(skew=None), r"parameters\.skew is missing"),
        (changed(fx=10**400), "fx is 1000.*expected a finite number"),
        (changed(fx=-600), "focal lengths fx = -600.0"),
        (changed(cx=float("nan")), "cx is nan"),
        (changed(size=[640]), r"size is \[640\]; expected \[width, height\]"),
        (changed(size=[640.5, 480]), r"expected \[width, height\]"),
        (changed(size=[0, 480]), r"expected \[width, height\]"),
        (changed(size=640), "size is 640"),
    ],
)
def test_every_broken_file_gives_one_clear_message(tmp_path: Path, text: str, words: str) -> None:
    files.check_broken(camera_json, tmp_path, text, words)
