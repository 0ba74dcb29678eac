"""Methods as recipes: dataclasses with settings, equations and a law of weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self, get_args

from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.view import View
from rayrelief.checks import (
    SWITCH,
    Rule,
    check_settings,
    is_count,
    is_not_negative,
    is_number,
    is_positive_or_none,
    one_of,
)
from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError
from rayrelief.formulation import bini
from rayrelief.formulation.edge_equations import EdgeEquations
from rayrelief.formulation.ray_plane import AdaptiveMidpoint, CostFactor, two_plane_equations
from rayrelief.graph import PixelGraph
from rayrelief.laws.bilateral import Bilateral
from rayrelief.methods.reweighted import Reweighted
from rayrelief.solvers.base import Solver
from rayrelief.solvers.conjugate_gradient import ConjugateGradient
from rayrelief.solvers.multigrid import Multigrid

__all__ = ["AdaptiveMidpoint", "BiNI", "RayPlane", "Smooth"]

Form = Literal["rays", "printed"]

PUBLISHED_SOLVER = ConjugateGradient(rtol=1e-3, max_steps=5000, diagonal_floor=1e-5)
NOT_NEGATIVE = Rule(is_not_negative, "a finite number >= 0", "Leave it out for the paper's value")


@dataclass(frozen=True, kw_only=True)
class BilaterallyWeighted(Reweighted):
    """What RayPlane and BiNI share: bilateral weights, and the schedule of the papers.

    Attributes
    ----------
    sharpness
        How readily an edge becomes a discontinuity: the larger, the more so (the paper's k).
    """

    sharpness: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self, sharpness=NOT_NEGATIVE)

    @classmethod
    def published(cls, iterations: int = 1200, **changes: Any) -> Self:
        """Return the paper's schedule: loose inner solves, many iterations, no early stop."""
        schedule = {"max_iterations": iterations, "tolerance": None, "solver": PUBLISHED_SOLVER}
        return cls(**{**schedule, **changes})


@dataclass(frozen=True, kw_only=True)
class TwoPlanes(Reweighted):
    """What RayPlane and Smooth share: two local planes that meet on the ray between two pixels.

    Attributes
    ----------
    midpoint
        Where between two pixels their planes meet, from 0 to 1 (in the library also a rule,
        AdaptiveMidpoint); the paper's lambda_m.
    outlier_threshold
        An edge whose depths would differ by more than this fraction, such as 0.1, takes the best
        of several midpoints (the paper's eps_out); off unless given. Central cameras only.
    outlier_samples
        How many midpoints are tried for an outlier.
    cost_factor
        What weighs an equation in the cost: the paper's gamma in full, or only its cosine or its
        focal length.
    """

    midpoint: float | AdaptiveMidpoint = 0.5
    outlier_threshold: float | None = None
    outlier_samples: int = 21
    cost_factor: CostFactor = "full"

    def __post_init__(self) -> None:
        super().__post_init__()
        midpoint = "a fraction from 0 to 1, or an AdaptiveMidpoint"
        fraction = "a positive fraction, or None"
        check_settings(
            self,
            midpoint=Rule(_is_midpoint, midpoint, "Use 0.5, the paper's choice"),
            cost_factor=one_of(get_args(CostFactor), "Use 'full', the paper's choice"),
            outlier_samples=Rule(_is_several, "an integer >= 2", "Use 21"),
            outlier_threshold=Rule(is_positive_or_none, fraction, "The paper uses 0.1 and 0.01"),
        )

    @property
    def weight_gamma(self) -> float | None:
        """Constant that replaces f in the gamma of the weights; None for f itself."""
        return None

    def equations(self, graph: PixelGraph, normals: FloatArray, view: View) -> EdgeEquations:
        """Two-plane equations for central and for orthographic cameras."""
        return two_plane_equations(
            graph,
            normals,
            view,
            midpoint=self.midpoint,
            outlier_threshold=self.outlier_threshold,
            outlier_samples=self.outlier_samples,
            cost_factor=self.cost_factor,
            weight_constant=self.weight_gamma,
        )


@dataclass(frozen=True, kw_only=True)
class RayPlane(BilaterallyWeighted, TwoPlanes):
    """The paper's method: two local planes that meet on the ray between two pixels, and jumps.

    Attributes
    ----------
    jumps
        Compute discontinuities (the paper's alpha and beta).
    activation_slope
        How abruptly an edge becomes a discontinuity (the paper's q).
    activation_threshold
        Edges with a smaller weight count as discontinuities (the paper's rho).
    weight_constant
        Replaces the focal length in the paper's gamma, in the weights alone; off unless given.
    """

    jumps: bool = True
    activation_slope: float = 50.0
    activation_threshold: float = 0.25
    weight_constant: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(
            self, jumps=SWITCH, activation_slope=NOT_NEGATIVE, activation_threshold=NOT_NEGATIVE
        )
        if self.weight_constant is not None:
            check_settings(self, weight_constant=NOT_NEGATIVE)

    @property
    def law(self) -> Bilateral:
        """Bilateral weights, and jumps unless they are switched off."""
        return Bilateral(
            self.sharpness, self.jumps, self.activation_slope, self.activation_threshold
        )

    @property
    def weight_gamma(self) -> float | None:
        """Constant that replaces f in the gamma of the weights; None for f itself."""
        return self.weight_constant


@dataclass(frozen=True, kw_only=True)
class BiNI(BilaterallyWeighted):
    """Bilateral normal integration (Cao et al., ECCV 2022).

    Attributes
    ----------
    form
        How gamma is computed: from the rays, for any camera, or as printed in its paper, for a
        Pinhole; the same for an orthographic camera.
    """

    form: Form = "rays"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self, form=one_of(get_args(Form), "Use 'rays'"))

    @classmethod
    def published(cls, iterations: int = 1200, **changes: Any) -> Self:
        """Return the row "BiNI, from code" of Table 2: the published form, no early stop."""
        return super().published(iterations, **{"form": "printed", **changes})

    @property
    def law(self) -> Bilateral:
        """Bilateral weights, no jumps."""
        return Bilateral(self.sharpness)

    def equations(self, graph: PixelGraph, normals: FloatArray, view: View) -> EdgeEquations:
        """First-order equations in the chosen form."""
        nodes = graph.gather(normals)
        if view.origins is not None:
            return bini.orthographic_equations(graph, nodes, graph.gather(view.origins))
        if self.form == "rays":
            return bini.central_equations(graph, nodes, graph.gather(view.rays))
        camera = view.camera
        if not isinstance(camera, Pinhole) or camera.skew or self.connectivity != 4:
            skewed = "skewed " if isinstance(camera, Pinhole) and camera.skew else ""
            raise InputError(
                f"form='printed' was requested with a {skewed}{type(camera).__name__} camera "
                f"and connectivity {self.connectivity}",
                expected="a Pinhole without skew and connectivity 4",
                remedy="Use form='rays', which works for any central camera",
            )
        return bini.printed_pinhole_equations(graph, nodes, camera)


@dataclass(frozen=True, kw_only=True)
class Smooth(TwoPlanes):
    """One least-squares solve of the paper's equations without discontinuities."""

    max_iterations: int = 1
    tolerance: float | None = None
    solver: Solver = field(default_factory=lambda: Multigrid(rtol=1e-8))

    @property
    def law(self) -> Bilateral:
        """All edges alike, no jumps."""
        return Bilateral(k=0.0)


def _is_midpoint(midpoint: Any) -> bool:
    return isinstance(midpoint, AdaptiveMidpoint) or (is_number(midpoint) and 0 <= midpoint <= 1)


def _is_several(samples: Any) -> bool:
    return is_count(samples) and samples >= 2
