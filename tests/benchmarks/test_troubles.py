"""Every trouble of the gallery is one: its remedy changes the surface."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import troubles


@pytest.mark.parametrize("name", troubles.TROUBLES)
def test_the_remedy_can_be_seen(name, monkeypatch):
    monkeypatch.setattr(troubles, "HEIGHT", 45)
    monkeypatch.setattr(troubles, "WIDTH", 60)
    trouble = troubles.TROUBLES[name]()
    assert len(trouble.right.faces) > 0
    same = trouble.wrong.vertices.shape == trouble.right.vertices.shape
    assert not same or not np.allclose(trouble.wrong.vertices, trouble.right.vertices, rtol=1e-3)
