"""Options of integrate about the surface itself: what is known of its depth, and its relief."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rayrelief.prior import DepthPrior
    from rayrelief.result import Integration
    from rayrelief.scene import Scene

_KNOWN, _RELIEF = "Known depth and scale", "Textures and relief"


class FlattenName(StrEnum):
    """What is taken off a height map."""

    PLANE = "plane"
    QUADRIC = "quadric"


DepthPriorFile = Annotated[
    Path | None,
    typer.Option(
        "--depth-prior",
        metavar="FILE",
        help="Depth that is known, coarse or of some pixels alone (.npy, .npz, .exr, .png).",
        rich_help_panel=_KNOWN,
    ),
]
DepthSigma = Annotated[
    float | None,
    typer.Option(
        help="Standard deviation of the known depths, in their unit; estimated unless given.",
        rich_help_panel=_KNOWN,
    ),
]
Points = Annotated[
    list[str] | None,
    typer.Option(
        "--point",
        metavar="u,v,z",
        help="Depth z that is known at column u and row v, from 0; may be repeated.",
        rich_help_panel=_KNOWN,
    ),
]
Distance = Annotated[
    str | None,
    typer.Option(
        metavar="u,v,u,v,LENGTH",
        help="Length between the points of two pixels that is known.",
        rich_help_panel=_KNOWN,
    ),
]
ScaleTo = Annotated[
    float | None,
    typer.Option(metavar="DEPTH", help="Median depth that is known.", rich_help_panel=_KNOWN),
]
Tile = Annotated[
    bool,
    typer.Option(
        "--tile", help="The texture repeats: no seam and no tilt.", rich_help_panel=_RELIEF
    ),
]
HeightFile = Annotated[
    Path | None,
    typer.Option(
        "--height",
        metavar="FILE",
        help="Also write the height, white is high: 16-bit .png, or .exr.",
        rich_help_panel=_RELIEF,
    ),
]
Flatten = Annotated[
    FlattenName | None,
    typer.Option(help="Take the best plane or quadric off the height.", rich_help_panel=_RELIEF),
]


@dataclass(frozen=True, kw_only=True)
class SurfaceOptions:
    """What is known of the depth, and what is wanted of the relief."""

    depth_prior: DepthPriorFile = None
    depth_sigma: DepthSigma = None
    point: Points = None
    distance: Distance = None
    scale_to: ScaleTo = None
    tile: Tile = False
    height_file: HeightFile = None
    flatten: Flatten = None

    @classmethod
    def taken_from(cls, chosen: dict[str, Any]) -> SurfaceOptions:
        """Take these options out of those of a verb; BadParameter where they do not go together."""
        options = cls(**{field.name: chosen.pop(field.name) for field in fields(cls)})
        scales = {
            "--depth-prior or --point": bool(options.depth_prior or options.point),
            "--distance": options.distance is not None,
            "--scale-to": options.scale_to is not None,
        }
        given = [name for name, is_given in scales.items() if is_given]
        if len(given) > 1:
            raise typer.BadParameter(f"{' and '.join(given)} all give the scale: choose one")
        if options.flatten is not None and options.height_file is None:
            raise typer.BadParameter("--flatten goes with --height FILE")
        if options.depth_prior and options.point:
            raise typer.BadParameter("give either --depth-prior or --point, not both")
        if options.depth_sigma is not None and options.depth_prior is None:
            raise typer.BadParameter("--depth-sigma goes with --depth-prior FILE")
        options.known_distance()
        options.known_points()
        return options

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
        from rayrelief.cli.places import check_folder
        from rayrelief.io.height import check_height_suffix

        if self.height_file is not None:
            check_height_suffix(self.height_file)
            check_folder(self.height_file.parent, [self.height_file])

    def arguments(self, scene: Scene) -> dict[str, Any]:
        """Arguments of integrate for a scene."""
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

        lines = []
        if self.tile:
            lines.append(f"error of the repeated texture: {seam(result)}")
        return lines

    def write(self, result: Integration) -> list[Path]:
        """Write the height if it is wanted; the files that were written."""
        from rayrelief.io.height import write_height
        from rayrelief.relief import height_map

        if self.height_file is None:
            return []
        flatten = None if self.flatten is None else self.flatten.value
        write_height(self.height_file, height_map(result, flatten))  # type: ignore[arg-type]
        return [self.height_file]

    def _prior(self, scene: Scene) -> DepthPrior | None:
        from rayrelief.io.depth import read_depth
        from rayrelief.prior import DepthPrior

        height, width = scene.mask.shape
        points = self.known_points()
        known = DepthPrior.at(points, height, width) if points else None  # type: ignore[arg-type]
        if self.depth_prior is None:
            return known
        depth, kind = read_depth(self.depth_prior)
        residual: Any = None if self.depth_sigma is None else "linear"
        return DepthPrior(depth, sigma=self.depth_sigma, residual=residual, kind=kind)


def numbers(text: str, count: int, option: str, form: str) -> tuple[float, ...]:
    """So many numbers between commas, or BadParameter."""
    try:
        found = tuple(map(float, text.split(",")))
    except ValueError:
        found = ()
    if len(found) != count:
        raise typer.BadParameter(f"{option} {text!r}: expected {form}, numbers between commas")
    return found
