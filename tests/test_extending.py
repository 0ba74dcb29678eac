"""Methods, laws, solvers, anchors and backends of somebody else plug in through public names.

They are those of docs/write_your_own.md, which is run here as it stands.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import rayrelief
from rayrelief.errors import InputError

PAGE = Path(__file__).parents[1] / "docs" / "write_your_own.md"


@pytest.fixture(scope="module")
def page() -> SimpleNamespace:
    """Names that the page defines."""
    text = PAGE.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "write_your_own"}
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        exec(compile(block, str(PAGE), "exec", dont_inherit=True), names)
    assert not re.search(r"rayrelief\._|from rayrelief\.\w+\.\w+ import", text), "deep imports"
    return SimpleNamespace(**names)


def error_percent(page, result) -> float:
    errors = rayrelief.depth_errors(result.depth, page.scene.depth, "scale")
    return errors.re


def test_a_method_that_finds_segments(page):
    result = page.result
    assert result.status.ok
    assert error_percent(page, result) < 0.01
    assert result.segments.shape == result.depth.shape
    np.testing.assert_array_equal(result.segments >= 0, result.mask)
    assert result.segments.max() == 1, "a tent has two sides"
    # Each side lies in one plane, up to its rim.
    for side in (0, 1):
        normals = page.scene.normals[result.segments == side]
        assert np.ptp(normals, axis=0).max() < 1e-6
    # The mesh is cut where the method says so, and the ridge is no jump.
    assert len(result.mesh(cut=0.0).faces) < len(result.mesh().faces)


def test_a_law(page):
    assert page.robust.status.ok
    assert error_percent(page, page.robust) < 0.1
    assert page.Robust() != page.Robust(width=0.2)


def test_a_solver(page):
    library = rayrelief.integrate(
        page.scene.normals,
        page.scene.camera,
        mask=page.scene.mask,
        method=rayrelief.RayPlane(max_iterations=5, tolerance=None),
    )
    np.testing.assert_allclose(page.slow.depth, library.depth, rtol=1e-3)


def test_an_anchor_makes_the_scale_known(page):
    free = rayrelief.integrate(
        page.scene.normals, page.scene.camera, mask=page.scene.mask, method=rayrelief.RayPlane()
    )
    ratio = page.metric.depth / free.depth
    np.testing.assert_allclose(ratio, ratio[30, 40], rtol=1e-3)
    assert page.metric.depth[30, 40] == pytest.approx(1250.0, rel=1e-6)


def test_a_backend(page):
    library = rayrelief.integrate(
        page.scene.normals, page.scene.camera, mask=page.scene.mask, method=rayrelief.RayPlane()
    )
    assert page.plain.status.outcome is library.status.outcome
    np.testing.assert_allclose(page.plain.depth, library.depth, rtol=1e-5)
    energies = [[step.energy for step in result.history] for result in (page.plain, library)]
    np.testing.assert_allclose(energies[0], energies[1], rtol=1e-3, atol=1e-9)


def test_anchors_hold_with_a_backend_of_somebody_else(page):
    method = page.AtDepth(pixel=(30, 40), depth=1250.0)
    result = rayrelief.integrate(
        page.scene.normals, page.scene.camera, method=method, backend=page.Plain()
    )
    np.testing.assert_allclose(result.depth, page.metric.depth, rtol=1e-4)


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (None, "Returns returned NoneType"),
        ({"segments": np.zeros(3, np.int32)}, r"segments of the shape \(3,\)"),
        ({"cuts": np.zeros((4, 3), bool)}, r"cuts of the shape \(4, 3\)"),
    ],
)
def test_what_does_not_fit_the_graph_is_refused(page, returned, words):
    class Returns:
        def solve(self, problem, backend, callback=None):
            x = np.zeros(problem.graph.size)
            return None if returned is None else rayrelief.methods.Solution(x, **returned)

    with pytest.raises(InputError, match=words):
        rayrelief.integrate(page.scene.normals, page.scene.camera, method=Returns())


@pytest.mark.parametrize("backend", ["cpu", rayrelief.backends.CPU])
def test_what_is_no_backend_is_refused(page, backend):
    with pytest.raises(InputError, match="the backend is"):
        rayrelief.integrate(page.scene.normals, page.scene.camera, backend=backend)


def test_a_solution_of_another_size_is_refused(page):
    class Wrong:
        def solve(self, problem, backend, callback=None):
            return rayrelief.methods.Solution(np.zeros(problem.graph.size - 1))

    with pytest.raises(InputError, match=r"Wrong.*\(4799,\).*\(4800,\)"):
        rayrelief.integrate(page.scene.normals, page.scene.camera, method=Wrong())


def test_what_a_method_does_not_compute_is_not_shown(page):
    with pytest.raises(InputError, match="Facets has no activation"):
        _ = page.result.activation
    with pytest.raises(InputError, match="RayPlane has no segments"):
        _ = page.slow.segments
