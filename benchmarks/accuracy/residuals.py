"""How well a formulation describes a true depth map: the residuals of Tables 1, 7 and 8."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError
from rayrelief.methods.base import Method
from rayrelief.problem import assemble
from rayrelief.scene import Scene


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over all directed edges."""

    mean: float
    std: float


@dataclass(frozen=True)
class FormulationResiduals:
    """Residuals of the smooth equations (no jumps) on the true depth.

    Attributes
    ----------
    absolute
        |gamma (x_a - x_b - offset)|.
    relative_log_depth
        |(x_a - x_b - offset) / x_a|.
    relative_depth
        |(z_a - exp(offset) z_b) / z_a|.
    """

    absolute: Spread
    relative_log_depth: Spread
    relative_depth: Spread


def formulation_residuals(scene: Scene, method: Method) -> FormulationResiduals:
    """Residuals of a method's equations on the ground truth of a scene seen by a central camera."""
    if scene.depth is None or not scene.camera.central:
        raise InputError(
            f"the scene {scene.name!r} has no true depth or no central camera",
            expected="a ground-truth depth along the rays of a central camera",
            remedy="Use a scene with depth_gt",
        )
    inside = scene.mask & np.isfinite(scene.depth)
    problem = assemble(scene.normals, scene.camera, mask=inside, method=method)
    if scene.depth_kind != problem.depth_kind:
        raise InputError(
            f"the true depth of the scene {scene.name!r} is of the kind {scene.depth_kind!r}",
            expected=f"{problem.depth_kind!r}, the kind that its camera needs",
            remedy="Convert the depth first",
        )
    equations, graph = problem.equations, problem.graph
    if graph.component_count == graph.size:
        raise InputError(
            f"no equation connects any two pixels of the scene {scene.name!r}",
            expected="neighbours inside the mask that have a true depth",
            remedy="Check the mask and the ground truth",
        )
    x = problem.unknown(scene.depth)
    parts: tuple[list[FloatArray], ...] = ([], [], [])
    for d, a, b in graph.edges():
        miss = x[a] - x[b] - equations.offset_of(d)[a]
        parts[0].append(np.abs(equations.gamma_of(d)[a] * miss))
        has_log = x[a] != 0  # the measure has no value at a depth of 1
        parts[1].append(np.abs(miss[has_log] / x[a][has_log]))
        parts[2].append(np.abs(np.expm1(-miss)))  # z_b exp(offset) / z_a = exp(-miss)
    return FormulationResiduals(*(_spread(np.concatenate(part)) for part in parts))


def _spread(values: FloatArray) -> Spread:
    if not values.size:
        return Spread(float("nan"), float("nan"))
    return Spread(float(values.mean()), float(values.std()))
