"""Ordered on maps that stay on the GPU: intervals, noise and parts of the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import rayrelief
from rayrelief import Ordered
from rayrelief.errors import InputError
from rayrelief.gpu import BatchIntegrator
from rayrelief.laws.ordered import with_intervals
from rayrelief.preprocess import Preprocessing
from rayrelief.problem import assemble
from reference.host_machine import needs_compiler
from reference.residents import CAMERAS, SHAPE, integrator, machine, workspace

pytestmark = needs_compiler


def bumpy_normals(camera, roughness, wrong=0.0):
    """Normals on bumps, rough ones, of which a share is wrong; a steep band in very rough ones."""
    rays = camera.rays(*SHAPE)
    against = -rays / np.linalg.norm(rays, axis=-1, keepdims=True)
    rng = np.random.default_rng(0)
    normals = against + 0.5 * np.sin(7 * rays) + roughness * rng.uniform(-1, 1, rays.shape)
    askew = against + np.cross(against, (0.0, 1.0, 0.5))  # they face the camera all the same
    normals = np.where(rng.random((*SHAPE, 1)) < wrong, askew, normals)
    if roughness > 0.1:
        normals[:, 20:24] = (askew - 0.95 * against)[:, 20:24]
    return (normals / np.linalg.norm(normals, axis=-1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("camera", CAMERAS.values(), ids=CAMERAS)
@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize(("roughness", "wrong"), [(0, 0), (0.02, 0), (0.2, 0), (0.02, 0.05)])
def test_intervals_are_those_of_the_cpu(camera, connectivity, roughness, wrong):
    method = Ordered(connectivity=connectivity, max_iterations=1, rounds=0)
    normals = bumpy_normals(camera, roughness, wrong)
    mask = np.random.default_rng(1).random(SHAPE) < 0.97
    equations = with_intervals(assemble(normals, camera, mask=mask, method=method).equations)
    resident = integrator(camera, method)
    resident(normals, mask=mask)
    graph, work = equations.graph, workspace(resident)
    assert bool(equations.lone) == (wrong > 0.0 and connectivity == 8)
    there = equations.gamma != 0  # rays that coincide, at the poles, have no edge on a GPU
    scalars = work.scalars(np.asarray(work.machine.get(work.arrays["s"])).tobytes())
    assert scalars["lone"] == equations.lone
    assert scalars["noise"] == pytest.approx(equations.noise, rel=1e-3, abs=1e-9)
    for name, step in (("offset", 2), ("gamma", 2), ("half_width", 1), ("sigma", 1), ("lead", 1)):
        for pair, row in enumerate(getattr(equations, name)):
            image = np.asarray(work.machine.get(work.arrays[f"{name}{step * pair}"]))
            found = graph.gather(image.reshape(SHAPE))[there[pair]]
            expected = row[there[pair]]
            close = {"rtol": 1e-3, "atol": 2e-5 * np.abs(expected).max()}
            np.testing.assert_allclose(found, expected, **close, err_msg=f"{name} {pair}")


@pytest.mark.parametrize("name", ["overlapping_spheres", "still_life"])
def test_surfaces_are_those_of_the_cpu(name):
    shape = 72, 96
    scene = rayrelief.synthetic.GALLERY[name](*shape)
    normals = np.asarray(scene.normals, dtype=np.float32)
    method = Ordered(preprocessing=Preprocessing("keep"))
    cpu = rayrelief.integrate(normals, scene.camera, mask=scene.mask, method=method)
    resident = integrator(scene.camera, method, shape)
    found = resident(normals, mask=scene.mask)
    depth = np.asarray(found.depth)
    assert np.nanmedian(np.abs(depth / cpu.depth - 1)) < 5e-3
    again = resident(normals, mask=scene.mask, start=3.0 * found.depth)
    np.testing.assert_allclose(np.nanmedian(again.depth), 3.0 * np.nanmedian(depth), rtol=1e-2)


def test_diagonal_neighbours_alone_are_refused():
    with pytest.raises(InputError, match="the method Ordered"):
        integrator(CAMERAS["pinhole"], Ordered(connectivity="diagonal"))


def test_a_batch_gives_what_a_map_gives_alone():
    shape = 48, 64
    scene = rayrelief.synthetic.GALLERY["overlapping_spheres"](*shape)
    normals = np.asarray(scene.normals, dtype=np.float32)
    alone = integrator(scene.camera, Ordered(), shape)(normals, mask=scene.mask)
    batch = BatchIntegrator([scene.camera] * 2, *shape, Ordered(), machine=machine())
    both = batch.integrate(np.stack((normals, normals)), mask=np.stack((scene.mask, scene.mask)))
    for surface in both:
        assert np.nanmedian(np.abs(surface.depth / alone.depth - 1)) < 5e-3
        assert surface.components == alone.components
