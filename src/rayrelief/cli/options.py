"""Options that several verbs share, named as in the library, and the method that they describe."""

from __future__ import annotations

from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rayrelief.errors import InputError

if TYPE_CHECKING:
    from rayrelief.methods.recipes import BiNI, RayPlane, Smooth
    from rayrelief.methods.reweighted import Reweighted


class MethodName(StrEnum):
    """Methods by name."""

    RAY_PLANE = "ray-plane"
    BINI = "bini"
    SMOOTH = "smooth"


class ConnectivityName(StrEnum):
    """Connectivities by name."""

    FOUR = "4"
    DIAGONAL = "diagonal"
    EIGHT = "8"


class FacingAwayName(StrEnum):
    """What to do with normals that face away."""

    KEEP = "keep"
    AVERAGE = "average"
    DROP = "drop"


class ConventionName(StrEnum):
    """Axes of the normal map."""

    OPENGL = "opengl"
    OPENCV = "opencv"
    DSINE = "dsine"
    DIRECTX = "directx"


class KOrderName(StrEnum):
    """Order of a K.txt or K.npy."""

    AUTO = "auto"
    OPENCV = "opencv"
    LEGACY = "legacy"


_INPUT, _METHOD = "Input", "Method"

Convention = Annotated[
    ConventionName | None,
    typer.Option(help="Axes of the normal map (see docs/conventions.md).", rich_help_panel=_INPUT),
]
CameraText = Annotated[
    str | None,
    typer.Option(
        "--camera",
        metavar="fx,fy,cx,cy|orthographic|FILE",
        help="Pinhole intrinsics in pixels, an orthographic camera, or a calibration file: OpenCV "
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
Mask = Annotated[
    Path | None, typer.Option(help="Mask: above half is inside.", rich_help_panel=_INPUT)
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

MethodOption = Annotated[
    MethodName, typer.Option("--method", help="Which method.", rich_help_panel=_METHOD)
]
Published = Annotated[
    bool,
    typer.Option(help="The schedule of the paper: 1200 iterations.", rich_help_panel=_METHOD),
]
MaxIterations = Annotated[
    int | None, typer.Option(min=1, help="Outer iterations.", rich_help_panel=_METHOD)
]
Tolerance = Annotated[
    float | None,
    typer.Option(help="Stop below this change; 0 runs all iterations.", rich_help_panel=_METHOD),
]
Connectivity = Annotated[
    ConnectivityName | None, typer.Option(help="Neighbours of a pixel.", rich_help_panel=_METHOD)
]
Sharpness = Annotated[
    float | None, typer.Option(help="k of the bilateral weights.", rich_help_panel=_METHOD)
]
Jumps = Annotated[
    bool | None,
    typer.Option("--jumps/--no-jumps", help="Compute discontinuities.", rich_help_panel=_METHOD),
]
ActivationSlope = Annotated[
    float | None, typer.Option(help="q of the activation.", rich_help_panel=_METHOD)
]
ActivationThreshold = Annotated[
    float | None, typer.Option(help="rho of the activation.", rich_help_panel=_METHOD)
]
Midpoint = Annotated[
    float | None, typer.Option(help="lambda_m, from 0 to 1.", rich_help_panel=_METHOD)
]
OutlierThreshold = Annotated[
    float | None,
    typer.Option(help="eps_out of the outlier filter, e.g. 0.1.", rich_help_panel=_METHOD),
]
FacingAway = Annotated[
    FacingAwayName | None,
    typer.Option(help="Normals that face away from the camera.", rich_help_panel=_METHOD),
]
OutlierRatio = Annotated[
    float | None,
    typer.Option(
        help="Average normals whose |n.ray| is off its neighbourhood by this fraction, e.g. 0.75.",
        rich_help_panel=_METHOD,
    ),
]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads; all cores by default.")]
Json = Annotated[bool, typer.Option("--json", help="Print the report as JSON on stdout.")]


def camera_text(
    camera: str | None, fov: float | None, which: str | None, k_order: KOrderName
) -> str | None:
    """One description of the camera out of two options, after a look at those that go with it."""
    if camera is not None and fov is not None:
        raise typer.BadParameter("give either --camera or --fov, not both")
    text = camera if fov is None else f"fov:{fov}"
    if text is not None:
        check_words(text, which, k_order)
    return text


def check_words(camera: str, which: str | None, k_order: KOrderName) -> None:
    """Raise BadParameter for an option about calibration files beside a camera in words."""
    from rayrelief.cameras.calibration import is_camera_text

    given = {"--which": which is not None, "--k-order": k_order is not KOrderName.AUTO}
    options = " and ".join(option for option, is_given in given.items() if is_given)
    if options and is_camera_text(camera):
        raise typer.BadParameter(
            f"{options} cannot be used with the camera {camera!r}, only with a calibration file"
        )


def build_method(
    name: MethodName,
    published: bool,
    *,
    facing_away: FacingAwayName | None = None,
    outlier_ratio: float | None = None,
    connectivity: ConnectivityName | None = None,
    tolerance: float | None = None,
    **settings: Any,
) -> Reweighted:
    """Method from options; whatever is None keeps the recipe's own value."""
    from rayrelief.methods.recipes import BiNI, RayPlane, Smooth
    from rayrelief.preprocess import Preprocessing

    given = {key: value for key, value in settings.items() if value is not None}
    if connectivity is not None:
        given["connectivity"] = "diagonal" if connectivity == "diagonal" else int(connectivity)
    if tolerance is not None:
        given["tolerance"] = tolerance or None
    recipes: dict[MethodName, type[RayPlane] | type[BiNI] | type[Smooth]] = {
        MethodName.RAY_PLANE: RayPlane,
        MethodName.BINI: BiNI,
        MethodName.SMOOTH: Smooth,
    }
    recipe = recipes[name]
    foreign = sorted(set(given) - {field.name for field in fields(recipe)})
    if foreign:
        options = ", ".join("--" + key.replace("_", "-") for key in foreign)
        raise typer.BadParameter(f"{options} cannot be used with --method {name.value}")
    try:
        given["preprocessing"] = Preprocessing(
            facing_away=None if facing_away is None else facing_away.value,
            outlier_ratio=outlier_ratio,
        )
        return _recipe_with(recipe, published, given)
    except InputError as error:
        raise typer.BadParameter(str(error)) from error


def _recipe_with(
    recipe: type[RayPlane] | type[BiNI] | type[Smooth], published: bool, given: dict[str, Any]
) -> Reweighted:
    if not published:
        return recipe(**given)
    if not hasattr(recipe, "published"):
        raise typer.BadParameter("--published goes with the methods ray-plane and bini")
    given["iterations"] = given.pop("max_iterations", 1200)
    method: Reweighted = recipe.published(**given)
    return method
