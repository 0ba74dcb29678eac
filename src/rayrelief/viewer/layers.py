"""Layers: what a result knows at every pixel beside its depth, kept as a file beside it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.errors import FileError, InputError
from rayrelief.io.atomic import atomic_write
from rayrelief.io.numpy_files import npz_names, read_npz

if TYPE_CHECKING:  # whoever only reads layers does not wait for the compiler
    from rayrelief.meshing import TornEdges
    from rayrelief.result import Integration

NAME = "layers.npz"
KINDS = {"segments": "iu", "floating": "b", "edges": "iu"}  # of dtypes; the others are floats

Map = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Layers:
    """Images (H, W, ...) about a result in the camera frame; None for what it does not know.

    Attributes
    ----------
    normals
        (H, W, 3) those that were integrated, NaN outside.
    jumps
        In the unit of the depth, to the next pixel right or below; 0 where it is continuous.
    segments
        Label of the continuous part or, where the method looks for none, of the separate component.
    floating
        Whether nothing but its neighbours in the picture tells where a pixel's segment is.
    weights
        The smallest weight of an equation between a pixel and its neighbours.
    error
        Against the ground truth, in its unit.
    edges, sizes
        (E,) places and sizes of ``TornEdges``.
    """

    normals: Map | None = None
    jumps: Map | None = None
    segments: Map | None = None
    floating: Map | None = None
    weights: Map | None = None
    error: Map | None = None
    edges: Map | None = None
    sizes: Map | None = None

    @classmethod
    @np.errstate(over="ignore")  # jumps may be beyond single precision
    def of(cls, result: Integration, truth: FloatArray | None = None) -> Layers:
        """Layers of a result, in types that are large enough to be looked at."""
        from rayrelief.meshing import SMALLEST_CUT
        from rayrelief.viewer.colours import error_of

        segments, floating = _segments(result)
        torn = result.torn_edges(SMALLEST_CUT)
        try:
            weights: Map | None = result.weights.smallest().astype(np.float16)
        except InputError:  # a method without any
            weights = None
        return cls(
            # In half precision, faces that graze the rays would be judged otherwise than in a mesh.
            normals=result.input_normals.astype(np.float32),
            jumps=result.active_jumps().astype(np.float32),
            segments=segments,
            floating=floating,
            weights=weights,
            error=None if truth is None else error_of(result, truth).astype(np.float32),
            edges=torn.places,
            sizes=torn.sizes.astype(np.float32),
        )

    def write(self, path: Path) -> None:
        """Write them as an .npz file."""
        known = {field.name: getattr(self, field.name) for field in fields(self)}
        with atomic_write(path) as temporary, temporary.open("wb") as file:
            np.savez(file, **{name: image for name, image in known.items() if image is not None})

    @classmethod
    def read(cls, path: Path, shape: tuple[int, ...]) -> Layers:
        """Layers that a run has written beside a depth of this shape."""
        names = npz_names(path)
        known = [field.name for field in fields(cls) if field.name in names]
        images = {name: read_npz(path, (name,)) for name in known}
        remedy = "Integrate the map again, into a folder of its own"
        count = images["edges"].size if "edges" in images else 0
        shapes = {"normals": (*shape, 3), "edges": (count,), "sizes": (count,)}
        for name, image in images.items():
            if image.shape != shapes.get(name, shape):
                raise FileError(
                    f"{path} holds {name} of the shape {image.shape}",
                    expected=f"images of {shape[1]}x{shape[0]} pixels, as the depth beside it",
                    remedy=remedy,
                )
            if image.dtype.kind not in KINDS.get(name, "f"):
                found = f"{path} holds {name} of the type {image.dtype}"
                raise FileError(found, expected="what a run has written", remedy=remedy)
        labels = images.get("segments")
        if labels is not None and not (labels.min() >= -1 and 0 <= labels.max() < labels.size):
            found = f"{path} holds segments from {labels.min()} to {labels.max()}"
            expected = "at least one, and no more of them than pixels"
            raise FileError(found, expected=expected, remedy=remedy)
        error = images.get("error")
        if error is not None and not np.isfinite(error).any():
            found = f"{path} holds an error that is known at no pixel"
            raise FileError(found, expected="what a run has written", remedy=remedy)
        places = images.get("edges")
        if places is not None and not (places >= 0).all() & (places < 4 * np.prod(shape)).all():
            found = f"{path} holds edges of pixels that there are not"
            raise FileError(found, expected="what a run has written", remedy=remedy)
        return cls(**images)

    def torn_edges(self, shape: tuple[int, int]) -> TornEdges | None:
        """Edges of an image (H, W) across which it may be cut; None where they are not known."""
        from rayrelief.meshing import TornEdges

        if self.edges is None or self.sizes is None:
            return None
        return TornEdges(shape, self.edges.astype(np.int64), self.sizes.astype(np.float64))


def _segments(result: Integration) -> tuple[Map, BoolArray]:
    """Labels of the parts (H, W), and which pixels float."""
    try:
        labels = result.segments
    except InputError:  # a method that looks for none
        components = result.components
        several = components.free > 1
        return components.labels, (components.labels > 0) & several
    floating: BoolArray = np.append(result._solution.floating, False)[labels]  # -1 is outside
    return labels, floating
