"""The recipes by name: one that stands here is a --method, with all of its plain settings."""

from __future__ import annotations

from typing import Any

from rayrelief.methods.auxiliary_edges import AuxiliaryEdges
from rayrelief.methods.base import Method
from rayrelief.methods.ordered.recipe import Ordered
from rayrelief.methods.recipes import BiNI, RayPlane, Smooth

RECIPES: dict[str, type[Any]] = {  # dataclasses with solve
    "ray-plane": RayPlane,
    "bini": BiNI,
    "smooth": Smooth,
    "ordered": Ordered,
    "auxiliary-edges": AuxiliaryEdges,
}
DEFAULT = "ordered"


def default_method() -> Method:
    """What is used where no method is asked for."""
    method: Method = RECIPES[DEFAULT]()
    return method
