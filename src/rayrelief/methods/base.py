"""What every method has, whatever its equations."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from rayrelief.cameras.view import View
from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.graph import STEPS, Connectivity, PixelGraph
from rayrelief.methods.edge_terms import EdgeModel
from rayrelief.preprocess import Preprocessing
from rayrelief.solvers.base import Solver
from rayrelief.solvers.multigrid import Multigrid


@dataclass(frozen=True, kw_only=True)
class Method:
    """What every method has: how it prepares, connects, starts, solves and stops.

    Attributes
    ----------
    connectivity
        4, "diagonal" (four diagonal neighbours) or 8.
    max_iterations
        Limit of the outer iterations.
    tolerance
        Stops when an iteration moves the surface by less than this fraction of its relief, or when
        the surface only wanders to and fro; None runs all iterations.
    solver
        Inner linear solver.
    initial_depth
        (H, W) depth to start from, of the kind that the camera's rays imply; also fixes the scale.
    preprocessing
        What happens to normals that face away or do not fit.
    """

    connectivity: Connectivity = 4
    max_iterations: int = 40
    tolerance: float | None = 1e-4
    solver: Solver = field(default_factory=Multigrid)
    initial_depth: npt.NDArray[Any] | None = field(default=None, repr=False, compare=False)
    preprocessing: Preprocessing = field(default_factory=Preprocessing)

    def __post_init__(self) -> None:
        if not isinstance(self.max_iterations, int) or self.max_iterations < 1:
            raise InputError(
                f"max_iterations is {self.max_iterations!r}",
                expected="a whole number from 1",
                remedy="Leave it out for the method's own",
            )
        if self.connectivity not in STEPS:
            raise InputError(
                f"connectivity is {self.connectivity!r}",
                expected="4, 'diagonal' or 8",
                remedy="Use 4, the paper's choice",
            )
        if isinstance(self.solver, type) or not hasattr(self.solver, "prepare"):
            raise InputError(
                f"the solver is {self.solver!r}",
                expected="a solver such as Multigrid(), not its class",
                remedy="Leave it out for the method's own",
            )
        if not isinstance(self.preprocessing, Preprocessing):
            raise InputError(
                f"preprocessing is {self.preprocessing!r}",
                expected="a Preprocessing",
                remedy="Use Preprocessing(facing_away='average'), for example",
            )
        if self.tolerance is not None and not self.tolerance > 0:
            raise InputError(
                f"tolerance is {self.tolerance}",
                expected="a positive number, or None for all iterations",
                remedy="Use None (0 on the command line) to run without an early stop",
            )

    @property
    def model(self) -> EdgeModel:
        """How edges are weighted and blended."""
        raise NotImplementedError

    def without_truth(self) -> Method:
        """Return the method without anything that it was told about the true surface."""
        return self

    def equations(self, graph: PixelGraph, normals: FloatArray, view: View) -> EdgeEquations:
        """Equations of all edges, for normals (H, W, 3) seen through a view."""
        raise NotImplementedError


def depth_image(name: str, depth: npt.ArrayLike, shape: tuple[int, int]) -> FloatArray:
    """Depth given with a method as (H, W) float64, or an InputError that names it."""
    image: FloatArray = np.asarray(depth, dtype=np.float64)
    if image.shape != shape:
        raise InputError(
            f"{name} has the shape {image.shape}",
            expected=f"{shape}, the size of the normal map",
            remedy="Give a depth for every pixel of the mask",
        )
    return image


def check_finite(**settings: float) -> None:
    """Raise InputError unless all settings are finite and not negative."""
    for name, value in settings.items():
        if not (isinstance(value, Real) and np.isfinite(value) and value >= 0):
            raise InputError(
                f"{name} is {value!r}",
                expected="a finite number that is not negative",
                remedy="Leave it out for the paper's value",
            )
