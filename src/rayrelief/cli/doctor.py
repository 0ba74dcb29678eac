"""rayrelief doctor: what kind of normal map this is, and how to integrate it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rayrelief.cli.options import shared
from rayrelief.cli.terminal.console import plain_errors, quiet_libraries, show

if TYPE_CHECKING:
    from rayrelief.datasets.check_up import CheckUp


def doctor(
    path: Annotated[Path, typer.Argument(help="A normal map, or a folder that holds one.")],
    *,
    as_json: shared.Json = False,
    **chosen: Any,
) -> None:
    """Find out the axes, encoding, background and camera of a normal map."""
    with plain_errors():
        from rayrelief.cli.runs.report import to_json
        from rayrelief.datasets.check_up import check_up

        told = shared.MapOptions.taken_from(chosen)
        with quiet_libraries():
            found = check_up(
                path,
                camera=told.camera_text,
                mask=told.mask,
                which=told.which,
                k_order=told.k_order.value,
            )
        show(to_json(_as_json(found)) if as_json else as_text(found))


def as_text(found: CheckUp) -> str:
    """What was found out, line by line."""
    from rayrelief.doctor.advice import LOOK, TURN, reasons, verdict

    lines = [("file", str(found.source)), ("size", f"{found.size[0]}x{found.size[1]} pixels")]
    lines += [("encoding", note) for note in found.encoding]
    lines += [("mask", note.removeprefix("mask: ")) for note in found.mask_notes]
    if found.doubt:
        lines.append(("content", f"may be no normal map: {found.doubt}. {LOOK}"))
    lines.append(("axes", verdict(found.axes)))
    lines += [("", reason) for reason in reasons(found.axes)]
    if not found.axes.readings:
        lines.append(("frame", TURN))
    elif found.tilt:
        lines.append(("frame", f"turned by {found.tilt:.0f} degrees against the camera. {TURN}"))
    lines += [("camera", note.removeprefix("camera: ")) for note in found.camera_notes]
    if found.focal is not None:
        lines.append(("rays", str(found.focal)))
    if found.command:
        lines.append(("try", found.command))
        if not found.axes.decided:
            lines.append(
                ("", "where --convention is one of several that fit: give yours, if known")
            )
    return "\n".join(f"{name:<10}{value}" for name, value in lines)


def _as_json(found: CheckUp) -> dict[str, Any]:
    from rayrelief.conventions import convention_name
    from rayrelief.doctor.advice import reasons

    axes, focal = found.axes, found.focal
    named = [convention_name(code) for code in axes.candidates]
    return {
        "file": str(found.source),
        "size": found.size,
        "encoding": found.encoding,
        "mask": found.mask_notes,
        "doubt": found.doubt or None,
        "convention": None if found.tilt or not axes.decided else named[0],
        "candidates": named,
        "confidence": axes.confidence,
        "reasons": reasons(axes),
        "tilt_degrees": found.tilt,
        "camera": found.camera_notes,
        "focal_length": None
        if focal is None or not focal.told
        else {"best": focal.best, "shortest": focal.shortest, "longest": focal.longest},
        "command": found.command,
    }
