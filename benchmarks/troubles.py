"""Pictures of docs/troubleshooting.md: what goes wrong, beside what the remedy makes of it.

python -m benchmarks.troubles [NAME ...] [--images docs/images]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import rayrelief
from rayrelief import DepthPrior, Integration, Mesh, Preprocessing, RayPlane, Scene
from rayrelief.cameras import Orthographic, Pinhole
from rayrelief.conventions import BoolArray, FloatArray
from rayrelief.io.images import write_png
from rayrelief.relief import height_map
from rayrelief.surface import grid_mesh
from rayrelief.synthetic import gallery, perturb
from rayrelief.viewer.colours import paint_normals
from rayrelief.viewer.preview import clay
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

    def sheet(self) -> FloatArray:
        """Three pictures in a row."""
        shown = paint_normals(np.where(self.mask[..., None], self.normals, np.nan))
        panels = [Panel("normals", shown)]
        for caption, mesh in (("trouble", self.wrong), (self.remedy, self.right)):
            panels.append(Panel(caption, clay(oblique_view(mesh, *PICTURE, -YAW_DEGREES))))
        return in_rows(panels, *PICTURE)


def bowl() -> Trouble:
    """Normals of a flat thing that lean outwards, as a near light makes them."""
    v, u = np.indices((HEIGHT, WIDTH)) - np.reshape((HEIGHT / 2, WIDTH / 2), (2, 1, 1))
    waves = 0.6 * np.sin(u / 5.0), 0.6 * np.sin(v / 5.0)  # slopes of a tray for eggs
    lean = 0.7 / WIDTH * u, 0.7 / WIDTH * v
    slopes = [wave - each for wave, each in zip(waves, lean, strict=True)]
    normals = unit(np.stack((*slopes, -np.ones_like(u)), axis=-1))
    bent = Scene(normals, np.ones(u.shape, np.bool_), Orthographic())
    result = surface(bent)
    flat = relief(height_map(result, "quadric"))
    return Trouble(bent.normals, bent.mask, whole(result), flat, "--height FILE --flatten quadric")


def inside_out() -> Trouble:
    """Both x and y flipped: what comes towards the camera goes away from it."""
    scene = gallery.overlapping_spheres(HEIGHT, WIDTH, Orthographic(0.02))
    flipped = replace(scene, normals=scene.normals * (-1.0, -1.0, 1.0))
    return both(flipped, surface(flipped), surface(scene), "--convention auto")


def stepped() -> Trouble:
    """Noise that is taken for discontinuities."""
    scene = gallery.vase(HEIGHT, WIDTH)
    noisy = replace(scene, normals=perturb.with_rotation_noise(scene.normals, 12.0, rng()))
    smooth = surface(noisy, method=RayPlane(sharpness=0.5, jumps=False))
    return both(noisy, surface(noisy), smooth, "--no-jumps --sharpness 0.5")


def spiky() -> Trouble:
    """Some normals that have nothing to do with the surface."""
    scene = gallery.sphere(HEIGHT, WIDTH)
    broken = replace(scene, normals=perturb.with_outliers(scene.normals, 0.02, rng()))
    method = RayPlane(preprocessing=Preprocessing(facing_away="average", outlier_ratio=0.75))
    remedy = "--facing-away average --outlier-ratio 0.75"
    return both(broken, surface(broken), surface(broken, method=method), remedy)


def split() -> Trouble:
    """A wire before the scene, not in the mask: no equation joins the two sides."""
    scene = gallery.sphere(HEIGHT, WIDTH)
    v, u = np.indices(scene.mask.shape)
    wired = replace(scene, mask=scene.mask & (abs(u - 0.45 * WIDTH - 0.15 * v) > 2))
    sides = ((80, 75), (130, 75))
    assert scene.depth is not None
    known = [(u, v, float(scene.depth[v, u])) for u, v in sides]
    prior = DepthPrior.at(known, HEIGHT, WIDTH)
    start = np.where(u < 0.45 * WIDTH + 0.15 * v, 3.0, 3.6)
    apart = surface(wired, start=start)
    return both(wired, apart, surface(wired, prior=prior), "--point u,v,z on either side")


def tilted() -> Trouble:
    """A crop of a picture with the principal point of the whole one."""
    camera = Pinhole.from_fov(50.0, HEIGHT, WIDTH)
    true = replace(camera, cx=camera.cx + 0.45 * WIDTH)
    scene = gallery.tent(HEIGHT, WIDTH, true)
    wrong = surface(replace(scene, camera=camera))
    return both(scene, wrong, surface(scene), "--camera fx,fy,cx,cy of the crop")


def torn() -> Trouble:
    """A slope that is so steep that the mesh takes it for a jump."""
    scene = gallery.sphere(HEIGHT // 3, WIDTH // 3)
    result = surface(scene)
    return Trouble(scene.normals, scene.mask, result.mesh(cut=0.3), result.mesh(cut=3.0), "--cut 3")


TROUBLES: dict[str, Callable[[], Trouble]] = {
    trouble.__name__: trouble for trouble in (bowl, inside_out, stepped, spiky, split, tilted, torn)
}


def surface(scene: Scene, **options: Any) -> Integration:
    """Integrate a scene, however it ends."""
    return rayrelief.integrate(
        scene.normals, scene.camera, mask=scene.mask, on_failure="return", **options
    )


def whole(result: Integration) -> Mesh:
    """Mesh with all that a clean one leaves out: it is what there is to see."""
    return result.mesh(min_part=1)


def both(scene: Scene, wrong: Integration, right: Integration, remedy: str) -> Trouble:
    """Trouble of two results."""
    return Trouble(scene.normals, scene.mask, whole(wrong), whole(right), remedy)


def relief(height: FloatArray) -> Mesh:
    """Mesh of a height map in pixels."""
    v, u = np.indices(height.shape)
    none = np.zeros(height.shape, np.bool_)
    return grid_mesh(np.stack((u, v, -height), axis=-1), np.isfinite(height), none, none)


def unit(vectors: FloatArray) -> FloatArray:
    """Vectors of length 1."""
    scaled: FloatArray = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return scaled


def rng() -> np.random.Generator:
    """Random numbers, the same every time."""
    return np.random.default_rng(0)


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
