"""A surface that is watched while it forms."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import rayrelief
from rayrelief.backends import CPU
from rayrelief.viewer.page import forming
from rayrelief.viewer.page.upload import as_markdown


@pytest.mark.parametrize("method", [rayrelief.RayPlane(), rayrelief.Ordered()])
def test_watching_changes_nothing(method, monkeypatch):
    monkeypatch.setattr(forming, "SHARE", 0.0)
    scene = rayrelief.synthetic.GALLERY["overlapping_spheres"](30, 40)
    seen: list[np.ndarray] = []
    watched = forming.Watched(CPU(), seen.append)
    results = [
        rayrelief.integrate(
            scene.normals, scene.camera, mask=scene.mask, method=method, backend=backend
        )
        for backend in (None, watched)
    ]
    np.testing.assert_array_equal(results[0].depth, results[1].depth)
    assert len(seen) >= len(results[1].history)
    np.testing.assert_array_equal(np.isfinite(seen[-1]), scene.mask)


def test_a_drawing_that_takes_long_is_not_repeated_at_once(monkeypatch):
    clock = iter([0.0, 1.0, 4.9, 5.0, 6.0])
    monkeypatch.setattr(forming.time, "monotonic", lambda: next(clock))
    seen: list[Any] = []
    watched = forming.Watched(CPU(), seen.append)

    problem: Any = SimpleNamespace(depth=lambda x: x)
    for x in (1.0, 2.0, 3.0):  # at 0 for a second, at 4.9, at 5
        watched._seen(problem, np.array(x))
    assert seen == [1.0, 3.0]


def test_findings_fit_into_a_narrow_panel():
    text = as_markdown("size      50x40 pixels\naxes      opengl\n          facing: 0 %")
    assert text == "\n**size:** 50x40 pixels\n\n**axes:** opengl\n- facing: 0 %"
