"""The three stages of ordered integration, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.accuracy.figures.canvas import plots
from benchmarks.calibration.edges import Renderer, renderers
from benchmarks.report import Row, Table, columns, progress
from rayrelief import Integration, Ordered, RayPlane, Scene, depth_errors, from_opencv, integrate
from rayrelief.conventions import FloatArray
from rayrelief.evaluation.metrics import error_map
from rayrelief.methods.base import Callback, Method, Support
from rayrelief.methods.ordered.recipe import NARROWING
from rayrelief.synthetic import GALLERY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STAGES = ("convex", "redescending", "parts moved")
EXAMPLE: Renderer = partial(GALLERY["crowd"], across=5, seed=6)
EXAMPLE_SIZE = 240, 320
LEAST, LARGEST = 0.01, 3.0  # per cent of the depth, ends of the colour scale
INCHES = 9.5, 4.9


def stages(scene: Scene) -> Iterator[Integration]:
    """Surfaces after each of the stages; the first two are the same run, stopped or not."""
    second = run(scene, Ordered(rounds=0))
    last = len(second.history) - len(NARROWING)  # of the convex stage
    yield run(scene, Ordered(rounds=0), lambda iteration: iteration.number == last)
    yield second
    yield run(scene, Ordered())


def stage_table(size: tuple[int, int]) -> Table:
    """RE of each scene after each stage, beside the default method of the paper."""
    rows: list[Row] = []
    for name, render in renderers(*size).items():
        progress(f"stages, {name}")
        scene = render(*size)
        results = (*stages(scene), run(scene, RayPlane()))
        rows.append((name, *(relative_error(scene, each) for each in results)))
    heads = " | ".join(("scene", *(f"{stage}:.3f" for stage in STAGES), "RayPlane():.3f"))
    return Table("Relative error after each stage, %", columns(heads), tuple(rows))


def stage_figure() -> Figure:
    """Normals, relative errors after each stage, segments and jumps of one crowd."""
    from matplotlib.colors import LogNorm

    scene = EXAMPLE(*EXAMPLE_SIZE)
    assert scene.depth is not None
    figure, axes = plots("", 3, 2)
    figure.set_size_inches(INCHES)
    for each in axes:
        each.set(xticks=[], yticks=[])
        each.spines[:].set_visible(False)
    _show(axes[0], "normals", 0.5 + 0.5 * from_opencv(scene.normals, "opengl"))
    norm = LogNorm(LEAST, LARGEST)
    for place, stage, result in zip(axes[1:], STAGES, stages(scene), strict=False):
        error = 100 * error_map(result.depth, scene.depth, "scale") / scene.depth
        title = f"{stage}: RE {relative_error(scene, result):.3f} %"
        _show(place, title, np.clip(error, LEAST, None), norm=norm, cmap="magma_r")
    figure.colorbar(axes[3].images[0], ax=axes, label="error, %", format="%g", extend="both")
    _show(axes[4], "segments (grey: place not known)", _segment_picture(result))
    jumps = result.cuts.largest()
    _show(axes[5], "jumps", jumps, cmap="Greys", vmax=1.5)
    return figure


def _show(axes: Axes, title: str, picture: FloatArray, **how: Any) -> None:
    axes.imshow(picture, **how)
    axes.set_title(title)


def run(scene: Scene, method: Method, callback: Callback | None = None) -> Integration:
    """Integrate a scene, however the run ends."""
    return integrate(
        scene.normals,
        scene.camera,
        mask=scene.mask,
        method=method,
        callback=callback,
        on_failure="return",
    )


def relative_error(scene: Scene, result: Integration) -> float:
    """RE in per cent, after the median scale."""
    assert scene.depth is not None
    return depth_errors(result.depth, scene.depth, "scale").re


def _segment_picture(result: Integration) -> FloatArray:
    """A colour (H, W, 3) for each segment that touches another; grey for those that float."""
    colours = np.random.default_rng(0).uniform(0.25, 1.0, (len(result.support), 3))
    colours[np.array(result.support) != Support.CONTACT] = 0.5
    picture: FloatArray = np.where(result.mask[..., None], colours[result.segments], 1.0)
    return picture
