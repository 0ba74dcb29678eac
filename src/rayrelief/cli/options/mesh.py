"""Options of the mesh that a run writes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from rayrelief.cli.options.groups import OptionGroup, section
from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError
from rayrelief.io.meshes import NEED_FACES
from rayrelief.mesh import Mesh
from rayrelief.mesh.texture import Picture, check_picture
from rayrelief.mesh.units import METRES, Unit, in_unit
from rayrelief.meshing import CUT, MIN_PART
from rayrelief.result import Integration
from rayrelief.scene import Scene

DEFAULT_WIDTH, DEFAULT_BASE = "100mm", "3mm"
COLOURS = ("normals", "depth", "error")


UnitName = StrEnum("UnitName", {name: name for name in METRES})  # type: ignore[misc]


class FaceKind(StrEnum):
    """What a mesh consists of."""

    TRIANGLES = "triangles"
    QUADS = "quads"
    NONE = "none"


# Formats that cannot store them.
UNABLE = {
    FaceKind.TRIANGLES: (),
    FaceKind.QUADS: (".ply", *NEED_FACES),
    FaceKind.NONE: NEED_FACES,
}


_option = section("Mesh")


@dataclass(frozen=True, kw_only=True)
class MeshOptions(OptionGroup):
    """How a result becomes a mesh."""

    cut: Annotated[float, _option("Jumps of more pixels than these are cut.", min=0)] = CUT
    min_part: Annotated[
        int, _option("Parts of fewer pixels are left out, but for the largest.", min=1)
    ] = MIN_PART
    faces: Annotated[
        FaceKind, _option("Triangles, quads (obj), or none: points with normals (ply, obj).")
    ] = FaceKind.TRIANGLES
    colour: Annotated[
        str | None,
        _option("A photo of the same view, or what to colour.", metavar="normals|depth|error|FILE"),
    ] = None
    max_error: Annotated[
        str | None,
        _option("Fewer faces, measured to be within this length, such as 0.1mm."),
    ] = None
    width: Annotated[
        str | None,
        _option(f"Size from left to right, such as 100mm; a solid without it has {DEFAULT_WIDTH}."),
    ] = None
    unit: Annotated[
        UnitName | None,
        _option("Unit of the mesh: what --width is written in [mm], or what the depth is in."),
    ] = None
    solid: Annotated[
        bool, _option("Close the surface to a body for printing, face up.", "--solid")
    ] = False
    base: Annotated[
        str | None,
        _option(
            "Thickness of a solid's base, or of its wall in a panorama.",
            show_default=DEFAULT_BASE,
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.faces is FaceKind.NONE and (self.solid or self.max_error):
            raise typer.BadParameter("--faces none goes with neither --solid nor --max-error")
        if self.quads and (self.solid or self.max_error):  # their faces are not of four pixels
            raise typer.BadParameter("--faces quads goes with neither --solid nor --max-error")
        if self.base is not None and not self.solid:
            raise typer.BadParameter("--base goes with --solid")
        self.lengths()

    def check_formats(self, formats: list[str]) -> None:
        """Raise BadParameter unless these formats can store the faces."""
        others = [each for each in formats if f".{each}" in UNABLE[self.faces]]
        if others:
            able = "obj" if self.quads else "ply"
            raise typer.BadParameter(
                f"--faces {self.faces} cannot be stored in {others[0]} files: "
                f"add --mesh-format {able}"
            )
        if self.solid and not formats:
            raise typer.BadParameter("--solid is a mesh: it does not go with --mesh-format none")
        if self.colour is not None and formats == ["stl"]:
            raise typer.BadParameter(
                "--colour cannot be stored in stl files: add --mesh-format ply, obj or glb"
            )

    def asked(self, suffix: str) -> bool:
        """Whether a mesh in such a file was asked for, unlike the one that every run writes."""
        return self != MeshOptions() or suffix in NEED_FACES

    @property
    def photo(self) -> Path | None:
        """File with the colours, if they come from one."""
        return None if self.colour is None or self.colour in COLOURS else Path(self.colour)

    @property
    def quads(self) -> bool:
        """Whether pairs of triangles are written as one face."""
        return self.faces is FaceKind.QUADS

    def known_unit(self) -> Unit | None:
        """Unit of the mesh; None where nobody knows how large it is."""
        if self.unit is None:
            return "mm" if self.solid or self.width else None
        return next(name for name in METRES if name == self.unit)

    def depth_unit(self, *, told: bool) -> str | None:
        """Unit of the depth, if one was named.

        A mesh with a width has it alone where nothing told the scale of the depth, or where it is
        what the width is written in.
        """
        if self.width or self.solid:
            return self.unit if told and not _is_number(self.width) else None
        return self.unit

    def lengths(self) -> tuple[float | None, float, float | None]:
        """Width, base and largest error in the unit of the mesh; None where there is none."""
        unit = self.known_unit()
        text = self.width or (DEFAULT_WIDTH if self.solid else None)
        width = None if text is None else _length("--width", text, unit)
        base = _length("--base", DEFAULT_BASE if self.base is None else self.base, unit or "mm")
        error = self.max_error
        return width, base, None if error is None else _length("--max-error", error, unit)

    def rescaled(self, result: Integration, mesh: Mesh) -> dict[str, Any] | None:
        """How wide a mesh is by these options, in words, and how wide it was in the depth's unit.

        None without a width.
        """
        width, _, _ = self.lengths()
        if width is None:
            return None
        u, v = mesh.known_pixels().T
        before = float(np.ptp(result.points()[v, u, 0]))
        return {"width": f"{width:g} {self.known_unit()}", "from": before}

    def told(self) -> dict[str, Any]:
        """What was asked for, for a report."""
        width, base, max_error = self.lengths()
        return {
            "cut": self.cut if math.isfinite(self.cut) else "inf",
            "min_part": self.min_part,
            "faces": self.faces.value,
            "colour": self.colour,
            "width": width,
            "base": base if self.solid else None,
            "max_error": max_error,
        }

    def check(self, scene: Scene) -> None:
        """Raise InputError before a run rather than after it, if a mesh cannot be had."""
        from rayrelief.mesh.simplification import library_of_faces

        if self.max_error is not None:
            library_of_faces()
        if self.colour == "error" and scene.depth is None:
            raise _no_truth()
        if self.photo is not None:
            check_picture(_read_photo(self.photo), scene.mask.shape)

    def mesh_of(self, result: Integration, truth: FloatArray | None) -> Mesh:
        """Mesh of a result as these options want it."""
        width, base, max_error = self.lengths()
        unit = self.known_unit()
        rule: dict[str, Any] = {"cut": self.cut, "min_part": self.min_part}
        mesh = result.mesh(**rule)
        if self.solid and width is not None and unit is not None:
            left_out = mesh.left_out
            mesh = result.solid(width=width, base=base, unit=unit, **rule)
            mesh = replace(mesh, left_out=left_out)
        elif width is not None:
            mesh = mesh.scaled(width / _width_of(mesh), unit)
        else:
            mesh = replace(mesh, unit=unit)
        if max_error is not None:
            mesh = mesh.simplified(max_error)
        if self.colour is not None:
            mesh = mesh.coloured(self._picture(result, truth), (result.depth.shape))
        if self.faces is FaceKind.NONE:
            mesh = replace(mesh, faces=mesh.faces[:0])
        return mesh

    def _picture(self, result: Integration, truth: FloatArray | None) -> Picture:
        """Picture (h, w, 3) of the colours."""
        from rayrelief.shading import paint_normals
        from rayrelief.viewer import colours

        if self.photo is not None:
            return _read_photo(self.photo)
        if self.colour == "normals":
            return paint_normals(result.input_normals)
        if self.colour == "depth":
            return colours.depth_scale(result).paint(result.depth)
        if truth is None:
            raise _no_truth()
        error = colours.error_of(result, truth)
        return colours.error_scale(error).paint(error)


def _is_number(text: str | None) -> bool:
    """Whether a length is written without its unit."""
    try:
        return text is not None and math.isfinite(float(text))
    except ValueError:
        return False


def _length(option: str, text: str, unit: Unit | None) -> float:
    """Length in a unit; BadParameter that names the option."""
    try:
        return in_unit(text, unit)
    except InputError as error:
        raise typer.BadParameter(str(error), param_hint=f"'{option}'") from error


def _read_photo(path: Path) -> Picture:
    from rayrelief.cli.terminal.console import quiet_libraries
    from rayrelief.io.images import read_picture

    if not path.exists() and not path.suffix:  # a word, and no file
        raise InputError(
            f"--colour {path}",
            expected=f"one of {', '.join(COLOURS)}, or the path of an image",
            remedy="Name one of them",
        )
    with quiet_libraries():
        return read_picture(path)


def _width_of(mesh: Mesh) -> float:
    """From the leftmost to the rightmost vertex."""
    side = float(np.ptp(mesh.vertices[:, 0])) if len(mesh.vertices) else 0.0
    if side > 0:
        return side
    raise InputError(
        "a surface without any width",
        expected="pixels beside each other",
        remedy="Check the mask, or leave out --width",
    )


def _no_truth() -> InputError:
    return InputError(
        "--colour error without a ground truth",
        expected="a folder with a depth_gt file of the same kind of depth",
        remedy="Use --colour depth or --colour normals",
    )
