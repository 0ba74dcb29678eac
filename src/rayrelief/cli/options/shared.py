"""Options that several verbs share; those of the methods are in settings.py."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rayrelief.cli.options.groups import OptionGroup, section

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
_input = section("Input")

Which = Annotated[str | None, _input("Which camera of a calibration with several, by its name.")]
KOrder = Annotated[KOrderName, _input("Order of a K.txt or K.npy.")]
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
class MapOptions(OptionGroup):
    """What the options say about a normal map beside its axes: camera and mask."""

    camera: Annotated[
        str | None,
        _input(
            "Pinhole intrinsics in pixels, parallel rays, a panorama of 360 degrees, a photo "
            "whose EXIF tells the focal length, or a calibration file: OpenCV (also calib.npz), "
            "ROS, COLMAP, nerfstudio, Kalibr, Metashape, Meshroom, Blender, mrcal, K.txt, K.npy, "
            "ray maps ... By default camera.json, K.txt or K.npy beside the map.",
            metavar="fx,fy,cx,cy|orthographic|equirectangular|cylindrical|FILE",
        ),
    ] = None
    fov: Annotated[
        float | None,
        _input("Field of view in degrees across the longer side.", min=0.01, max=179.99),
    ] = None
    focal: Annotated[
        str | None,
        _input("Focal length in pixels; or in mm, with --sensor.", metavar="PIXELS|50mm"),
    ] = None
    sensor: Annotated[str | None, _input("Longer side of the sensor, in mm.", metavar="36mm")] = (
        None
    )
    mask: Annotated[
        str | None,
        _input(
            "Mask: above half is inside. By default mask.png beside the map, else its alpha "
            "channel, else what has not the colour of a background; none for every pixel.",
            metavar="auto|none|FILE",
        ),
    ] = None
    which: Which = None
    k_order: KOrder = KOrderName.AUTO

    def __post_init__(self) -> None:
        given = [each for each in (self.camera, self.fov, self.focal) if each is not None]
        if len(given) > 1:
            raise typer.BadParameter("give one of --camera, --fov and --focal, not several")
        if self._focal_in_mm != (self.sensor is not None):
            raise typer.BadParameter("--focal in mm, as 50mm, goes with --sensor, as 36mm")
        if self.camera_text is not None:
            check_words(self.camera_text, self.which, self.k_order)

    @property
    def camera_text(self) -> str | None:
        """One description of the camera, or the path of its file."""
        if self.fov is not None:
            return f"fov:{self.fov}"
        if self.focal is not None:
            return f"focal:{self.focal}" + (f"/{self.sensor}" if self._focal_in_mm else "")
        return self.camera

    @property
    def _focal_in_mm(self) -> bool:
        return self.focal is not None and self.focal.strip().lower().endswith("mm")


@dataclass(frozen=True, kw_only=True)
class Input(MapOptions):
    """How a path becomes a scene: what the options of the input said."""

    convention: Annotated[
        str | None,
        _input(
            "Axes of the normal map: found out, by name, by the name of what wrote it (marigold, "
            "moge, diligent, blender ...), or as three letters (see docs/conventions.md).",
            metavar="auto|opengl|opencv|dsine|directx|SOURCE|AXES",
        ),
    ] = None
    no_convention_check: Annotated[
        bool,
        _input(
            "Use also a convention that the map speaks clearly against.", "--no-convention-check"
        ),
    ] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_convention(self.convention)

    def scene(self, path: Path) -> Scene:
        """Read a normal map or a folder."""
        from rayrelief.cli.terminal.console import quiet_libraries
        from rayrelief.datasets.folder import read_scene

        with quiet_libraries():
            return read_scene(
                path,
                convention=self.convention,
                camera=self.camera_text,
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
