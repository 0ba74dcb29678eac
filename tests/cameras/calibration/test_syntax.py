"""Texts of a few bytes that stand for any amount of work are refused by what makes them so."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from rayrelief.cameras.calibration import read_camera
from rayrelief.errors import FileError
from reference.calibrations import write

ALIASES = "".join(f"{b}: &{b} [{','.join([f'*{a}'] * 10)}]\n" for a, b in pairwise("abcdefgh"))
MERGES = "".join(f"a{i + 1}: &a{i + 1} {{<<: [{', '.join([f'*a{i}'] * 30)}]}}\n" for i in range(6))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("itself.yaml", "camera_matrix: &a [*a]", "within what it refers to"),
        ("aliases.yaml", f"a: &a [1]\n{ALIASES}", "more than 100,000 entries"),
        ("merges.yaml", f"a0: &a0 {{k: 1}}\n{MERGES}", "more than 100,000 entries"),
        ("hours.yaml", "k: " + ":".join(["59"] * 1000), "a number of 2,999 characters"),
        ("hours.yaml", "k: " + ":".join(["59"] * 1000) + ".5", "a number of 3,001 characters"),
        ("flat.yaml", "k: [" + "1," * 1_500_000 + "]", "at most 1,000,000 are read"),
        ("deep.yaml", "a: " + "[" * 100, "more than 60 levels deep"),
        ("digits.txt", "1" * 20_000_000, "has 20 MB; expected at most 16 MB"),
        ("words.txt", "1 " * 1_500_000, "at most 1,000,000 are read"),
        ("lines.txt", "1\r" * 1_500_000, "at most 1,000,000 are read"),
        ("pages.txt", "1\f" * 750_000 + "1\u2028" * 750_000, "at most 1,000,000 are read"),
        ("deep.json", '{"a":' + "[" * 100_000, "not valid JSON"),
        ("wide.json", '{"a":[' + "1," * 1_500_000 + "1]}", "at most 1,000,000 are read"),
        ("wide.xml", "<a>" + "<b/>" * 1_500_000 + "</a>", "at most 1,000,000 are read"),
    ],
    ids=lambda value: value if len(value) < 20 else "",
)
def test_what_takes_too_long_is_refused_before_it_does(tmp_path, name, text, words):
    with pytest.raises(FileError, match=words):
        read_camera(write(tmp_path, text, name))


def test_what_a_file_holds_is_shown_in_a_few_characters(tmp_path):
    wide = {"fl_x": ["x" * 1000] * 1000, "fl_y": 10, "cx": 5, "cy": 5, "w": 10, "h": 10}
    path = write(tmp_path, json.dumps(wide), "transforms.json")
    with pytest.raises(FileError, match=r"fl_x is .*a finite number") as caught:
        read_camera(path)
    assert len(caught.value.found) < len(str(path)) + 100
