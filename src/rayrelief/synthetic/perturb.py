"""Errors for normal maps: outliers, noise, what extends, few bits; drawn from a given generator."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter
from scipy.spatial.transform import Rotation

from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError


def with_outliers(normals: npt.ArrayLike, fraction: float, rng: np.random.Generator) -> FloatArray:
    """Replace a fraction of the normals (..., 3), frame unchanged, by random unit vectors.

    Exactly ``round(fraction * n)`` of the n finite normals are replaced, by directions that are
    uniform on the sphere; about half of them face away from the camera.
    """
    if not 0.0 <= fraction <= 1.0:
        raise InputError(
            f"a fraction of {fraction}", expected="between 0 and 1", remedy="0.1 replaces 10 %"
        )
    noisy = np.array(normals, dtype=np.float64)
    (valid,) = np.nonzero(np.isfinite(noisy).all(axis=-1).ravel())
    chosen = rng.choice(valid, size=round(fraction * valid.size), replace=False)
    noisy.reshape(-1, 3)[chosen] = _random_directions(chosen.size, rng)
    return noisy


def with_rotation_noise(
    normals: npt.ArrayLike, degrees: float, rng: np.random.Generator
) -> FloatArray:
    """Rotate each of the normals (..., 3), frame unchanged, about a random axis.

    The axes are uniform on the sphere, the angles Gaussian with the standard deviation
    ``degrees``. NaN stays NaN.
    """
    _check_angle(degrees)
    exact = np.asarray(normals, dtype=np.float64)
    vectors = exact.reshape(-1, 3)
    axes = _random_directions(len(vectors), rng)
    angles = np.radians(rng.normal(0.0, degrees, (len(vectors), 1)))
    along = np.sum(axes * vectors, axis=-1, keepdims=True) * axes
    across = np.cross(axes, vectors)
    turned: FloatArray = along + np.cos(angles) * (vectors - along) + np.sin(angles) * across
    return turned.reshape(exact.shape)


def with_extended_errors(
    normals: npt.ArrayLike, degrees: float, extent: float, rng: np.random.Generator
) -> FloatArray:
    """Rotate the normals (H, W, 3), frame unchanged, as estimators err: alike over many pixels.

    The fields of rotations are Gaussian noise smoothed over ``extent`` pixels, with the standard
    deviation ``degrees`` about each axis. NaN stays NaN.
    """
    _check_angle(degrees)
    if not (np.isfinite(extent) and extent > 0.0):
        raise InputError(
            f"an extent of {extent} pixels",
            expected="a positive number",
            remedy="20 is usual of estimators; with_rotation_noise turns every normal for itself",
        )
    exact = np.asarray(normals, dtype=np.float64)
    fields = rng.standard_normal((3, *exact.shape[:2]))
    smooth = np.stack([gaussian_filter(field, extent) for field in fields], axis=-1)
    turns = Rotation.from_rotvec((smooth * np.radians(degrees) / smooth.std()).reshape(-1, 3))
    turned: FloatArray = turns.apply(exact.reshape(-1, 3)).reshape(exact.shape)
    return turned


def quantised(normals: npt.ArrayLike, bits: int, *, truncate: bool = False) -> FloatArray:
    """Quantise unit normals (..., 3), frame unchanged, to a number of bits per channel.

    Parameters
    ----------
    normals
        Unit vectors; NaN stays NaN.
    bits
        Bits per channel, 1 to 16.
    truncate
        Whether values are truncated instead of rounded. The resulting bias of half a level is
        kept, as by a reader that does not know of it.
    """
    if not 1 <= bits <= 16:
        raise InputError(
            f"{bits} bits per channel", expected="1 to 16", remedy="Use 8 or 16, as images do"
        )
    top = 2**bits - 1
    levels = (np.clip(np.asarray(normals, dtype=np.float64), -1.0, 1.0) + 1.0) / 2.0 * top
    levels = np.floor(levels) if truncate else np.rint(levels)
    decoded = levels / top * 2.0 - 1.0  # never zero: the number of levels is even
    unit: FloatArray = decoded / np.linalg.norm(decoded, axis=-1, keepdims=True)
    return unit


def _check_angle(degrees: float) -> None:
    if not (np.isfinite(degrees) and degrees >= 0.0):
        raise InputError(
            f"a standard deviation of {degrees} degrees",
            expected="zero or a positive angle",
            remedy="5 is a strong noise",
        )


def _random_directions(count: int, rng: np.random.Generator) -> FloatArray:
    vectors = rng.standard_normal((count, 3))
    unit: FloatArray = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return unit
