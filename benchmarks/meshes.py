"""Meshes that other programs like: needles, strips across jumps, bodies, fewer faces."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import rayrelief
from benchmarks.calibration.edges import jump_images, renderers
from benchmarks.diligent import data_folder, read_maps
from benchmarks.report import (
    Check,
    Row,
    Table,
    UnavailableError,
    columns,
    progress,
)
from rayrelief import Integration, Mesh, Scene, synthetic
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.mesh.distance import farthest
from rayrelief.meshing import CUT, torn_edges
from rayrelief.methods import Method
from rayrelief.surface import grid_mesh
from rayrelief.synthetic import with_outliers
from rayrelief.synthetic.surroundings import wavy_room

METHODS: dict[str, Method] = {
    "RayPlane": rayrelief.RayPlane(),
    "Ordered": rayrelief.Ordered(),
}
SIZE = 240, 320
ORTHOGRAPHIC = ("owl", "human", "plant")
FARTHEST = 3.0  # sizes of what 99 % of the vertices span
LONGEST = 20.0  # median edges
TRUE_JUMP = 3.0  # pixels
HIDDEN = "room"  # whose normals say of some jumps that there are none (docs/meshes.md)
CAP_RADIUS = 200.5  # pixels; half a pixel of the rim is lost to the mask
WRONG_IN = "crowd 0", "still_life", "sphere"
WRONG = 0.0, 0.02, 0.05, 0.12  # of the normals
ERRORS = (0.02, 0.1, 0.5)  # mm


def run(scene: Scene, method: Method) -> Integration:
    """Result of a scene, also of a run that has not converged."""
    return rayrelief.integrate(
        scene.normals, scene.camera, mask=scene.mask, method=method, on_failure="return"
    )


def whole_mesh(result: Integration) -> Mesh:
    """The mesh cut where the method says so, and nothing else left out."""
    cuts = torn_edges(result._problem, result._solution, result.depth).cuts(CUT, wraps=False)
    pixels = np.argwhere(result.mask)[:, ::-1].astype(np.int32)
    mesh = grid_mesh(result.points(), result.mask, cuts.right, cuts.down)
    return replace(mesh, pixels=pixels)


def spread(vertices: FloatArray) -> float:
    """Distance of the farthest vertex from the median, over the size that 99 % of them span."""
    low, high = np.quantile(vertices, (0.005, 0.995), axis=0)
    off = np.linalg.norm(vertices - np.median(vertices, axis=0), axis=1)
    return float(off.max() / (high - low).max())


def longest_edge(mesh: Mesh) -> float:
    """Length of the longest edge, over that of half of them."""
    corners = mesh.vertices[mesh.faces]
    lengths = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
    return float(lengths.max() / np.median(lengths))


def is_manifold(mesh: Mesh) -> bool:
    """Whether a body is a closed, oriented manifold with an inside, also in 32-bit floats."""
    try:
        import manifold3d
    except ModuleNotFoundError as error:
        raise UnavailableError("manifold3d is not installed") from error
    rounded = mesh.vertices.astype(np.float32).astype(np.float64)
    body = manifold3d.Manifold(manifold3d.Mesh64(rounded, mesh.faces.astype(np.uint64)))
    return body.status() == manifold3d.Error.NoError and body.volume() > 0


def over_jumps(mesh: Mesh, right: BoolArray, down: BoolArray) -> int:
    """Faces with a side between two pixels (H, W) that a jump parts, to the right or below."""
    u, v = mesh.known_pixels()[mesh.faces].transpose(2, 0, 1)
    over = np.zeros(len(mesh.faces), dtype=np.bool_)
    for i in range(3):
        left, top = np.minimum(u[:, i], u[:, i - 1]), np.minimum(v[:, i], v[:, i - 1])
        over |= (v[:, i] == v[:, i - 1]) & right[top, left]
        over |= (u[:, i] == u[:, i - 1]) & down[top, left]
    return int(np.count_nonzero(over))


def scenes() -> Iterator[Scene]:
    """Real maps where there are any, then the built-in scenes, one of them all around."""
    try:
        folder = data_folder()
        yield from read_maps()
        for name in ORTHOGRAPHIC:
            path = folder / "other" / f"{name}_orthographic"
            yield rayrelief.read_scene(path, camera="orthographic")
    except UnavailableError as error:
        progress(f"skipped: real maps: {error}")
    for render in synthetic.GALLERY.values():
        yield render(*SIZE)
    panorama = rayrelief.cameras.Equirectangular.full(128, 256)
    yield replace(wavy_room(128, 256, panorama), name="wavy_room, panorama")


def maps() -> Table:
    """Needles and bodies of every map."""
    rows: list[Row] = []
    checks = []
    for scene in scenes():
        for name, method in METHODS.items():
            progress(f"meshes: {scene.name}, {name}")
            result = run(scene, method)
            mesh = result.mesh()
            before, after = spread(result.points()[result.mask]), spread(mesh.vertices)
            body = is_manifold(result.solid())
            assert mesh.left_out is not None
            out = mesh.left_out
            counts = (len(mesh.faces), out.cuts, out.faces, out.parts, out.pixels)
            edge = longest_edge(mesh)
            rows.append((scene.name, name, before, after, edge, *counts, "yes" if body else "no"))
            what = f"{scene.name}, {name}"
            checks.append(Check(f"{what}, farthest vertex", after, at_most=FARTHEST))
            if name == "Ordered":
                checks.append(Check(f"{what}, longest edge", edge, at_most=LONGEST))
            checks.append(Check(f"{what}, body is a manifold", float(body), at_least=1))
    failed = [check for check in checks if not check.holds]
    return Table(
        "Farthest vertex, what is left out, bodies",
        columns(
            "map | method | all pixels:.2f | mesh:.2f | longest edge:.1f | faces:,.0f | "
            "cuts:,.0f | shreds:,.0f | small parts:,.0f | pixels left out:,.0f | body is a manifold"
        ),
        tuple(rows),
        (
            "Distance of the farthest vertex from the median, over the longest side of the box "
            "that 99 % of the vertices span along each axis.",
            "The longest edge over the one of which half of all edges are shorter.",
            f"{len(checks)} limits: at most {FARTHEST:g}, edges by Ordered {LONGEST:g}, and every "
            "body a manifold.",
        ),
        tuple(failed or checks[:1]),
    )


def jumps() -> Table:
    """Faces across true jumps of the built-in scenes."""
    rows: list[Row] = []
    for title, render in renderers(*SIZE).items():
        right, down = (np.abs(image) > TRUE_JUMP for image in jump_images(render, SIZE)[:2])
        if not (right.any() or down.any()):
            continue
        for name, method in METHODS.items():
            progress(f"jumps: {title}, {name}")
            result = run(render(*SIZE), method)
            footprint = result._problem.view.footprint(result.depth)
            torn_right, torn_down = (
                np.abs(result.jumps.towards(*step)) > TRUE_JUMP * footprint
                for step in ((1, 0), (0, 1))
            )
            cells = []
            for mesh in (whole_mesh(result), result.mesh()):
                cells.append(over_jumps(mesh, right, down))
                cells.append(over_jumps(mesh, right & torn_right, down & torn_down))
            strict = result.mesh(cut=0.0)
            faces = len(result.mesh().faces), over_jumps(strict, right, down), len(strict.faces)
            rows.append((title, name, *cells, *faces))
    checks = []
    for what, index, limit in (("mesh", 4, 0.05), ("mesh with cut=0", 7, 0.005)):
        share = sum(float(row[index] or 0) for row in rows) / sum(
            float(row[2] or 0) for row in rows
        )
        checks.append(Check(f"faces across true jumps left, {what}", share, at_most=limit))
    by_ordered = [row for row in rows if row[1] == "Ordered" and row[0] != HIDDEN]
    left = sum(float(row[4] or 0) for row in by_ordered)
    checks.append(Check(f"faces across true jumps, Ordered, without {HIDDEN}", left, at_most=0))
    return Table(
        f"Faces across true jumps of more than {TRUE_JUMP:g} pixels",
        columns(
            "scene | method | only cut:,.0f | of these torn:,.0f | mesh:,.0f | "
            "of these torn:,.0f | faces:,.0f | with cut=0:,.0f | faces:,.0f"
        ),
        tuple(rows),
        ("Torn: the result jumps there too, by as much. Elsewhere the method closed the surface.",),
        tuple(checks),
    )


def wrong_normals() -> Table:
    """What wrong normals tear out of a mesh."""
    rows: list[Row] = []
    for title in WRONG_IN:
        render = renderers(*SIZE)[title]
        right, down = (np.abs(image) > TRUE_JUMP for image in jump_images(render, SIZE)[:2])
        scene = render(*SIZE)
        for share in WRONG:
            progress(f"wrong normals: {title}, {share:.0%}")
            normals = with_outliers(scene.normals, share, np.random.default_rng(0))
            mesh = run(replace(scene, normals=normals), METHODS["Ordered"]).mesh()
            assert mesh.left_out is not None
            counts = len(mesh.faces), mesh.left_out.faces, over_jumps(mesh, right, down)
            rows.append((title, share, *counts))
    return Table(
        "Meshes of maps with wrong normals, Ordered",
        columns("scene | wrong:.0% | faces:,.0f | shreds:,.0f | across true jumps:,.0f"),
        tuple(rows),
    )


def bodies() -> Table:
    """Volume of a spherical cap against its closed form, and simplified bodies."""
    pixel, radius, side = 0.01, 3.0, 2 * math.ceil(CAP_RADIUS) + 3
    camera = rayrelief.cameras.Orthographic(pixel, (side - 1) / 2, (side - 1) / 2)
    ball = synthetic.shapes.Sphere((0.0, 0.0, 10.0), radius)
    scene = synthetic.render([ball], camera, side, side, name="cap")
    v, u = np.indices((side, side)) - (side - 1) / 2
    scene = replace(scene, mask=scene.mask & (np.hypot(u, v) < CAP_RADIUS))
    result = run(scene, METHODS["RayPlane"])
    body = result.solid(width=100.0, base=3.0)
    rim = CAP_RADIUS * pixel
    scale, height = 100.0 / (2 * rim), radius - math.sqrt(radius**2 - rim**2)
    cap = math.pi * height**2 * (3 * radius - height) / 3
    expected = scale**3 * cap + math.pi * 50.0**2 * 3.0
    rows: list[Row] = [("all", len(body.faces), volume(body) / expected - 1, 0.0, None)]
    checks = [
        Check("volume of the cap, relative error", abs(volume(body) / expected - 1), at_most=0.01)
    ]
    for bound in ERRORS:
        began = time.perf_counter()
        fewer = body.simplified(bound)
        seconds = time.perf_counter() - began
        error = farthest(body.vertices, fewer.vertices, fewer.faces, bound)
        row = f"{bound:g} mm", len(fewer.faces), volume(fewer) / expected - 1, error, seconds
        rows.append(row)
        checks.append(Check(f"measured error for {bound:g} mm", error, at_most=bound))
    return Table(
        "A spherical cap of 100 mm on a base of 3 mm, and fewer faces",
        columns(
            "error allowed | faces:,.0f | volume, relative error:.2%| error, mm:.4f | seconds:.1f"
        ),
        tuple(rows),
        ("The error is that of all vertices of the whole body to the simplified one.",),
        tuple(checks),
    )


def volume(mesh: Mesh) -> float:
    """Volume inside a closed mesh."""
    a, b, c = mesh.vertices[mesh.faces].transpose(1, 0, 2)
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


def tables() -> Iterator[Table]:
    """Maps, jumps, wrong normals and bodies."""
    yield maps()
    yield jumps()
    yield wrong_normals()
    yield bodies()
