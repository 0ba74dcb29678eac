"""The picture of a camera: colours are the angles that its scales say, blank is no ray."""

from __future__ import annotations

import numpy as np
import pytest

from rayrelief.cameras.brown_conrady import BrownConrady
from rayrelief.cameras.fisheye import Equidistant
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.survey import survey
from rayrelief.viewer.ray_picture import angle_panel, direction_panel, draw_rays, fineness_panel
from rayrelief.viewer.sheet import INK, PAPER

FISHEYE = Equidistant(30.0, 30.0, 59.5, 39.5, size=(120, 80))
FOLDED = BrownConrady(60, 60, 79.5, 59.5, -0.3, size=(160, 120))


def test_angles_are_degrees_off_the_axis():
    unit = FISHEYE.unit_rays(80, 120)
    panel = angle_panel(unit)
    assert panel.scale is not None
    corner = np.degrees(np.hypot(59.5, 39.5) / 30)  # an equidistant lens: angle = radius / f
    np.testing.assert_allclose((panel.scale.low, panel.scale.high), (0, corner))
    # Lines every 30 degrees: along the middle row they are 30 degrees times f pixels apart.
    row = np.flatnonzero((panel.picture[40] == INK).all(axis=-1))
    apart = np.diff(row[row > 60])
    assert "a line every 30" in panel.caption
    np.testing.assert_allclose(apart[apart > 1], np.radians(30) * 30, atol=1)


def test_pixels_without_a_ray_are_blank():
    unit = FOLDED.unit_rays(120, 160)
    none = np.isnan(unit[..., 0])
    assert none.any()
    for panel in (angle_panel(unit), direction_panel(unit)):
        blank = (panel.picture == PAPER).all(axis=-1)
        assert blank[none].all()
        assert not blank[~none].any()


def test_fineness_is_in_minutes_of_arc():
    rays = FISHEYE.unit_rays(80, 120)
    panel = fineness_panel(rays[:, :-1], rays[:, 1:])
    assert panel.scale is not None
    along = 60 * np.degrees(1 / 30)  # along a radius; across it the sine makes pixels narrower
    assert 0.99 * along < panel.scale.high < 1.001 * along


def test_a_picture_has_a_panel_less_without_angles_between_pixels():
    wide = draw_rays(FISHEYE, 80, 120).shape[1]
    assert draw_rays(Orthographic(), 80, 120).shape[1] < 0.7 * wide


def test_the_survey_knows_what_is_invalid():
    found = survey(FOLDED, 120, 160)
    assert found.invalid == pytest.approx(np.isnan(FOLDED.unit_rays(120, 160)[..., 0]).mean())
    assert 0.5 < found.invalid < 1
    np.testing.assert_allclose(survey(FISHEYE, 80, 120).across, np.degrees(120 / 30), rtol=1e-4)
