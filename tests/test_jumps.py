"""Jumps as they are told: along the ray in between, and as the paper's alpha."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles import fewer_examples
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.ray_map import RayMap
from rayrelief.formulation.ray_plane import omega, omega_eps
from rayrelief.jumps import jump_sizes, relative_jump, relative_jumps
from rayrelief.problem import assemble
from reference.random_maps import facing_normals, random_mask, random_rays

SEED = st.integers(0, 2**32 - 1)


@dataclass(frozen=True)
class Joined:
    """A method that has nothing but a connectivity."""

    connectivity: object


@fewer_examples(1)
@given(SEED, st.sampled_from([4, "diagonal", 8]), st.booleans())
def test_jumps_close_the_gap_along_the_ray_in_between(seed, connectivity, unit):
    rng = np.random.default_rng(seed)
    image = random_rays(rng, 6, 7, unit=unit)
    problem = assemble(
        facing_normals(rng, image),
        RayMap(image),
        mask=random_mask(rng, 6, 7),
        method=Joined(connectivity),
    )
    graph = problem.graph
    assert problem.equations.left_out == 0
    x = rng.normal(size=graph.size)
    normals, rays = graph.gather(problem.normals), graph.gather(problem.view.rays)
    jumps, alphas = jump_sizes(problem, x), relative_jumps(problem, x)
    assert (jumps[~graph.exists] == 0).all()
    for d, a, b in graph.edges():
        middle = (rays[a] + rays[b]) / 2
        on_a, on_b = (
            np.exp(x[i]) * np.sum(normals[i] * rays[i], 1) / np.sum(normals[i] * middle, 1)
            for i in (a, b)
        )
        # Where the planes of a and b cross the ray in between, in units of that ray.
        np.testing.assert_allclose(jumps[d, a], on_a - on_b, rtol=1e-9, atol=1e-12)
        # The paper's alpha is another view of the same jump.
        ratio = omega(normals[a], normals[b], rays[a], rays[b], middle)
        alpha = relative_jump(x[a] - x[b], ratio, omega_eps(normals[a], rays[a]))
        along_z = jumps[d, a] / np.exp(x[b])
        along_z *= np.sum(normals[a] * middle, axis=1) / normals[a, 2]
        np.testing.assert_allclose(along_z, alpha, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(alphas[d, a], alpha, rtol=1e-8, atol=1e-12)


@fewer_examples(2)
@given(SEED)
def test_orthographic_jumps_are_differences_of_depth(seed):
    rng = np.random.default_rng(seed)
    camera = Orthographic()
    normals = facing_normals(rng, np.tile([0.0, 0.0, 1.0], (5, 6, 1)))
    problem = assemble(normals, camera, mask=random_mask(rng, 5, 6))
    graph = problem.graph
    normals, origins = graph.gather(problem.normals), graph.gather(camera.origins(5, 6))
    z = rng.normal(size=graph.size)
    jumps = jump_sizes(problem, z)
    for d, a, b in graph.edges():
        middle = (origins[a] + origins[b]) / 2
        on_a, on_b = (
            z[i] - np.sum(normals[i] * (middle - origins[i]), 1) / normals[i, 2] for i in (a, b)
        )
        np.testing.assert_allclose(jumps[d, a], on_a - on_b, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore::rayrelief.errors.IntegrationWarning")
def test_a_level_floor_has_jumps_although_alpha_has_a_pole():
    rays = np.array([[[0.0, 0.5, 1.0]], [[0.0, 0.6, 1.0]]])
    problem = assemble(np.tile([0.0, -1.0, 0.0], (2, 1, 1)), RayMap(rays))
    x = problem.unknown(1 / rays[..., 1])  # on the floor y = 1
    np.testing.assert_allclose(jump_sizes(problem, x), 0, atol=1e-14)
    assert np.isnan(relative_jumps(problem, x)[problem.graph.exists]).all()
