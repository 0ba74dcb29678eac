"""The base of all cameras: the ray of each pixel, and the pixel of each point."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from rayrelief.checks import COUNTS, as_array, require
from rayrelief.conventions import DepthKind, FloatArray
from rayrelief.errors import CameraError

# Farther off the axis z = 1 rays grow without bound, and past 90 degrees they do not exist.
WIDEST_Z_RAY_DEGREES = 80.0

BLOCK_LENGTH = 1 << 15
LONGEST_SIDE = 1_000_000  # of an image, in pixels


class Camera(ABC):
    """A camera in the OpenCV frame: x right, y down, z forward, pixel centres at integers."""

    central: ClassVar[bool] = True
    """Whether all rays leave one point; an orthographic camera's do not."""

    @property
    def resolution(self) -> tuple[int, int] | None:
        """(width, height) that the camera was calibrated for; None accepts any image."""
        return None

    def parameters(self) -> dict[str, float]:
        """Numbers that describe it, by name, but those at their default; none for a ray map."""
        if not is_dataclass(self):
            return {}
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        usual = {field.name: field.default for field in fields(self)}
        return {
            name: values[name] for name in values if name != "size" and values[name] != usual[name]
        }

    def summary(self) -> str:
        """Model, parameters and size of the image in one line."""
        numbers = (f"{name} {value:.6g}" for name, value in self.parameters().items())
        size = "" if self.resolution is None else ", {}x{}".format(*self.resolution)
        return " ".join((type(self).__name__, *numbers)) + size

    def crop(self, left: int, top: int, width: int, height: int) -> Camera:
        """Camera of a part of the image, whose first pixel is (left, top)."""
        raise self._cannot("be cropped")

    def resize(self, width: int, height: int) -> Camera:
        """Camera of the image scaled to another size: its borders stay where they are."""
        raise self._cannot("be scaled")

    @abstractmethod
    def directions(self, pixels: FloatArray) -> FloatArray:
        """Directions (..., 3), of any length, seen by pixels (..., 2) given as (u, v); NaN = none.

        The array is new: the caller may change it.
        """

    @abstractmethod
    def project(self, points: npt.ArrayLike) -> FloatArray:
        """Pixels (..., 2) as (u, v) of points (..., 3) in the camera frame; NaN where not seen."""

    def rays(self, height: int, width: int) -> FloatArray:
        """Ray of every pixel, (height, width, 3), in the camera frame; NaN where there is none.

        The rays have z = 1 if all of them lie within 80 degrees of the axis, else unit length, for
        the whole image: the depth along them is then the distance from the camera.
        """
        return scale_rays(self.unit_rays(height, width))

    def unit_rays(self, height: int, width: int) -> FloatArray:
        """Rays of unit length, (height, width, 3), in the camera frame; NaN where there is none."""
        self.check_resolution(height, width)
        return unit_length(self.directions(pixel_grid(height, width)))

    def wraps(self, width: int) -> bool:
        """Whether the last column of an image of this width is a neighbour of the first one."""
        return False

    def check_resolution(self, height: int, width: int) -> None:
        """Raise CameraError unless the camera fits an image of this size."""
        COUNTS.check("the height of the image", height)
        COUNTS.check("the width of the image", width)
        if self.resolution is not None and self.resolution != (width, height):
            raise CameraError(
                f"a camera for {self.resolution[0]}x{self.resolution[1]} pixels "
                f"(width x height), but the image has {width}x{height}",
                expected="the same size",
                remedy=_likely_cause(self.resolution, (width, height)),
            )

    def _cannot(self, what: str) -> CameraError:
        return CameraError(
            f"a {type(self).__name__} camera cannot {what}",
            expected="one of the cameras of this library",
            remedy="Take its rays: rayrelief.cameras.RayMap(camera.unit_rays(height, width))",
        )

    def known_resolution(self) -> tuple[int, int]:
        """(width, height) that the camera was calibrated for; CameraError if it is not known."""
        if self.resolution is None:
            raise CameraError(
                f"the image size of this camera ({type(self).__name__}) is not known",
                expected="the size that it was calibrated for",
                remedy="Set it: dataclasses.replace(camera, size=(width, height))",
            )
        return self.resolution


def check_size(size: object) -> None:
    """Raise CameraError unless a size is None or two integers >= 1."""
    if size is None:
        return
    sides = size if isinstance(size, tuple) else ()
    if len(sides) != 2 or not all(
        isinstance(side, int | np.integer) and 0 < side <= LONGEST_SIDE for side in sides
    ):
        raise CameraError(
            f"size = {size!r}",
            expected=f"(width, height), two integers >= 1, at most {LONGEST_SIDE:,}, or None",
            remedy="Leave it out to accept any image",
        )


