"""rayrelief camera: what a calibration file holds, a picture of its rays, and other formats."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rayrelief.cli.options import shared
from rayrelief.cli.terminal.console import plain_errors, quiet_libraries, say, show

if TYPE_CHECKING:
    from rayrelief.cameras.base import Camera
    from rayrelief.cameras.survey import Survey
    from rayrelief.conventions import FloatArray

COLUMNS, ROWS = 48, 16  # of the sketch in the terminal, at most
SKETCH_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20)  # degrees


class TargetName(StrEnum):
    """Formats that a camera can be written in."""

    RAYRELIEF = "rayrelief"
    OPENCV = "opencv"
    ROS = "ros"
    KALIBR = "kalibr"
    COLMAP = "colmap"
    NERFSTUDIO = "nerfstudio"
    K = "k"
    RAYS = "rays"


# They hold the size of the image, or the ray of each of its pixels.
TARGETS_WITH_SIZE = (
    *(TargetName.ROS, TargetName.KALIBR, TargetName.COLMAP, TargetName.NERFSTUDIO),
    TargetName.RAYS,
)


def camera(
    path: Annotated[str, typer.Argument(help="A calibration file, fx,fy,cx,cy or fov:60.")],
    *,
    width: Annotated[
        int | None, typer.Option(min=1, help="Width of the image, where the file does not say.")
    ] = None,
    height: Annotated[
        int | None, typer.Option(min=1, help="Height of the image, where the file does not say.")
    ] = None,
    which: shared.Which = None,
    k_order: shared.KOrder = shared.KOrderName.AUTO,
    crop: Annotated[
        str | None,
        typer.Option(metavar="LEFT,TOP,WIDTH,HEIGHT", help="Camera of this part of the image."),
    ] = None,
    resize: Annotated[
        str | None,
        typer.Option(metavar="WIDTHxHEIGHT", help="Camera of the image scaled to this size."),
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw the rays into this PNG file.")] = None,
    write: Annotated[
        Path | None, typer.Option(help="Write the camera to this file, in the format --to.")
    ] = None,
    to: Annotated[
        TargetName | None,
        typer.Option(help="Format of --write; by default .json is rayrelief, .npy/.npz/.exr rays."),
    ] = None,
    as_json: shared.Json = False,
) -> None:
    """Show what a calibration file holds; draw its rays; convert it to another format."""
    with plain_errors():
        from rayrelief.cameras.calibration import (
            Reading,
            Request,
            is_camera_text,
            parse_camera,
            read_calibration,
        )
        from rayrelief.cameras.survey import survey
        from rayrelief.cli.runs.inputs import check_apart, check_not_replaced
        from rayrelief.io.atomic import discard_leftovers

        if to is not None and write is None:
            raise typer.BadParameter("--to says the format of --write FILE, which is not given")
        if (width is None) != (height is None):
            raise typer.BadParameter("--width and --height go together: one of them is not given")
        target = None if write is None else _target(write, to)
        results = [each for each in (write, picture) if each is not None]
        check_not_replaced([Path(path)], results)
        check_apart(results)
        request = Request(height, width, which, k_order.value)
        shared.check_words(path, which, k_order)
        if is_camera_text(path):
            if request.size is None:
                raise typer.BadParameter("a camera in words needs --width and --height")
            reading = Reading(parse_camera(path, request.size[1], request.size[0]))
        else:
            with quiet_libraries():
                reading = read_calibration(path, request)
        original = _sized(reading.camera, request.size)
        needs_size = resize is not None or picture is not None or target in TARGETS_WITH_SIZE
        if needs_size and original.resolution is None and crop is None:
            raise typer.BadParameter(
                f"{path} does not tell the size of its image: give --width and --height"
            )
        for note in reading.notes:
            say(f"note: {note}")
        found = _changed(original, crop, resize)
        size = found.resolution
        seen = None if size is None else survey(found, size[1], size[0])
        if picture is not None and size is not None:
            from rayrelief.viewer.ray_picture import write_ray_picture

            write_ray_picture(picture, found, size[1], size[0])
            say(f"note: wrote {picture}")
        if write is not None and target is not None:
            _write(write, found, target)
            say(f"note: wrote {write}")
        for result in results:
            discard_leftovers(result.parent)
        show((_as_json if as_json else _as_text)(found, size, seen))


def _sized(camera: Camera, size: tuple[int, int] | None) -> Camera:
    """Camera for the size that was given, where its file does not say any."""
    from dataclasses import replace

    from rayrelief.cameras.intrinsics import IntrinsicCamera
    from rayrelief.cameras.orthographic import Orthographic

    if camera.resolution is None and isinstance(camera, IntrinsicCamera | Orthographic):
        return replace(camera, size=size)
    return camera


def _changed(camera: Camera, crop: str | None, resize: str | None) -> Camera:
    """Camera of a part of the image, then of that scaled."""
    if crop is not None:
        left, top, width, height = _whole_numbers(crop, ",", 4, "--crop LEFT,TOP,WIDTH,HEIGHT")
        camera = camera.crop(left, top, width, height)
    if resize is not None:
        width, height = _whole_numbers(resize, "x", 2, "--resize WIDTHxHEIGHT")
        camera = camera.resize(width, height)
    return camera


def _whole_numbers(text: str, separator: str, count: int, option: str) -> list[int]:
    try:
        numbers = [int(word) for word in text.split(separator)]
    except ValueError:
        numbers = []
    if len(numbers) != count or min(numbers[-2:]) < 1:
        raise typer.BadParameter(f"{text!r} is not understood; it is {option}, in whole pixels")
    return numbers


def _target(path: Path, to: TargetName | None) -> TargetName:
    """Format of a file to be written; FileError where its name stands for another one."""
    from rayrelief.cameras.calibration.array_file import READABLE
    from rayrelief.cameras.calibration.ray_map_file import WRITABLE
    from rayrelief.errors import FileError
    from rayrelief.io.sources import check_suffix

    suffix = path.suffix.lower()
    if to is None:
        remedy = "Rename the file, or name another format with --to"
        check_suffix(path, (".json", *WRITABLE), "a camera", remedy)
        return TargetName.RAYS if suffix in WRITABLE else TargetName.RAYRELIEF
    if to is TargetName.RAYS:
        remedy = "Rename the file, which is to hold the ray of every pixel"
        check_suffix(path, WRITABLE, "a ray map", remedy)
    elif suffix in READABLE:
        raise FileError(
            f"{path} has the suffix {path.suffix!r} of an array",
            expected=f"another one for --to {to.value}, which is text",
            remedy="Rename the file, or write its rays with --to rays",
        )
    return to


def _write(path: Path, camera: Camera, target: TargetName) -> None:
    from rayrelief.cameras.calibration import WRITERS, write_camera

    if target is TargetName.RAYS:
        write_camera(path, camera)
    else:
        WRITERS[target.value](path, camera)


def _as_json(camera: Camera, size: tuple[int, int] | None, seen: Survey | None) -> str:
    from dataclasses import asdict

    from rayrelief.cli.runs.report import plain, to_json

    content: dict[str, Any] = {"camera": plain(camera), "size": size}
    return to_json(content | ({} if seen is None else asdict(seen)))


def _as_text(camera: Camera, size: tuple[int, int] | None, seen: Survey | None) -> str:
    lines = [("model", type(camera).__name__)]
    lines += [(f"  {name}", f"{value:.10g}") for name, value in camera.parameters().items()]
    if size is None or seen is None:
        lines.append(("image size", "not in the file: give --width and --height for more"))
        return _table(lines)
    lines.append(("image size", f"{size[0]}x{size[1]} (width x height)"))
    if camera.central:
        fields = f"{seen.across:.2f} x {seen.down:.2f} degrees through the middle"
        lines.append(("field of view", fields))
        lines.append(("widest ray", f"{seen.widest:.2f} degrees off the axis"))
    depth = "z" if seen.kind == "z" else "distance along the ray"
    lines.append(("depth will be", depth))
    lines.append(("without a ray", f"{seen.invalid:.2%} of the pixels"))
    if seen.wraps:
        lines.append(("wraps around", "the last column is a neighbour of the first"))
    if not camera.central:
        return _table(lines)
    return _table(lines) + "\n\n" + _sketch(camera, size)


def _table(lines: list[tuple[str, str]]) -> str:
    return "\n".join(f"{name:<16}{value}" for name, value in lines)


def _sketch(camera: Camera, size: tuple[int, int]) -> str:
    """The image in digits: how far off the axis its pixels look."""
    import numpy as np

    from rayrelief.cameras.survey import off_axis

    width, height = size
    columns = min(COLUMNS, width)
    rows = max(1, min(ROWS, height, round(columns * height / width / 2)))  # characters are tall
    v, u = np.meshgrid(
        (np.arange(rows) + 0.5) * height / rows - 0.5,
        (np.arange(columns) + 0.5) * width / columns - 0.5,
        indexing="ij",
    )
    directions: FloatArray = camera.directions(np.stack((u, v), axis=-1))
    angles = np.degrees(off_axis(directions))
    widest = np.max(angles, initial=0.0, where=np.isfinite(angles))
    step = next(step for step in SKETCH_STEPS if widest < 10 * step)
    text = [
        "".join("." if np.isnan(angle) else str(int(angle / step)) for angle in row)
        for row in angles
    ]
    legend = f"degrees off the axis in steps of {step:g}, a dot where there is no ray"
    return "\n".join((*text, legend))
