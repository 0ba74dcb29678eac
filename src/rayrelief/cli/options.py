"""Options that several verbs share; those of the methods are in settings.py."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rayrelief.scene import Scene


class KOrderName(StrEnum):
    """Order of a K.txt or K.npy."""

    AUTO = "auto"
    OPENCV = "opencv"
    LEGACY = "legacy"


class DeviceChoice(StrEnum):
    """Where to compute."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


def _folder(text: str | Path) -> Path:
    """Folder for results; an empty text, which would be this one, is a variable without a value."""
    if not str(text).strip():
        raise typer.BadParameter("the path is empty; for the current folder give '.'")
    return Path(text)


Out = Annotated[
    Path,
    typer.Option("-o", "--out", parser=_folder, metavar="PATH", help="Folder for the results."),
]
_INPUT = "Input"

Convention = Annotated[
    str | None,
    typer.Option(
        metavar="auto|opengl|opencv|dsine|directx|SOURCE|AXES",
        help="Axes of the normal map: found out, by name, by the name of what wrote it (marigold, "
        "moge, diligent, blender ...), or as three letters (see docs/conventions.md).",
        rich_help_panel=_INPUT,
    ),
]
NoConventionCheck = Annotated[
    bool,
    typer.Option(
        "--no-convention-check",
        help="Use also a convention that the map speaks clearly against.",
        rich_help_panel=_INPUT,
    ),
]
CameraText = Annotated[
    str | None,
    typer.Option(
        "--camera",
        metavar="fx,fy,cx,cy|orthographic|equirectangular|cylindrical|FILE",
        help="Pinhole intrinsics in pixels, parallel rays, a panorama of 360 degrees, a photo "
        "whose EXIF tells the focal length, or a calibration file: OpenCV "
        "(also calib.npz), ROS, COLMAP, nerfstudio, Kalibr, Metashape, Meshroom, Blender, mrcal, "
        "K.txt, K.npy, ray maps ...",
        rich_help_panel=_INPUT,
    ),
]
Fov = Annotated[
    float | None,
    typer.Option(
        min=0.01,
        max=179.99,
        help="Field of view in degrees across the longer side.",
        rich_help_panel=_INPUT,
    ),
]
Focal = Annotated[
    str | None,
    typer.Option(
        metavar="PIXELS|50mm",
        help="Focal length in pixels; or in mm, with --sensor.",
        rich_help_panel=_INPUT,
    ),
]
Sensor = Annotated[
    str | None,
    typer.Option(metavar="36mm", help="Longer side of the sensor, in mm.", rich_help_panel=_INPUT),
]
Mask = Annotated[
    str | None,
    typer.Option(
        metavar="auto|none|FILE",
        help="Mask: above half is inside. By default mask.png beside the map, else its alpha "
        "channel, else what has not the colour of a background; none for every pixel.",
        rich_help_panel=_INPUT,
    ),
]
Which = Annotated[
    str | None,
    typer.Option(
        help="Which camera of a calibration with several, by its name.",
        rich_help_panel=_INPUT,
    ),
]
KOrder = Annotated[
    KOrderName, typer.Option(help="Order of a K.txt or K.npy.", rich_help_panel=_INPUT)
]

NoMemoryCheck = Annotated[
    bool,
    typer.Option(
        "--no-memory-check",
        help="Try also a map that is expected to need more memory than there is.",
    ),
]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads; all cores by default.")]
Device = Annotated[
    DeviceChoice,
    typer.Option(help="Where to compute; a GPU needs the extra rayrelief[gpu]."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the report as JSON on stdout.")]


@dataclass(frozen=True, kw_only=True)
class Input:
    """How a path becomes a scene: what the options of the input said."""

    convention: Convention = None
    camera: CameraText = None
    fov: Fov = None
    focal: Focal = None
    sensor: Sensor = None
    mask: Mask = None
    which: Which = None
    k_order: KOrder = KOrderName.AUTO
    no_convention_check: NoConventionCheck = False

    @classmethod
    def taken_from(cls, chosen: dict[str, Any]) -> Input:
        """Take the options of the input out of those of a verb."""
        return cls(**{field.name: chosen.pop(field.name) for field in fields(cls)})

    def camera_text(self) -> str | None:
        """One description of the camera; BadParameter for options that cannot be used."""
        check_convention(self.convention)
        given = [each for each in (self.camera, self.fov, self.focal) if each is not None]
        if len(given) > 1:
            raise typer.BadParameter("give one of --camera, --fov and --focal, not several")
        in_mm = self.focal is not None and self.focal.strip().lower().endswith("mm")
        if in_mm != (self.sensor is not None):
            raise typer.BadParameter("--focal in mm, as 50mm, goes with --sensor, as 36mm")
        text = self.camera
        if self.fov is not None:
            text = f"fov:{self.fov}"
        elif self.focal is not None:
            text = f"focal:{self.focal}" + (f"/{self.sensor}" if in_mm else "")
        if text is not None:
            check_words(text, self.which, self.k_order)
        return text

    def scene(self, path: Path) -> Scene:
        """Read a normal map or a folder."""
        from rayrelief.cli.console import quiet_libraries
        from rayrelief.datasets.folder import read_scene

        camera = self.camera_text()
        with quiet_libraries():
            return read_scene(
                path,
                convention=self.convention,
                camera=camera,
                mask=self.mask,
                which=self.which,
                k_order=self.k_order.value,
                check_convention=not self.no_convention_check,
            )


def check_convention(convention: str | None) -> None:
    """Raise BadParameter for a convention that nobody knows."""
    from rayrelief.conventions import AUTO, axes_of
    from rayrelief.errors import InputError

    if convention is None or convention.strip().lower() == AUTO:
        return
    try:
        axes_of(convention)
    except InputError as error:
        raise typer.BadParameter(str(error)) from error


def check_words(camera: str, which: str | None, k_order: KOrderName) -> None:
    """Raise BadParameter for an option about calibration files beside a camera in words."""
    from rayrelief.cameras.calibration import is_camera_text

    given = {"--which": which is not None, "--k-order": k_order is not KOrderName.AUTO}
    options = " and ".join(option for option, is_given in given.items() if is_given)
    if options and is_camera_text(camera):
        raise typer.BadParameter(
            f"{options} cannot be used with the camera {camera!r}, only with a calibration file"
        )