def check_part(
    size: tuple[int, int] | None, part: tuple[int, int, int, int], *, around: bool = False
) -> None:
    """Raise CameraError unless (left, top, width, height) is a part of an image of some size.

    A part of a panorama may continue ``around`` its sides. If the size of the image is unknown, any
    part that has pixels is accepted.
    """
    if all(isinstance(number, int | np.integer) for number in part):
        left, top, width, height = part
        inside = size is None or (
            (around or 0 <= left <= size[0] - width) and 0 <= top <= size[1] - height
        )
        if inside and width > 0 and height > 0:
            return
    image = "the image" if size is None else f"the {size[0]}x{size[1]} image (width x height)"
    raise CameraError(
        "a crop with left, top, width, height = " + ", ".join(map(str, part)),
        expected=f"integers, and a part of {image}",
        remedy="Check the corner and the size of the crop",
    )


def pixel_grid(height: int, width: int) -> FloatArray:
    """Pixel centres (height, width, 2) as (u, v)."""
    grid = np.empty((height, width, 2))
    grid[..., 0] = np.arange(width)
    grid[..., 1] = np.arange(height)[:, None]
    return grid


def as_vectors(values: npt.ArrayLike, length: int) -> FloatArray:
    """What a user gave as pixels (..., 2) or points (..., 3)."""
    what = "the pixels" if length == 2 else "the points"
    vectors: FloatArray = as_array(values, what).astype(np.float64, copy=False)
    require(
        vectors.shape[-1:] == (length,),
        f"{what} have the shape {vectors.shape}",
        f"(..., {length})",
        "Put the coordinates of each along the last axis",
    )
    return vectors


def in_blocks(
    function: Callable[[FloatArray], FloatArray], vectors: FloatArray, length: int
) -> FloatArray:
    """Apply a function (n, k) -> (n, length) to vectors (..., k), a block at a time.

    Blocks that stay in the cache keep the memory of iterative cameras flat for any image size.
    """
    rows = vectors.reshape(-1, vectors.shape[-1])
    result = np.empty((len(rows), length))
    for start in range(0, len(rows), BLOCK_LENGTH):
        block = slice(start, start + BLOCK_LENGTH)
        with np.errstate(over="ignore"):  # of calibrations that are none: no ray, not seen
            result[block] = function(rows[block])
    return result.reshape(*vectors.shape[:-1], length)


def _likely_cause(calibrated: tuple[int, int], found: tuple[int, int]) -> str:
    """Why the size of a map may differ from that of its camera, and what to do."""
    width, height = found
    if found == calibrated[::-1]:
        return "The map or the calibration is rotated by 90 degrees: rotate the map back"
    ratio = (width / calibrated[0]) / (height / calibrated[1])
    if abs(math.log(ratio)) < 0.01:
        return (
            f"The map was probably scaled: use camera.resize({width}, {height}), "
            f"or write that camera with 'rayrelief camera FILE --resize {width}x{height} --write'"
        )
    if width <= calibrated[0] and height <= calibrated[1]:
        return (
            f"The map was probably cropped: use camera.crop(left, top, {width}, {height}), "
            f"or write that camera with 'rayrelief camera FILE --crop LEFT,TOP,{width},{height} "
            f"--write'"
        )
    return "Use the calibration of this image size, or crop or resize the map to it"


def unit_length(directions: FloatArray) -> FloatArray:
    """Scale directions (..., 3) in place to unit length; NaN for those too long to have one."""
    lengths = np.sqrt(np.einsum("...i,...i->...", directions, directions))
    lengths[np.isinf(lengths)] = np.nan
    directions /= lengths[..., None]
    return directions


def scale_rays(unit: FloatArray) -> FloatArray:
    """Scale unit rays to z = 1 where all valid ones lie within 80 degrees of the axis."""
    valid = np.isfinite(unit).all(axis=-1)
    if not valid.any():
        raise CameraError(
            "the camera has no valid ray in this image",
            expected="at least one pixel with a ray",
            remedy="Check the distortion coefficients and the principal point",
        )
    if np.all(unit[valid, 2] >= math.cos(math.radians(WIDEST_Z_RAY_DEGREES))):
        rays = unit / unit[..., 2:]
        rays[valid, 2] = 1.0
        return rays
    return unit


def depth_kind(rays: FloatArray) -> DepthKind:
    """Kind of the depth along such rays: "z" for z = 1 rays, "distance" for unit rays."""
    z = rays[..., 2]
    return "z" if np.all(z[np.isfinite(z)] == 1.0) else "distance"
