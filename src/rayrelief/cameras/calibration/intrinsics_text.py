"""DSINE's intrinsics beside an image: fx,fy,cx,cy on one line, in pixels."""

from __future__ import annotations

from rayrelief.cameras.calibration.document import Document, as_number, naming_file
from rayrelief.cameras.calibration.reading import Reading, Request
from rayrelief.cameras.pinhole import Pinhole

FORMAT = "DSINE intrinsics"

EXPECTED = "fx,fy,cx,cy in pixels on one line"


def recognises(document: Document) -> bool:
    """Whether a text is one line of values between commas that begins with a number."""
    lines = document.text.split("\n") if document.syntax == "text" else []
    filled = [line for line in lines if line.strip()]
    return len(filled) == 1 and "," in filled[0] and as_number(filled[0].split(",")[0]) is not None


def read(document: Document, request: Request) -> Reading:
    """Pinhole with pixel centres at integers; the file does not say for which image size."""
    texts = [text.strip() for text in document.text.strip().split(",")]
    values = [as_number(text) for text in texts]
    for index, (text, value) in enumerate(zip(texts, values, strict=True)):
        if value is None:
            raise document.error(f"line 1, value {index + 1} is {text[:60]!r}", expected=EXPECTED)
    if len(values) != 4:
        raise document.error(f"line 1 holds {len(values)} values", expected=EXPECTED)
    fx, fy, cx, cy = (value for value in values if value is not None)
    with naming_file(document.path, "line 1"):
        return Reading(Pinhole(fx, fy, cx, cy))
