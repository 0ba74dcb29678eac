"""The curves as tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from benchmarks.calibration.curves import (
    COSTS,
    LEADS,
    RECESSIONS,
    WIDTHS,
    Curve,
    constants,
    error_curve,
    error_over_sigma,
    foot_curve,
    jump_curve,
    order_curve,
)
from benchmarks.calibration.edges import Edges
from benchmarks.report import Column, Row, Table, columns
from rayrelief.formulation import intervals

MODEL = "model"
KINDS: dict[str, dict[str, Callable[[Edges], Curve]]] = {
    "errors": {
        "median": lambda edges: error_curve(edges, 0.5),
        "90 %": lambda edges: error_curve(edges, 0.9),
    },
    "jumps": {
        "valleys": lambda edges: jump_curve(edges, ridges=False),
        "ridges": lambda edges: jump_curve(edges, ridges=True),
    },
    "feet": {
        "faster 1 to 3": lambda edges: foot_curve(edges, 1.0, 3.0),
        "faster 3 to 10": lambda edges: foot_curve(edges, 3.0, 10.0),
    },
    "order": {
        "one recedes": lambda edges: order_curve(edges, both_recede=False),
        "both recede": lambda edges: order_curve(edges, both_recede=True),
    },
}
TITLES = {
    "errors": "Error of the equation on continuous edges, pixels",
    "jumps": "Share of edges that jump",
    "feet": "Share of valleys that jump, by how fast the sides recede",
    "order": "Share of jumps whose faster receding side is in front",
}
BINS = {"errors": WIDTHS, "jumps": WIDTHS, "feet": RECESSIONS, "order": LEADS}
PLACES = {
    "errors": "half-width, px",
    "jumps": "half-width, px",
    "feet": "recession of the slower side, px",
    "order": "lead, px",
}


def curve_tables(inputs: Mapping[str, Edges]) -> Iterator[Table]:
    """One table for each kind of curve: all inputs, and the model at the first of them."""
    for kind, curves in KINDS.items():
        found = {
            (name, source): curve(edges)
            for name, curve in curves.items()
            for source, edges in inputs.items()
        }
        first = next(iter(inputs))
        heads = [Column(PLACES[kind]), Column("edges", ",.0f")]
        for name in curves:
            heads += [Column(f"{name}: {source}", ".3g") for source in (*inputs, MODEL)]
        rows: list[Row] = []
        for index, place in enumerate(_places(BINS[kind])):
            cells: list[float] = []
            for name in curves:
                cells += [float(found[name, source].measured[index]) for source in inputs]
                cells.append(float(found[name, first].model[index]))
            same = kind == "errors"  # both of its curves are of the same edges
            shown = list(curves)[:1] if same else list(curves)
            count = sum(float(found[name, first].count[index]) for name in shown)
            rows.append((place, count, *cells))
        yield Table(TITLES[kind], tuple(heads), tuple(rows))


def constant_table(inputs: Mapping[str, Edges]) -> Table:
    """Constants that the code uses, and what each input alone would give."""
    read = {source: constants(edges) for source, edges in inputs.items()}
    used = {
        name: getattr(COSTS, name) if name in COSTS._fields else getattr(intervals, name)
        for name in next(iter(read.values()))
    }
    heads = [Column("constant"), Column("used", ".3g"), *(Column(each, ".3g") for each in read)]
    rows = [(name, value, *(each[name] for each in read.values())) for name, value in used.items()]
    return Table("Constants: used, and read off the curves", tuple(heads), tuple(rows))


def noise_table(levels: Mapping[float, Edges]) -> Table:
    """Noise against its estimate, and errors over sigma."""
    rows = []
    for degrees, edges in levels.items():
        estimates = np.degrees(edges.noise)
        over = (error_over_sigma(edges, share) for share in (0.5, 0.9))
        extremes = float(estimates.min()), float(estimates.max())
        rows.append((degrees, per_axis(degrees), float(np.median(estimates)), *extremes, *over))
    heads = "rotation, degrees:g | per axis:.3f | estimate:.3f | least:.3f | greatest:.3f"
    heads += " | median error over sigma:.2f | 90 % error over sigma:.2f"
    allowed = f"sigma follows the estimate beyond ALLOWED, {math.degrees(intervals.ALLOWED):.2g}"
    return Table("Noise of the normals", columns(heads), tuple(rows), (f"{allowed} degrees",))


def per_axis(degrees: float) -> float:
    """Rotations about random axes, seen about each of three: degrees over the root of 3."""
    return degrees / math.sqrt(3.0)


def _places(bounds: Sequence[float]) -> Iterator[str]:
    for low, high in pairwise(bounds):
        if math.isinf(high):
            yield f"above {low:g}"
        else:
            yield f"below {high:g}" if math.isinf(low) else f"{low:g} to {high:g}"
