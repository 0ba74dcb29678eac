"""DSINE's intrinsics: four numbers on one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from rayrelief.cameras.calibration import intrinsics_text
from rayrelief.cameras.pinhole import Pinhole
from reference import calibrations as files


@pytest.mark.parametrize(
    "text", [files.DSINE, files.DSINE.strip(), "\n577.87, 580.25,319.5 ,239.5"]
)
def test_four_numbers(tmp_path: Path, text: str) -> None:
    assert files.read(intrinsics_text, tmp_path, text).camera == Pinhole(
        577.87, 580.25, 319.5, 239.5
    )


@pytest.mark.parametrize("text", ["500 500 320 240\n", "1,2,3\n4,5,6\n7,8,9\n", "fx,fy,cx,cy\n"])
def test_other_texts_are_not_recognised(tmp_path: Path, text: str) -> None:
    assert not intrinsics_text.recognises(files.parse(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("500,500,320", "line 1 holds 3 values; expected fx,fy,cx,cy in pixels"),
        ("500,500,320,240,0", "line 1 holds 5 values"),
        ("500,500,x,240", "line 1, value 3 is 'x'; expected fx,fy,cx,cy"),
        ("500,500,nan,240", "line 1, value 3 is 'nan'"),
        ("500,,320,240", "line 1, value 2 is ''"),
        ("500,-500,320,240", "line 1, holds focal lengths fx = 500.0, fy = -500.0"),
        (" ", "is empty"),
    ],
)
def test_broken_files(tmp_path: Path, text: str, words: str) -> None:
    files.check_broken(intrinsics_text, tmp_path, text, words)
