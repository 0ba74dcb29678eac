"""What anchors decide beside the solver: the constant of a component, and pixels that are held."""

from __future__ import annotations

from typing import Any

import numpy as np

from rayrelief.compiled import njit
from rayrelief.conventions import FloatArray
from rayrelief.operators import Operator

_NONE = np.empty(0)


def balance(operator: Operator, rhs: FloatArray, x: FloatArray) -> None:
    """Shift each anchored component of x (N,) in place to where its residuals add up to zero.

    Nothing but its anchors resists a constant, and weak anchors leave hardly a trace of it in the
    residual: it is found from the sums, which hold nothing else but the rounding errors of edges.
    Beside the weakest anchors even these are too much: then it takes the values.
    """
    if operator.diagonal is not None:
        values = operator.values if operator.values is not None else _NONE
        _balance(operator.graph.starts, operator.diagonal, values, rhs, x)


def settle(operator: Operator, rhs: FloatArray, x: FloatArray) -> None:
    """Balance x (N,) in place, with each node solved whose anchor outweighs all of its edges.

    A solve begins with it: what strong anchors ask for would otherwise hide all other residuals.
    """
    balance(operator, rhs, x)
    if operator.diagonal is not None:
        graph = operator.graph
        _relax_held(graph.neighbours, operator.conductance, operator.diagonal, rhs, x)
        balance(operator, rhs, x)


@njit(cache=True, error_model="numpy")
def _balance(starts: Any, anchors: Any, values: Any, rhs: Any, x: Any) -> None:
    for c in range(len(starts) - 1):
        held = pull = 0.0
        for i in range(starts[c], starts[c + 1]):
            held += anchors[i]
            if len(values) > 0:
                pull += anchors[i] * (values[i] - x[i])
            else:
                pull += rhs[i] - anchors[i] * x[i]
        if held > 0.0:
            for i in range(starts[c], starts[c + 1]):
                x[i] += pull / held


@njit(cache=True, error_model="numpy")
def _relax_held(neighbours: Any, conductance: Any, anchors: Any, rhs: Any, x: Any) -> None:
    for i in range(len(x)):
        joined = pull = 0.0
        for d in range(len(conductance)):
            joined += conductance[d, i]
            pull += conductance[d, i] * x[neighbours[d, i]]
        if anchors[i] > joined:
            x[i] = (rhs[i] + pull) / (joined + anchors[i])
