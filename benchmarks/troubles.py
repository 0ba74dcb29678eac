"""Pictures of docs/troubleshooting.md: what goes wrong, beside what the remedy makes of it.

python -m benchmarks.troubles [NAME ...] [--images docs/images]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import rayrelief
from rayrelief import DepthPrior, Integration, Mesh, Ordered, Preprocessing, RayPlane, Scene
from rayrelief.cameras import Orthographic
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.io.images import write_png
from rayrelief.relief import Base, height_map
from rayrelief.shading import Image, paint_clay, paint_normals
from rayrelief.surface import grid_mesh
from rayrelief.synthetic import gallery, quantised, with_outliers, with_rotation_noise
from rayrelief.viewer.rasterise import YAW_DEGREES, oblique_view
from rayrelief.viewer.sheet import Panel, in_rows

ROOT = Path(__file__).parents[1]
HEIGHT, WIDTH = 150, 200
PICTURE = 210, 280  # pixels


@dataclass(frozen=True, eq=False)
class Trouble:
    """Normals as they came, and the surface without and with the remedy."""

    normals: FloatArray
    mask: BoolArray
    wrong: Mesh
    right: Mesh
    remedy: str

    def sheet(self) -> Image:
        """Three pictures in a row."""
        shown = paint_normals(np.where(self.mask[..., None], self.normals, np.nan))
        panels = [Panel("normals", shown)]
        for caption, mesh in (("trouble", self.wrong), (self.remedy, self.right)):
            panels.append(Panel(caption, paint_clay(oblique_view(mesh, *PICTURE, -YAW_DEGREES))))
        return in_rows(panels, *PICTURE)


def bowl() -> Trouble:
    """Normals of a flat thing that lean outwards, as a near light makes them."""
    v, u = tray_pixels()
    return flattened(2.0 / WIDTH * u, 2.0 / WIDTH * v, "quadric")


def tilted() -> Trouble:
    """Normals that all lean to the same side, as directions of lights with an error make them."""
    return flattened(0.0, 0.7, "plane")


def inside_out() -> Trouble:
    """Both x and y flipped: what comes towards the camera goes away from it."""
    scene = gallery.overlapping_spheres(HEIGHT, WIDTH)
    flipped = replace(scene, normals=scene.normals * (-1.0, -1.0, 1.0))
    wrong, right = (surface(each).mesh() for each in (flipped, scene))
    return Trouble(flipped.normals, flipped.mask, wrong, right, "--convention auto")


def stepped() -> Trouble:
    """Few levels for each component: facets and terraces. Four bits are seen from afar."""
    scene = gallery.sphere(HEIGHT, WIDTH)
    few, many = (replace(scene, normals=quantised(scene.normals, bits)) for bits in (4, 16))
    return both(few, surface(few), surface(many), "16 bits per channel")


def spiky() -> Trouble:
    """Some normals that have nothing to do with the surface."""
    scene = gallery.tent(HEIGHT // 3, WIDTH // 3)
    broken = replace(scene, normals=with_outliers(scene.normals, 0.1, np.random.default_rng(0)))
    method = Ordered(preprocessing=Preprocessing(outlier_ratio=0.75))
    return both(broken, surface(broken), surface(broken, method=method), "--outlier-ratio 0.75")


def split() -> Trouble:
    """A wire before the scene, not in the mask: no equation joins the two sides."""
    scene = gallery.sphere(HEIGHT, WIDTH)
    v, u = np.indices(scene.mask.shape)
    wired = replace(scene, mask=scene.mask & (abs(u - 0.45 * WIDTH - 0.15 * v) > 2))
    sides = ((2 * WIDTH // 5, HEIGHT // 2), (13 * WIDTH // 20, HEIGHT // 2))
    assert scene.depth is not None
    known = [(u, v, float(scene.depth[v, u])) for u, v in sides]
    prior = DepthPrior.at(known, HEIGHT, WIDTH)
    start = np.where(u < 0.45 * WIDTH + 0.15 * v, 3.0, 4.2)
    apart = surface(wired, start=start)
    return both(wired, apart, surface(wired, prior=prior), "--point u,v,z on either side")


def torn() -> Trouble:
    """Noise that is taken for jumps, at which the mesh is cut."""
    scene = gallery.tent(HEIGHT // 3, WIDTH // 3)
    turned = with_rotation_noise(scene.normals, 20.0, np.random.default_rng(0))
    noisy = replace(scene, normals=turned)
    wrong = surface(noisy).mesh()
    right = surface(noisy, method=RayPlane(jumps=False)).mesh(cut=np.inf)
    return Trouble(
        noisy.normals, noisy.mask, wrong, right, "--method ray-plane --no-jumps --cut inf"
    )


TROUBLES: dict[str, Callable[[], Trouble]] = {
    trouble.__name__: trouble for trouble in (bowl, inside_out, stepped, spiky, split, tilted, torn)
}


def tray_pixels() -> FloatArray:
    """Rows and columns (2, H, W) from the middle of a picture."""
    return np.indices((HEIGHT, WIDTH)) - np.reshape((HEIGHT / 2, WIDTH / 2), (2, 1, 1))


def flattened(right: FloatArray | float, down: FloatArray | float, base: Base) -> Trouble:
    """A tray for eggs, seen from above, whose normals lean; and its height over a fitted base."""
    v, u = tray_pixels()
    slopes = 0.25 * np.sin(u / 5.0) - right, 0.25 * np.sin(v / 5.0) - down
    normals = unit(np.stack((*slopes, -np.ones_like(u)), axis=-1))
    scene = Scene(normals, np.ones(u.shape, np.bool_), Orthographic())
    result = surface(scene)
    flat = relief(height_map(result, base))
    remedy = f"--height FILE --flatten {base}"
    return Trouble(scene.normals, scene.mask, whole(result), flat, remedy)


def surface(scene: Scene, **options: Any) -> Integration:
    """Integrate a scene, however it ends: what is warned of is the trouble."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rayrelief.IntegrationWarning)
        return rayrelief.integrate(scene.normals, scene.camera, mask=scene.mask, **options)


def whole(result: Integration) -> Mesh:
    """Mesh with all that a clean one leaves out: it is what there is to see."""
    return uncut(result.points(), result.mask)


def both(scene: Scene, wrong: Integration, right: Integration, remedy: str) -> Trouble:
    """Trouble of two results."""
    return Trouble(scene.normals, scene.mask, whole(wrong), whole(right), remedy)


def relief(height: FloatArray) -> Mesh:
    """Mesh of a height map in pixels."""
    v, u = np.indices(height.shape)
    return uncut(np.stack((u, v, -height), axis=-1), np.isfinite(height))


def uncut(points: FloatArray, inside: BoolArray) -> Mesh:
    """Mesh of all points (H, W, 3) inside."""
    none = np.zeros(inside.shape, np.bool_)
    return grid_mesh(points, inside, none, none)


def unit(vectors: FloatArray) -> FloatArray:
    """Vectors of length 1."""
    scaled: FloatArray = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return scaled


def main() -> None:
    """Draw the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[[], *TROUBLES], metavar="NAME")
    parser.add_argument("--images", type=Path, default=ROOT / "docs" / "images")
    chosen = parser.parse_args()
    for name in chosen.names or TROUBLES:
        write_png(chosen.images / f"trouble_{name}.png", TROUBLES[name]().sheet())


if __name__ == "__main__":
    main()
