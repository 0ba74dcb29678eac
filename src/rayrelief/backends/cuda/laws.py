"""Laws as the kernels know them: which kernel weighs the edges, and what it reads of the grid."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from rayrelief.checks import require
from rayrelief.laws.base import Law
from rayrelief.laws.bilateral import Bilateral
from rayrelief.laws.ordered import OrderedHuber, Redescending


@dataclass(frozen=True)
class KernelLaw:
    """A law of weights.

    Attributes
    ----------
    kernel
        The kernel that weighs all edges.
    settings
        Fields of the grid, and what they are to be.
    is_linear
        Whether weights and targets do not depend on the surface.
    """

    kernel: str
    settings: tuple[tuple[str, float], ...]
    is_linear: bool

    @property
    def needs_intervals(self) -> bool:
        """Whether its equations have intervals; the other kernel needs both directions of edges."""
        return self.kernel == "weigh_intervals"


def kernel_law(law: Law, *, is_flat: bool) -> KernelLaw:
    """Return how kernels weigh by a law, at a surface that may be flat, or raise InputError."""
    if isinstance(law, Redescending):
        return _of_intervals(redescends=1, corner=law.width)
    if isinstance(law, OrderedHuber):
        names = ("corner", "narrow", "cheapest", "ridge", "sure")
        return _of_intervals(redescends=0, **{name: getattr(law, name) for name in names})
    require(
        isinstance(law, Bilateral),
        f"the law {type(law).__name__} was asked for on a GPU",
        "the law of RayPlane, BiNI, Smooth or Ordered",
        "Use the CPU for this method",
    )
    bilateral: Bilateral = law  # type: ignore[assignment]
    if is_flat and not bilateral.jumps:
        bilateral = replace(bilateral, k=0.0)  # all weights are 1/2 there
    settings = {
        "k": bilateral.k,
        "jumps": bilateral.jumps,
        "slope": bilateral.q,
        "threshold": bilateral.rho,
    }
    is_linear = bilateral.k == 0 and not bilateral.jumps
    return KernelLaw("weigh", tuple(settings.items()), is_linear)


def _of_intervals(**settings: float) -> KernelLaw:
    is_linear = bool(settings["redescends"]) and math.isinf(settings["corner"])
    return KernelLaw("weigh_intervals", tuple(settings.items()), is_linear)
