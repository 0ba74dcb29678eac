"""Rooms seen through every kind of camera: relative errors, and the seam of panoramas."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import rayrelief
from benchmarks.diligent import truth
from benchmarks.report import Check, Row, Table, columns, progress
from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.conventions import FloatArray
from rayrelief.evaluation.metrics import aligned
from rayrelief.methods import Reweighted
from rayrelief.synthetic.gallery import ellipsoid_inside, room
from rayrelief.synthetic.surroundings import wavy_relief, wavy_room

HEIGHT, WIDTH = 240, 320
SIZE = (WIDTH, HEIGHT)
MIDDLE = ((WIDTH - 1) / 2, (HEIGHT - 1) / 2)
SEAM = 4  # columns on either side

ELLIPSOID_LIMIT, WAVY_LIMIT = 0.02, 0.2  # percent
LEAST_GAIN = 5.0
SEAM_GAIN, SEAM_STEP = 1.25, 2.0


def cameras() -> dict[str, rayrelief.cameras.Camera]:
    """Cameras from narrow to the full sphere, all for images of the same size."""
    fisheye = WIDTH / math.radians(190.0)
    return {
        "pinhole, 60 degrees": rayrelief.cameras.Pinhole.from_fov(60.0, HEIGHT, WIDTH),
        "barrel distortion": rayrelief.cameras.BrownConrady(
            190, 190, *MIDDLE, k1=-0.25, k2=0.03, size=SIZE
        ),
        "fisheye, 190 degrees": rayrelief.cameras.KannalaBrandt(
            fisheye, fisheye, *MIDDLE, k1=-0.01, k2=0.002, size=SIZE
        ),
        "double sphere": rayrelief.cameras.DoubleSphere(
            95, 95, *MIDDLE, xi=-0.2, alpha=0.6, size=SIZE
        ),
        "panorama, 360 x 180 degrees": rayrelief.cameras.Equirectangular.full(HEIGHT, WIDTH),
    }


@dataclass(frozen=True)
class Outcome:
    """Relative errors in percent: mean and largest; the seam's are NaN without one.

    Attributes
    ----------
    seam
        Mean error next to the seam.
    seam_step
        How much the signed error changes from the last column to the first, over how much it
        changes from any column to the next: 1 where there is no seam.
    """

    mean: float
    largest: float
    seam: float
    seam_step: float


def tables() -> Iterator[Table]:
    """Continuous rooms with their limits, then the room with furniture."""
    yield continuous()
    yield furnished()


def continuous() -> Table:
    """Inside of an ellipsoid, a wavy room and a relief: nothing hides anything."""
    rooms = [
        (make(HEIGHT, WIDTH, camera), name, limit)
        for make, limit in ((ellipsoid_inside, ELLIPSOID_LIMIT), (wavy_room, WAVY_LIMIT))
        for name, camera in cameras().items()
    ]
    rows: list[Row] = []
    checks: list[Check] = []
    for scene, name, limit in [*rooms, (wavy_relief(HEIGHT, WIDTH), "orthographic", WAVY_LIMIT)]:
        what = f"{scene.name}, {name}"
        progress(f"cameras: {what}")
        found, ignoring = outcome(scene, scene.camera), ignoring_distortion(scene)
        gain = ignoring / found.mean if ignoring is not None else None
        rows.append((scene.name, name, found.mean, found.largest, found.seam, ignoring, gain))
        checks.append(Check(f"{what}: RE in percent", found.mean, below=limit))
        if scene.camera.wraps(WIDTH):
            at_seam, ratio = f"{what}: error at the seam", found.seam / found.mean
            checks.append(Check(f"{at_seam} over mean", ratio, below=SEAM_GAIN))
            checks.append(Check(f"{at_seam}, step", found.seam_step, below=SEAM_STEP))
        if gain is not None:
            checks.append(Check(f"{what}: gain over no distortion", gain, at_least=LEAST_GAIN))
    return Table(
        f"Continuous surroundings, {WIDTH}x{HEIGHT}: relative error in percent",
        columns(
            "scene | camera | RE:.4f | largest:.3f | next to the seam:.4f "
            "| RE ignoring the distortion:.2f | ratio:.0f"
        ),
        tuple(rows),
        checks=tuple(checks),
    )


def furnished() -> Table:
    """A room with boxes and spheres that hide one another: reported, without limits."""
    rows: list[Row] = []
    methods: tuple[Reweighted, ...] = (rayrelief.RayPlane(), rayrelief.BiNI(), rayrelief.Smooth())
    for name, camera in cameras().items():
        progress(f"cameras: room, {name}")
        scene = room(HEIGHT, WIDTH, camera)
        errors = [outcome(scene, camera, method).mean for method in methods]
        rows.append((name, *errors, ignoring_distortion(scene)))
    return Table(
        f"Room with furniture, {WIDTH}x{HEIGHT}: relative error in percent",
        columns(
            "camera | RayPlane:.2f | BiNI:.2f | Smooth:.2f | RayPlane ignoring the distortion:.2f"
        ),
        tuple(rows),
        notes=("Furniture that touches nothing in view has a depth that no normal map tells.",),
    )


def outcome(
    scene: rayrelief.Scene,
    camera: rayrelief.cameras.Camera,
    method: Reweighted = rayrelief.RayPlane(),  # noqa: B008  # it is frozen
) -> Outcome:
    """Integrate a scene through a camera, which may be a wrong one, and compare distances."""
    result = rayrelief.integrate(
        scene.normals, camera, mask=scene.mask, method=method, on_failure="return"
    )
    depth, true = result.distance(), true_distance(scene)
    # The depth of an orthographic camera has no zero: its errors are compared with the relief.
    error = aligned(depth, true, "scale" if camera.central else "shift") - true
    error *= 100 / (true if camera.central else np.ptp(true))
    percent = np.abs(error)
    seam = step = math.nan
    if camera.wraps(WIDTH):
        seam = float(np.nanmean(percent[:, [*range(SEAM), *range(-SEAM, 0)]]))
        usual = np.nanmean(np.abs(np.diff(error, axis=1)))
        step = float(np.nanmean(np.abs(error[:, 0] - error[:, -1])) / usual)
    return Outcome(float(np.nanmean(percent)), float(np.nanmax(percent)), seam, step)


def ignoring_distortion(scene: rayrelief.Scene) -> float | None:
    """Mean error of a pinhole with the same focal lengths; None where it is the same or absurd."""
    camera = scene.camera
    if not isinstance(camera, IntrinsicCamera) or camera.wraps(WIDTH):
        return None
    plain = rayrelief.cameras.Pinhole(camera.fx, camera.fy, camera.cx, camera.cy)
    return None if type(camera) is rayrelief.cameras.Pinhole else outcome(scene, plain).mean


def true_distance(scene: rayrelief.Scene) -> FloatArray:
    """True distance along the rays of the scene's own camera."""
    rays = scene.camera.rays(*scene.mask.shape)
    distance: FloatArray = truth(scene) * np.linalg.norm(rays, axis=-1)
    return distance
