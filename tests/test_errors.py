"""Errors: what was found, expected and to be done, in words that can be printed."""

from __future__ import annotations

import copy
import json
import pickle
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayrelief.cameras.calibration import read_camera
from rayrelief.cli.options.settings import all_settings
from rayrelief.errors import (
    CameraError,
    FileError,
    InputError,
    IntegrationError,
    Outcome,
    RayreliefError,
    in_number,
    shown,
)
from rayrelief.methods.catalogue import RECIPES

KINDS = [RayreliefError, InputError, FileError, CameraError, IntegrationError]
FRAME = {"fl_x": 5, "fl_y": 5, "cx": 2, "cy": 2, "w": 4, "h": 3}


def test_the_message_is_made_of_its_parts() -> None:
    error = RayreliefError("two of them", expected="one", remedy="Remove the other")
    assert str(error) == "two of them; expected one. Remove the other."
    assert str(RayreliefError("two of them")) == "two of them."
    assert str(RayreliefError("two", remedy="Remove one")) == "two. Remove one."


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.text(st.characters(exclude_categories=[]), min_size=1))
def test_every_message_can_be_printed_and_says_the_same(
    kind: type[RayreliefError], text: str
) -> None:
    error = kind(text, expected=text, remedy=text)
    escaped = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    assert escaped.isprintable()
    assert (error.found, error.expected, error.remedy) == (escaped, escaped, escaped)
    assert str(error).encode() == f"{escaped}; expected {escaped}. {escaped}.".encode()


@pytest.mark.parametrize("name", RECIPES)
def test_every_method_has_the_options_that_a_status_advises(name: str) -> None:
    advised = {word for end in Outcome for word in re.findall(r"--[a-z-]+", end.remedy)}
    had = {each.option for each in all_settings().values() if name in each.defaults}
    assert advised == advised & had != set()


def test_no_file_makes_a_message_without_end() -> None:
    assert len(str(FileError("x" * 10**7, expected="y" * 10**7))) < 10_000


@pytest.mark.parametrize("kind", KINDS)
def test_copies_say_the_same(kind: type[RayreliefError]) -> None:
    error = kind("two of them", expected="one", remedy="Remove the other")
    for copied in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(copied) is kind
        assert (str(copied), copied.args, vars(copied)) == (str(error), error.args, vars(error))


@pytest.mark.parametrize(
    "frame",
    [
        FRAME | {"file_path": "\ud800.png", "fl_x": -5},
        FRAME | {"file_path": "\ud800.png", "k9\udfff": 1, "fl_x": "\udabc"},
        FRAME | {"file_path": "a", "camera_model": "\ud800"},
    ],
)
def test_half_a_character_of_a_calibration_is_escaped(
    tmp_path: Path, frame: dict[str, object]
) -> None:
    path = tmp_path / "transforms.json"
    path.write_text(json.dumps({"frames": [frame, {**frame, "file_path": "\udbff", "w": 9}]}))
    with pytest.raises(FileError) as caught:
        read_camera(path, which=str(frame["file_path"]))
    message = str(caught.value).encode()
    assert b"transforms.json" in message
    assert b"\\ud" in message


def test_the_names_to_choose_from_are_escaped(tmp_path: Path) -> None:
    path = tmp_path / "transforms.json"
    frames = [FRAME | {"file_path": "\ud800"}, FRAME | {"file_path": "\udfff", "fl_x": 9}]
    path.write_text(json.dumps({"frames": frames}))
    with pytest.raises(FileError) as caught:
        read_camera(path)
    assert b"\\ud800, \\udfff" in str(caught.value).encode()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.5, "0.5"),
        ("x", "'x'"),
        (10**5000, "an integer of thousands of digits"),
        ([10**5000], "an integer of thousands of digits"),
        ("x" * 10**7, "'" + "x" * 56 + "..."),
        (dict.fromkeys("abcdefgh", 1), "{'a': 1, 'b': 1, 'c': 1, 'd': 1, ...}"),
    ],
    ids=["number", "text", "digits", "digits in a list", "long", "wide"],
)
def test_a_value_is_shown_in_a_few_characters(value: object, words: str) -> None:
    assert shown(value) == words


def test_a_value_that_is_deep_or_cannot_be_shown_is_shown() -> None:
    class Speechless:
        def __repr__(self) -> str:
            raise ZeroDivisionError

    deep: list[object] = []
    for _ in range(10**5):
        deep = [deep]
    assert shown(deep) == "[[[[...]]]]"
    assert shown(Speechless()).startswith("<Speechless instance at")


def test_what_is_one_is_not_told_as_several() -> None:
    told = [in_number(n, "known depth") for n in (0, 1, 2500)]
    assert told == ["0 known depths", "1 known depth", "2,500 known depths"]
    assert [in_number(n, "part touches", "parts touch") for n in (1, 2)] == [
        "1 part touches",
        "2 parts touch",
    ]
