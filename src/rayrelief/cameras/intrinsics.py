"""IntrinsicCamera: what all cameras with intrinsics fx, fy, cx, cy share."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from rayrelief.cameras.base import Camera, as_vectors, check_part, check_size, in_blocks
from rayrelief.checks import Rule, is_number
from rayrelief.conventions import FloatArray
from rayrelief.errors import CameraError

# Pixels. Beyond them neighbouring rays are parallel, or at right angles, to the digits of floats.
FOCAL_LENGTHS = (1e-3, 1e8)

SMALLEST_JUDGED = 16  # pixels: whether a principal point is near the middle is no matter below it

# In the note on a principal point that may be that of another image.
OUTSIDE = "lies outside the"
FARTHEST = 3.7  # focal lengths from the principal point to the image: all rays 75 degrees oblique

# A ray that was found by iteration is trusted if it projects this close to its pixel.
REPROJECTION_TOLERANCE = 1e-6

# Of angles that tilt a part of a camera.
TILT = Rule(
    lambda angle: abs(angle) < math.pi / 2,
    "an angle below a right angle, in radians",
    "Convert it if it is in degrees",
)


@dataclass(frozen=True)
class IntrinsicCamera(Camera):
    """A central camera that maps a direction to a point (x, y) of a plane, and that to a pixel.

    u = fx x + skew y + cx,  v = fy y + cy, pixel centres at integers. The model defines the plane
    and with it the unit of the focal lengths: pixels for a plane at distance 1, pixels per radian
    for angles.

    Attributes
    ----------
    fx, fy
        Focal lengths along u and v.
    cx, cy
        Principal point.
    skew
        By how much u grows with y, in pixels; 0 for rectangular pixels.
    size
        (width, height) that the calibration is for, or None to accept any image.
    """

    fx: float
    fy: float
    cx: float
    cy: float
    skew: float = field(default=0.0, kw_only=True)
    size: tuple[int, int] | None = field(default=None, kw_only=True)

    panoramic: ClassVar[bool] = False
    """Whether columns are angles around an axis, of which none is a principal one."""

    iterative: ClassVar[bool] = False
    """Whether rays are found by iteration, and have to be checked against their pixels."""

    rules: ClassVar[Mapping[str, Rule]] = {}
    """What some of the parameters have to be."""

    def __post_init__(self) -> None:
        check_size(self.size)
        check_numbers(self)
        check_focal_lengths(self.fx, self.fy)
        for name, rule in self.rules.items():
            value = getattr(self, name)
            if not rule.usable(value):
                raise CameraError(f"{name} = {value}", expected=rule.expected, remedy=rule.remedy)

    @abstractmethod
    def from_plane(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Directions (n, 3), of any length, of points (n,) of the plane; NaN where there is none.

        The direction of the point (0, 0) is that of the z axis, unless the lens has another one.
        """

    @abstractmethod
    def to_plane(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coordinates x and y (n,) on the plane of points (n, 3); NaN where not seen."""

    @property
    def resolution(self) -> tuple[int, int] | None:
        """(width, height) that the calibration is for, or None."""
        return self.size

    def directions(self, pixels: FloatArray) -> FloatArray:
        """Directions (..., 3), of any length, seen by pixels (..., 2); NaN where there is none."""
        return in_blocks(self._directions, as_vectors(pixels, 2), 3)

    def project(self, points: npt.ArrayLike) -> FloatArray:
        """Pixels (..., 2) of points (..., 3) in the camera frame; NaN where not seen."""
        return in_blocks(self._project, as_vectors(points, 3), 2)

    def crop(self, left: int, top: int, width: int, height: int) -> Self:
        """Camera of a part of the image, whose first pixel is (left, top)."""
        around = self.size is not None and self.wraps(self.size[0])
        check_part(self.size, (left, top, width, height), around=around)
        return replace(self, cx=self.cx - left, cy=self.cy - top, size=(width, height))

    def resize(self, width: int, height: int) -> Self:
        """Camera of the image scaled to another size: its borders stay where they are."""
        old_width, old_height = self.known_resolution()
        check_size((width, height))
        s, t = width / old_width, height / old_height
        return replace(
            self,
            fx=self.fx * s,
            fy=self.fy * t,
            cx=(self.cx + 0.5) * s - 0.5,
            cy=(self.cy + 0.5) * t - 0.5,
            skew=self.skew * s,
            size=(width, height),
        )

    def _directions(self, pixels: FloatArray) -> FloatArray:
        y = (pixels[:, 1] - self.cy) / self.fy
        x = (pixels[:, 0] - self.cx - self.skew * y) / self.fx
        directions = self.from_plane(x, y)
        if self.iterative:
            missed = np.linalg.norm(self._project(directions) - pixels, axis=1)
            directions[~(missed <= REPROJECTION_TOLERANCE)] = np.nan
        return directions

    def _project(self, points: FloatArray) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):  # grazing points overflow to "not seen"
            pixels = self._pixels(*self.to_plane(points))
        pixels[~np.isfinite(pixels).all(axis=1)] = np.nan
        return pixels

    def _pixels(self, x: FloatArray, y: FloatArray) -> FloatArray:
        u = self.fx * x + self.skew * y + self.cx
        v = self.fy * y + self.cy
        return np.stack((u, v), axis=1)


def check_numbers(camera: IntrinsicCamera) -> None:
    """Raise CameraError unless all parameters of a camera are finite numbers."""
    for parameter in fields(camera):
        value = getattr(camera, parameter.name)
        if parameter.name == "size":
            continue
        if not is_number(value):
            raise CameraError(
                f"{parameter.name} = {value!r}",
                expected="a finite number",
                remedy="Check the calibration; a coefficient that is not used is 0",
            )


def check_focal_lengths(fx: float, fy: float) -> None:
    """Raise CameraError unless the focal lengths are within reason."""
    shortest, longest = FOCAL_LENGTHS
    if not (shortest <= fx <= longest and shortest <= fy <= longest):
        parallel = max(fx, fy) > longest
        raise CameraError(
            f"focal lengths fx = {fx}, fy = {fy}",
            expected=f"two numbers from {shortest:g} to {longest:g}, in pixels",
            remedy="For rays that are practically parallel, use an Orthographic camera"
            if parallel
            else "Check the camera matrix and its units",
        )


def off_centre(camera: IntrinsicCamera, height: int, width: int) -> float:
    """Distance of the principal point from the image, in focal lengths; 0 inside."""
    across = max(0.0, -0.5 - camera.cx, camera.cx - width + 0.5) / camera.fx
    down = max(0.0, -0.5 - camera.cy, camera.cy - height + 0.5) / camera.fy
    return math.hypot(across, down)


def outside_note(camera: Camera, height: int, width: int) -> tuple[str, ...]:
    """Note on a principal point that lies outside the image: it may be a part of a larger one."""
    if not isinstance(camera, IntrinsicCamera) or camera.panoramic:
        return ()
    if off_centre(camera, height, width) == 0.0:
        return ()
    return (
        f"the principal point ({camera.cx:g}, {camera.cy:g}) {OUTSIDE} {width}x{height} image, as "
        "for a part of a larger one whose corner was subtracted from it; if this image is no such "
        "part, the calibration is that of another one",
    )


def check_against_image(camera: Camera, height: int, width: int) -> None:
    """Raise CameraError for a camera that cannot have taken an image of this size.

    Its principal point is so far outside that all rays are oblique, or not in pixels; or, if the
    camera has no image size, in a corner or where that of a scaled or rotated image would be.
    Panoramas, which have no principal point that could be wrong, and tiny images are not checked.
    """
    if not isinstance(camera, IntrinsicCamera) or camera.panoramic:
        return
    if min(width, height) < SMALLEST_JUDGED:
        return
    if max(camera.fx, camera.fy) < 0.02 * max(height, width) and max(camera.cx, camera.cy) <= 2:
        raise CameraError(
            f"focal lengths of {camera.fx:g} and {camera.fy:g} pixels with a principal point at "
            f"({camera.cx:g}, {camera.cy:g}) for an image of {width}x{height} (width x height)",
            expected="both in pixels",
            remedy="They look normalised: multiply x by the width and y by the height, and "
            "subtract half a pixel from the principal point",
        )
    place = f"a principal point at ({camera.cx:g}, {camera.cy:g})"
    image = f"the {width}x{height} image (width x height)"
    if off_centre(camera, height, width) > FARTHEST:
        raise CameraError(
            f"{place}, far outside {image}",
            expected="a principal point in or near the image",
            remedy="Check that the calibration is for this resolution, and its units (pixels)",
        )
    if camera.size is not None:
        return
    # Twice the place of the principal point: 1 in the middle of the image, for most cameras.
    across, down = 2 * (camera.cx + 0.5) / width, 2 * (camera.cy + 0.5) / height
    if max(abs(across), abs(down)) < 0.05:
        raise CameraError(
            f"{place}, in the corner of {image}",
            expected="a principal point in pixels, for most cameras near the middle",
            remedy=f"If it is correct, confirm it with size=({width}, {height})",
        )
    turned = across * width / height, down * height / width
    oblong = max(width, height) > 1.1 * min(width, height)
    if oblong and max(abs(each - 1) for each in turned) < 0.05:
        raise CameraError(
            f"{place}, which is in the middle of an image of {height}x{width}, for {image}",
            expected="a principal point near the middle",
            remedy="The map or the calibration is probably rotated by 90 degrees: rotate the map "
            "back. If a matrix is in the old BiNI order, pass k_order='legacy' (--k-order legacy). "
            f"If it is correct, set size=({width}, {height})",
        )
    if abs(across - down) < 0.05 * across and not 0.7 < across < 1.4:
        raise CameraError(
            f"{place} for {image}, and no image size in the camera",
            expected="a principal point near the middle",
            remedy="The calibration is probably for an image of about "
            f"{across * width:.0f}x{down * height:.0f} pixels: set that as its size and use "
            f"camera.resize({width}, {height}), or --width, --height and --resize of "
            f"'rayrelief camera'. If it is correct, set size=({width}, {height})",
        )
