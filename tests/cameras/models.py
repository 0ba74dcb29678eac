"""One list of camera models at random parameters: a model that is added here is tested by all."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from rayrelief.cameras.cylindrical import Cylindrical
from rayrelief.cameras.division import Division
from rayrelief.cameras.double_sphere import DoubleSphere
from rayrelief.cameras.equirectangular import Equirectangular
from rayrelief.cameras.extended_unified import ExtendedUnified
from rayrelief.cameras.field_of_view import FieldOfView
from rayrelief.cameras.fisheye import Equidistant, Equisolid, Stereographic
from rayrelief.cameras.kannala_brandt import KannalaBrandt
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.cameras.plane import PlaneCamera
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
P = st.floats(-0.02, 0.02)
ALPHA = st.floats(0, 1)
# An image that is wider than a turn shows directions twice.
PANORAMA = intrinsics(shortest=8.0)

MODELS: dict[str, SearchStrategy[PlaneCamera]] = {
    "pinhole": st.builds(Pinhole, **intrinsics()),
    "Kannala-Brandt": st.builds(KannalaBrandt, k1=K, k2=K, k3=K, k4=K, **intrinsics()),
    "equidistant": st.builds(Equidistant, **intrinsics()),
    "equisolid": st.builds(Equisolid, **intrinsics()),
    "stereographic": st.builds(Stereographic, **intrinsics()),
    "field of view": st.builds(FieldOfView, omega=st.floats(1e-3, 3.1), **intrinsics()),
    "division": st.builds(Division, k=st.floats(-2, 2) | st.floats(-0.1, 0.1), **intrinsics()),
    "unified": st.builds(Unified, xi=st.floats(-0.9, 4), **intrinsics()),
    "unified with distortion": st.builds(
        Unified, xi=st.floats(0, 4), k1=K, k2=K, p1=P, p2=P, **intrinsics()
    ),
    "extended unified": st.builds(
        ExtendedUnified, alpha=ALPHA, beta=st.floats(0.2, 5), **intrinsics()
    ),
    "double sphere": st.builds(
        DoubleSphere, xi=st.floats(-0.95, 0.95), alpha=ALPHA, **intrinsics()
    ),
    "equirectangular": st.builds(Equirectangular, **PANORAMA)
    | st.just(Equirectangular.full(HEIGHT, WIDTH)),
    "cylindrical": st.builds(Cylindrical, **PANORAMA) | st.just(Cylindrical.full(HEIGHT, WIDTH)),
}
