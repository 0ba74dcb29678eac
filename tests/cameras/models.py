"""One list of camera models at random parameters: a model that is added here is tested by all."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.cahvor import Cahvor
from rayrelief.cameras.cylindrical import Cylindrical
from rayrelief.cameras.division import Division
from rayrelief.cameras.double_sphere import DoubleSphere
from rayrelief.cameras.equirectangular import Equirectangular, TransverseEquirectangular
from rayrelief.cameras.extended_unified import ExtendedUnified
from rayrelief.cameras.field_of_view import FieldOfView
from rayrelief.cameras.fisheye import Equidistant, Equisolid, Stereographic
from rayrelief.cameras.intrinsics import IntrinsicCamera
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.metashape_lens import (
    MetashapeEquidistant,
    MetashapeEquisolid,
    MetashapeFrame,
)
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.polynomial_fisheye import PolynomialFisheye
from rayrelief.cameras.thin_prism_fisheye import RadTanThinPrismFisheye, ThinPrismFisheye
from rayrelief.cameras.unified import Unified

WIDTH, HEIGHT = 48, 36


def intrinsics(shortest: float = 6.0, longest: float = 150.0) -> dict[str, SearchStrategy[Any]]:
    """Parameters that all models share: from far past the rim of a fisheye to a telephoto."""
    return {
        "fx": st.floats(shortest, longest),
        "fy": st.floats(shortest, longest),
        "cx": st.floats(0, WIDTH - 1),
        "cy": st.floats(0, HEIGHT - 1),
        "skew": st.floats(-2, 2) | st.just(0.0),
        "size": st.just((WIDTH, HEIGHT)),
    }


K = st.floats(-0.3, 0.3)
STRONG_K = st.floats(-0.6, 0.6)
P = st.floats(-0.02, 0.02)
SMALL_P = st.floats(-0.01, 0.01) | st.just(0.0)
TILT = st.floats(-0.4, 0.4) | st.just(0.0)
WIDEST = st.floats(0.3, math.pi) | st.just(math.pi)
ALPHA = st.floats(0, 1)
# An image that is wider than a turn shows directions twice.
PANORAMA = intrinsics(shortest=8.0)

# Tangential terms make the fold depend on the direction; beyond it the map is regular again.
WIDE = partial(BrownConrady, 11.25, 12.4, 22.5, 18.7, size=(WIDTH, HEIGHT))
FOLDED = WIDE(k1=-0.966, k2=-0.228, p1=0.0021, p2=0.0057, k3=0.856)
TWISTED = WIDE(k1=-0.3, p1=0.03, p2=-0.02)


def falling(first: float, ratio: float, names: str) -> dict[str, SearchStrategy[float]]:
    """Coefficients of rising powers, each by a ratio smaller than the one before."""
    bounds = [first * ratio**index for index in range(len(names.split()))]
    return {
        name: st.floats(-bound, bound) for name, bound in zip(names.split(), bounds, strict=True)
    }


def each(strategy: SearchStrategy[float], names: str) -> dict[str, SearchStrategy[float]]:
    return dict.fromkeys(names.split(), strategy)


METASHAPE_FISHEYE = {
    **falling(0.1, 0.2, "k1 k2 k3 k4"),
    **each(SMALL_P, "p1 p2"),
    **falling(0.2, 0.2, "p3 p4"),
    **intrinsics(),
}

MODELS: dict[str, SearchStrategy[IntrinsicCamera]] = {
    "pinhole": st.builds(Pinhole, **intrinsics()),
    "Brown-Conrady": st.builds(
        BrownConrady,
        **each(STRONG_K, "k1 k2 k3"),
        **each(STRONG_K | st.just(0.0), "k4 k5 k6"),
        **each(st.floats(-0.03, 0.03) | st.just(0.0), "p1 p2"),
        **each(st.floats(-0.01, 0.01) | st.just(0.0), "s1 s3"),
        **each(st.floats(-0.002, 0.002) | st.just(0.0), "s2 s4"),
        **each(TILT, "tilt_x tilt_y"),
        **intrinsics(),
    )
    | st.sampled_from([FOLDED, TWISTED]),
    "CAHVOR": st.builds(
        Cahvor,
        **each(st.floats(-0.2, 0.2) | st.just(0.0), "alpha beta r0"),
        **falling(0.5, 0.3, "r1 r2"),
        linearity=st.sampled_from([1.0, 0.0]) | st.floats(-1, 1),
        **intrinsics(),
    ),
    "Kannala-Brandt": st.builds(KannalaBrandt, k1=K, k2=K, k3=K, k4=K, **intrinsics()),
    "thin prism fisheye": st.builds(
        ThinPrismFisheye,
        **falling(0.1, 0.2, "k1 k2 k3 k4"),
        **each(SMALL_P, "p1 p2 s1 s2"),
        widest=WIDEST,
        **intrinsics(),
    ),
    "rad-tan thin prism fisheye": st.builds(
        RadTanThinPrismFisheye,
        **falling(0.1, 0.15, "k0 k1 k2 k3 k4 k5"),
        **each(SMALL_P, "p0 p1 s0 s1 s2 s3"),
        widest=WIDEST,
        **intrinsics(),
    ),
    "Metashape frame": st.builds(
        MetashapeFrame,
        **each(STRONG_K, "k1 k2 k3 k4"),
        **each(P, "p1 p2"),
        **falling(0.5, 0.2, "p3 p4"),
        **intrinsics(),
    ),
    "Metashape fisheye": st.builds(MetashapeEquidistant, **METASHAPE_FISHEYE)
    | st.builds(MetashapeEquisolid, **METASHAPE_FISHEYE),
    "equidistant": st.builds(Equidistant, widest=WIDEST, **intrinsics()),
    "equisolid": st.builds(Equisolid, widest=WIDEST, **intrinsics()),
    "stereographic": st.builds(Stereographic, widest=WIDEST, **intrinsics()),
    "polynomial fisheye": st.builds(
        PolynomialFisheye,
        k0=st.floats(-1e-5, 1e-5) | st.just(0.0),
        k1=st.floats(0.5, 1),
        **falling(0.3, 0.5, "k2 k3 k4"),
        widest=WIDEST,
        **intrinsics(),
    ),
    "field of view": st.builds(FieldOfView, omega=st.floats(1e-3, 3.1), **intrinsics()),
    "division": st.builds(Division, k=st.floats(-2, 2) | st.floats(-0.1, 0.1), **intrinsics()),
    "unified": st.builds(Unified, xi=st.floats(-0.9, 4), **intrinsics()),
    "unified with distortion": st.builds(
        Unified, xi=st.floats(-0.9, 4), k1=K, k2=K, p1=P, p2=P, **intrinsics()
    ),
    "extended unified": st.builds(
        ExtendedUnified, alpha=ALPHA, beta=st.floats(0.2, 5), **intrinsics()
    ),
    "double sphere": st.builds(
        DoubleSphere, xi=st.floats(-0.95, 0.95), alpha=ALPHA, **intrinsics()
    ),
    "equirectangular": st.builds(Equirectangular, **PANORAMA)
    | st.just(Equirectangular.full(HEIGHT, WIDTH)),
    "transverse equirectangular": st.builds(TransverseEquirectangular, **PANORAMA),
    "cylindrical": st.builds(Cylindrical, **PANORAMA) | st.just(Cylindrical.full(HEIGHT, WIDTH)),
}

# Their folds are searched in every direction.
SLOW = (
    "Brown-Conrady",
    "thin prism fisheye",
    "rad-tan thin prism fisheye",
    "Metashape frame",
    "Metashape fisheye",
    "unified with distortion",
)
