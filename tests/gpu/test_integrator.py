"""Maps that stay on the GPU: the equations, components and constants of the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import rayrelief
from rayrelief import BiNI, Ordered, RayPlane, Smooth
from rayrelief.backends import CPU
from rayrelief.cameras import Orthographic, Pinhole
from rayrelief.components import free_note
from rayrelief.errors import CameraError, InputError, IntegrationWarning
from rayrelief.gpu import BatchIntegrator, Integrator
from rayrelief.preprocess import Preprocessing
from rayrelief.problem import assemble
from reference.host_machine import needs_compiler
from reference.residents import CAMERAS, SHAPE, integrator, machine, workspace

pytestmark = needs_compiler


def bumpy_normals(camera, shape=SHAPE, seed=0):
    rng = np.random.default_rng(seed)
    rays = camera.rays(*shape)
    against = -rays / np.linalg.norm(rays, axis=-1, keepdims=True)
    normals = against + 0.5 * rng.uniform(-1, 1, rays.shape)
    return (normals / np.linalg.norm(normals, axis=-1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("camera", CAMERAS.values(), ids=CAMERAS)
@pytest.mark.parametrize(
    "method",
    [RayPlane(), BiNI(), RayPlane(connectivity=8)],
    ids=["RayPlane", "BiNI", "eight neighbours"],
)
def test_equations_and_components_are_those_of_the_cpu(camera, method):
    normals = bumpy_normals(camera)
    mask = np.random.default_rng(1).random(SHAPE) < 0.8
    normals[3, 5] = np.nan
    normals[4, 5] = 0
    problem = assemble(normals, camera, mask=mask, method=method)
    resident = integrator(camera, method=method)
    surface = resident(normals, mask=mask)
    graph, work = problem.graph, workspace(resident)
    for d in range(len(graph.steps)):
        for name, expected in (
            ("offset", problem.equations.offset[d]),
            ("gamma", problem.equations.gamma[d]),
        ):
            image = np.asarray(work.machine.get(work.arrays[f"{name}{d}"]))
            found = graph.gather(image.reshape(SHAPE))
            scale = np.abs(expected).max()
            np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-7 * scale)
    assert surface.components == graph.component_count
    assert np.array_equal(np.isfinite(surface.depth), graph.scatter(np.ones(graph.size)) == 1)


@pytest.mark.filterwarnings("error::rayrelief.errors.IntegrationWarning")
@pytest.mark.parametrize("columns", [1, 12], ids=["worth a warning", "an error"])
def test_normals_that_face_away_may_be_kept(columns):
    normals = bumpy_normals(CAMERAS["pinhole"])
    normals[:, :columns] *= -1
    keeps = RayPlane(preprocessing=Preprocessing("keep"))
    assert np.isfinite(integrator(CAMERAS["pinhole"], keeps)(normals).depth).any()
    with pytest.raises((InputError, IntegrationWarning), match="% of the normals face away"):
        integrator(CAMERAS["pinhole"], RayPlane())(normals)


@pytest.mark.parametrize("camera", CAMERAS.values(), ids=CAMERAS)
def test_surfaces_are_those_of_the_cpu(camera):
    normals = bumpy_normals(camera)
    mask = np.ones(SHAPE, dtype=bool)
    mask[:, 11:13] = mask[20, :] = False  # parts with a constant each
    cpu = rayrelief.integrate(normals, camera, mask=mask, method=Smooth(), backend=CPU(1))
    surface = integrator(camera, method=Smooth())(normals, mask=mask)
    np.testing.assert_allclose(surface.depth, cpu.depth, rtol=1e-5, atol=1e-6)
    assert surface.depth_kind == cpu.depth_kind
    assert (surface.components, surface.status.notes) == (cpu.components.count, cpu.status.notes)


@pytest.mark.parametrize("method", [RayPlane(), Ordered()], ids=["RayPlane", "Ordered"])
def test_confidence_scales_the_equations_as_on_the_cpu(method):
    camera = CAMERAS["fisheye"]
    normals = bumpy_normals(camera)
    normals[:, :15] = np.nan  # a part of the image is computed
    confidence = np.random.default_rng(3).random(SHAPE)
    confidence[5, 20] = np.nan
    resident = integrator(camera, method)
    plain = resident(normals).depth
    resident(normals, confidence=confidence)
    cpu = assemble(normals, camera, confidence=confidence, method=method)
    graph, work = cpu.graph, workspace(resident)
    left, size = int(work.grid["source_x"][0]), (work.height, work.width)
    for row, d in enumerate(cpu.equations.directions):
        names = {"gamma": d, "gamma_weight": d} if isinstance(method, RayPlane) else {"sigma": row}
        for name, number in names.items():
            image = np.zeros(SHAPE)
            found = np.asarray(work.machine.get(work.arrays[f"{name}{number}"])).reshape(size)
            image[: work.height, left : left + work.width] = found
            expected = np.where(graph.exists[d], getattr(cpu.equations, name)[row], 0.0)
            found = np.where(graph.exists[d], graph.gather(image), 0.0)
            np.testing.assert_allclose(found, expected, rtol=1e-4)
    np.testing.assert_array_equal(resident(normals).depth, plain)
    with pytest.raises(InputError, match="the confidence has values from 0 to 3"):
        resident(normals, confidence=np.linspace(0, 3, normals[..., 0].size).reshape(SHAPE))


def test_a_start_fixes_the_scale_and_is_kept_where_it_is_right():
    scene = rayrelief.synthetic.GALLERY["plane"](*SHAPE)
    truth = np.asarray(scene.depth)
    resident = integrator(scene.camera)
    cold = resident(scene.normals, mask=scene.mask)
    warm = resident(scene.normals, mask=scene.mask, start=3.0 * truth)
    np.testing.assert_allclose(warm.depth, 3.0 * truth, rtol=1e-6)
    ratio = cold.depth / truth
    np.testing.assert_allclose(ratio, np.nanmedian(ratio), rtol=1e-5)


def test_one_integrator_serves_many_maps():
    camera = CAMERAS["pinhole"]
    resident = integrator(camera)
    masks = [np.random.default_rng(k).random(SHAPE) < 0.5 + 0.25 * k for k in range(3)]
    maps = [bumpy_normals(camera, seed=k) for k in range(3)]
    each = [integrator(camera)(n, mask=m).depth for n, m in zip(maps, masks, strict=True)]
    shared = [resident(n, mask=m).depth for n, m in zip(maps, masks, strict=True)]
    np.testing.assert_array_equal(shared, each)


def test_only_the_part_with_normals_is_computed():
    camera = CAMERAS["fisheye"]
    normals = bumpy_normals(camera)
    normals[:, :20] = normals[:3] = np.nan
    resident = integrator(camera, method=Smooth())
    surface = resident(normals)
    assert workspace(resident).width < SHAPE[1]
    cpu = rayrelief.integrate(normals, camera, method=Smooth(), backend=CPU(1))
    np.testing.assert_allclose(surface.depth, cpu.depth, rtol=1e-5)
    assert surface.status.notes == cpu.status.notes


def test_normals_that_face_away_are_told():
    camera = CAMERAS["pinhole"]
    normals = bumpy_normals(camera)
    normals[0, :30] *= -1
    with pytest.warns(IntegrationWarning, match=r"2\.\d+ % of the normals face away"):
        assert "30 normals face away" in str(integrator(camera)(normals).status)
    with pytest.raises(InputError, match=r"97\.\d % of the normals face away"):
        integrator(camera)(-normals)
    with pytest.raises(InputError, match="no pixel is left to integrate"):
        integrator(camera)(normals, mask=np.zeros(SHAPE, dtype=bool))


def test_what_does_not_fit_is_refused():
    camera = CAMERAS["pinhole"]
    with pytest.raises(InputError, match="normals have the dtype uint8; expected floating-point"):
        integrator(camera)(np.full((*SHAPE, 3), 200, np.uint8))
    with pytest.raises(InputError, match=r"the shape of normals is \(3, 4, 3\)"):
        integrator(camera)(np.ones((3, 4, 3)))
    start = np.ones(SHAPE)
    start[2, 3] = 0
    with pytest.raises(InputError, match="start has no depth at 1 of"):
        integrator(camera)(bumpy_normals(camera), start=start)
    for method in (RayPlane(connectivity="diagonal"), RayPlane(midpoint=0.3), BiNI(form="printed")):
        with pytest.raises(InputError, match=f"the method {type(method).__name__}"):
            integrator(camera, method=method)


def test_the_method_is_ray_plane_unless_given():
    assert integrator(Orthographic())._resident.method == RayPlane()


def test_a_batch_gives_what_each_map_gives_alone():
    cameras = [Pinhole(60, 55, 20.3 + k, 14.1) for k in range(3)]
    maps = np.stack([bumpy_normals(camera, seed=k) for k, camera in enumerate(cameras)])
    masks = np.random.default_rng(4).random((3, *SHAPE)) < 0.9
    batch = BatchIntegrator(cameras, *SHAPE, Smooth(), machine=machine())
    surfaces = batch.integrate(maps, mask=masks)
    for camera, normals, mask, surface in zip(cameras, maps, masks, surfaces, strict=True):
        alone = integrator(camera, method=Smooth())(normals, mask=mask)
        np.testing.assert_allclose(surface.depth, alone.depth, rtol=1e-5)
    with pytest.raises(InputError, match="2 maps were given"):
        batch.integrate(maps[:2])
    with pytest.raises(InputError, match="2 cameras of 2 kinds"):
        BatchIntegrator([cameras[0], CAMERAS["parallel"]], *SHAPE, machine=machine())


def test_one_call_integrates_many_maps_of_one_camera():
    camera = CAMERAS["pinhole"]
    maps = np.stack([bumpy_normals(camera, seed=k) for k in range(2)])
    surfaces = rayrelief.integrate_batch(maps, camera, method=Smooth(), machine=machine())
    each = BatchIntegrator([camera] * 2, *SHAPE, Smooth(), machine=machine()).integrate(maps)
    np.testing.assert_array_equal([s.depth for s in surfaces], [s.depth for s in each])
    with pytest.raises(InputError, match=r"2 maps of the shape \(42, 3\)"):
        rayrelief.integrate_batch(maps[:, 0], camera, machine=machine())
    with pytest.raises(InputError, match="0 maps"):
        rayrelief.integrate_batch(maps[:0], camera, machine=machine())


def test_the_status_of_a_batch_is_that_of_its_maps():
    # The canvas has gaps between maps, and as many parts as there are maps.
    shape = 20, 24
    cameras = [Pinhole(40, 40, 11.5 + k, 9.5) for k in range(3)]
    maps = np.stack([bumpy_normals(camera, shape, seed=k) for k, camera in enumerate(cameras)])
    batch = BatchIntegrator(cameras, *shape, Smooth(), machine=machine())
    whole = batch.integrate(maps)
    assert [surface.components for surface in whole] == [1, 1, 1]
    assert [surface.status.notes for surface in whole] == [(), (), ()]
    maps[1, :, 10] = np.nan
    masks = np.ones((3, *shape), dtype=bool)
    masks[0, :7] = masks[2, 4] = masks[2, :, 3] = False
    parted = batch.integrate(maps, mask=masks)
    assert [surface.components for surface in parted] == [1, 2, 4]
    for surface, components in zip(parted, (1, 2, 4), strict=True):
        missing, *free = surface.status.notes
        assert missing.startswith("all 3 maps together: 20 pixels have no normal")
        assert tuple(free) == free_note(components, central=True)


def test_a_batch_refuses_what_a_map_alone_would():
    camera = CAMERAS["pinhole"]
    batch = BatchIntegrator([camera, camera], *SHAPE, Smooth(), machine=machine())
    maps = np.stack([bumpy_normals(camera)] * 2)
    with pytest.raises(InputError, match="normals have the dtype uint8"):
        batch.integrate(np.full((2, *SHAPE, 3), 200, np.uint8))
    with pytest.raises(InputError, match=r"the shape of normals is \(1, 1, 3\)"):
        batch.integrate(maps[:, :1, :1])
    with pytest.raises(InputError, match="1 map was given"):
        batch.integrate(maps, mask=np.ones((1, *SHAPE), dtype=bool))
    assert not callable(batch)


def test_a_camera_of_another_image_is_refused():
    camera = Pinhole(4000, 4000, 1600, 1200)  # of 3200x2400 pixels
    with pytest.raises(CameraError, match=r"a principal point at \(1600, 1200\)"):
        Integrator(camera, 240, 320, machine=machine())
    with pytest.raises(CameraError, match=r"a principal point at \(1600, 1200\)"):
        BatchIntegrator([camera], 240, 320, machine=machine())
