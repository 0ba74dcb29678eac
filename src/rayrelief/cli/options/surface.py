"""Options of integrate about the surface itself: what is known of its depth, and its relief."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rayrelief.cli.options.groups import OptionGroup, section
from rayrelief.errors import InputError, IntegrationWarning

if TYPE_CHECKING:
    from rayrelief.prior import DepthPrior
    from rayrelief.result import Integration
    from rayrelief.scene import Scene

_known, _relief = section("Known depth and scale"), section("Textures and relief")


def _depth(text: str) -> float:
    """Number of an option, or BadParameter that says where its unit goes."""
    try:
        return float(text)
    except ValueError:
        told = f"{text!r}: expected a number; its unit is that of --unit"
        raise typer.BadParameter(told) from None


class FlattenName(StrEnum):
    """What is taken off a height map."""

    PLANE = "plane"
    QUADRIC = "quadric"


@dataclass(frozen=True, kw_only=True)
class SurfaceOptions(OptionGroup):
    """What is known of the depth, and what is wanted of the relief."""

    depth_prior: Annotated[
        Path | None,
        _known(
            "Depth that is known, coarse or of some pixels alone (.npy, .npz, .exr, .png; also the "
            "16-bit .png of a depth sensor, whose 0 is unknown: add --unit mm if these are mm).",
            metavar="FILE",
        ),
    ] = None
    depth_sigma: Annotated[
        float | None,
        _known(
            "Standard deviation of the known depths in their unit, where the sigma of DepthPrior "
            "is a fraction of them for central cameras; estimated unless given."
        ),
    ] = None
    point: Annotated[
        list[str] | None,
        _known(
            "Depth z that is known at column u and row v, from 0; may be repeated.",
            metavar="u,v,z",
        ),
    ] = None
    distance: Annotated[
        str | None,
        _known("Length between the points of two pixels that is known.", metavar="u,v,u,v,LENGTH"),
    ] = None
    scale_to: Annotated[
        float | None,
        _known("Median depth that is known.", metavar="DEPTH", parser=_depth),
    ] = None
    tile: Annotated[bool, _relief("The texture repeats: no seam and no tilt.", "--tile")] = False
    height_file: Annotated[
        Path | None,
        _relief(
            "Also write the height, white is high: 16-bit .png, or .exr.",
            "--height",
            metavar="FILE",
        ),
    ] = None
    flatten: Annotated[
        FlattenName | None, _relief("Take the best plane or quadric off the height.")
    ] = None

    def __post_init__(self) -> None:
        scales = {
            "--depth-prior or --point": bool(self.depth_prior or self.point),
            "--distance": self.distance is not None,
            "--scale-to": self.scale_to is not None,
        }
        given = [name for name, is_given in scales.items() if is_given]
        if len(given) > 1:
            raise typer.BadParameter(f"{' and '.join(given)} all give the scale: choose one")
        if self.flatten is not None and self.height_file is None:
            raise typer.BadParameter("--flatten goes with --height FILE")
        if self.depth_prior and self.point:
            raise typer.BadParameter("give either --depth-prior or --point, not both")
        if self.depth_sigma is not None and self.depth_prior is None:
            raise typer.BadParameter("--depth-sigma goes with --depth-prior FILE")
        self._check_lengths()
        self.known_points()

    @property
    def tells_scale(self) -> bool:
        """Whether a depth or a length is given."""
        given = self.depth_prior, self.point, self.distance, self.scale_to
        return any(each is not None and each != [] for each in given)

    def _check_lengths(self) -> None:
        from rayrelief.checks import LENGTHS

        distance = self.known_distance()
        lengths = {"--scale-to": self.scale_to, "--distance": distance and distance[-1]}
        for option, length in lengths.items():
            try:
                if length is not None:
                    LENGTHS.check(option, length)
            except InputError as error:
                raise typer.BadParameter(str(error)) from error

    def known_distance(self) -> tuple[float, ...] | None:
        """Two pixels and the length between their points, or BadParameter."""
        if self.distance is None:
            return None
        return numbers(self.distance, 5, "--distance", "u,v,u,v,LENGTH")

    def known_points(self) -> list[tuple[float, ...]]:
        """Columns, rows and depths, or BadParameter."""
        return [numbers(text, 3, "--point", "u,v,z") for text in self.point or ()]

    def check(self) -> None:
        """Raise before a long run rather than after it, if the height has no place."""
        from rayrelief.cli.runs.places import check_folder
        from rayrelief.io.height import check_height_suffix

        if self.height_file is not None:
            check_height_suffix(self.height_file)
            check_folder(self.height_file.parent, [self.height_file])

    def arguments(self, scene: Scene) -> dict[str, Any]:
        """Arguments of integrate for a scene; InputError if its camera rules out what is wanted."""
        from rayrelief.cameras.base import depth_kind
        from rayrelief.relief import check_has_height
        from rayrelief.scale import check_scalable

        lengths = {
            "median depth (--scale-to)": self.scale_to,
            "distance (--distance)": self.distance,
        }
        for what, length in lengths.items():
            if length is not None:
                check_scalable(scene.camera, what)
        if self.height_file is not None:
            check_has_height(depth_kind(scene.camera.rays(*scene.mask.shape)))
        self._check_inside(scene)
        arguments: dict[str, Any] = {}
        prior = self._prior(scene)
        if prior is not None:
            arguments["prior"] = prior
        if self.tile:
            arguments["periodic"] = (True, True)
        return arguments

    def scaled(self, result: Integration) -> Integration:
        """Scale a result to the length that is known, if one is."""
        from rayrelief.scale import factor_to_depth, factor_to_distance

        if self.scale_to is not None:
            return result.scaled(factor_to_depth(result, self.scale_to))
        if (known := self.known_distance()) is not None:
            u, v, s, t, length = known
            return result.scaled(factor_to_distance(result, (u, v), (s, t), length))
        return result

    def lines(self, result: Integration) -> list[str]:
        """What there is to say about the surface, one line each."""
        from rayrelief.relief import seam

        if not self.tile:
            return []
        error = seam(result)
        if not error.fits:
            warnings.warn(
                "the map does not repeat: its sides do not fit each other. Leave out --tile",
                IntegrationWarning,
                stacklevel=1,
            )
        return [f"error of the repeated texture: {error}"]

    def write(self, result: Integration) -> list[Path]:
        """Write the height if it is wanted; the files that were written."""
        from rayrelief.io.height import write_height
        from rayrelief.relief import height_map

        if self.height_file is None:
            return []
        flatten = None if self.flatten is None else self.flatten.value
        write_height(self.height_file, height_map(result, flatten))  # type: ignore[arg-type]
        return [self.height_file]

    def _check_inside(self, scene: Scene) -> None:
        """Raise InputError for a depth or distance of a pixel that can have none, or not this."""
        import numpy as np

        from rayrelief.prior import nearest_pixel

        height, width = scene.mask.shape
        pixels = [point[:2] for point in self.known_points()]
        if (known := self.known_distance()) is not None:
            pixels += [known[:2], known[2:4]]
        places = [nearest_pixel(u, v, height, width) for u, v in pixels]
        for (u, v), place in zip(pixels, places, strict=True):
            if place is None:
                found = f"is outside of the image of {width}x{height} pixels"
            elif not scene.mask[place]:
                found = "is outside of the mask"
            elif not np.isfinite(scene.normals[place]).all():
                found = "has no normal"
            else:
                continue
            raise InputError(
                f"the pixel {u:g},{v:g} {found}",
                expected="column and row of a pixel inside, from 0",
                remedy="Give a pixel of the surface with --point or --distance",
            )
        if self.distance is not None and places[0] == places[1]:
            raise InputError(
                f"--distance {self.distance}, from a pixel to itself",
                expected="two different pixels",
                remedy="Choose two that are far apart",
            )
        if scene.camera.central and (zero := [p for p in self.known_points() if p[2] == 0.0]):
            u, v, _ = zero[0]
            raise InputError(
                f"the known depth 0 of the pixel {u:g},{v:g}",
                expected="a positive one: this camera sees nothing at depth 0",
                remedy="Measure depths from the camera, not from the surface",
            )

    def _prior(self, scene: Scene) -> DepthPrior | None:
        from rayrelief.cli.terminal.console import quiet_libraries, say
        from rayrelief.datasets.folder import assumed_kind
        from rayrelief.io.depth import bare_note, read_depth
        from rayrelief.prior import DepthPrior

        height, width = scene.mask.shape
        points = self.known_points()
        known = DepthPrior.at(points, height, width) if points else None  # type: ignore[arg-type]
        if self.depth_prior is None:
            return known
        with quiet_libraries():
            depth, kind = read_depth(self.depth_prior)
        for note in bare_note(self.depth_prior, kind):
            say(f"note: {note}")
        if kind is None and depth.shape == (height, width):
            kind, _ = assumed_kind(scene.camera, height, width)
        residual: Any = None if self.depth_sigma is None else "linear"
        return DepthPrior(depth, sigma=self.depth_sigma, residual=residual, kind=kind)


def numbers(text: str, count: int, option: str, form: str) -> tuple[float, ...]:
    """So many numbers between commas, or BadParameter."""
    try:
        found = tuple(map(float, text.split(",")))
    except ValueError:
        found = ()
    if len(found) != count:
        raise typer.BadParameter(
            f"{option} {text!r}: expected {form}, numbers between commas; their unit is that of "
            "--unit"
        )
    return found
