"""What a notebook shows of a result."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from html.parser import HTMLParser

import cv2
import numpy as np
import pytest

import rayrelief
from rayrelief import synthetic
from rayrelief.cameras import Equirectangular, Orthographic
from rayrelief.shading import shade_from_camera


class Reader(HTMLParser):
    """Text and pictures of a page; every tag that is opened must be closed."""

    def __init__(self):
        super().__init__()
        self.text, self.pictures, self.open = "", [], []

    def handle_starttag(self, tag, attributes):
        if tag == "img":
            kind, _, data = dict(attributes)["src"].partition(",")
            assert kind == "data:image/png;base64"
            content = np.frombuffer(base64.b64decode(data), np.uint8)
            self.pictures.append(cv2.imdecode(content, cv2.IMREAD_UNCHANGED))
        else:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize(
    ("camera", "shape"),
    [
        (None, (30, 40)),
        (None, (300, 500)),
        (Orthographic(0.1), (20, 20)),
        (Equirectangular, (24, 48)),
    ],
)
def test_the_five_lines_and_two_small_pictures(camera, shape):
    camera = Equirectangular.full(*shape) if camera is Equirectangular else camera
    scene = synthetic.GALLERY["ellipsoid_inside" if camera else "sphere"](*shape, camera)
    method = rayrelief.RayPlane(max_iterations=2)
    result = rayrelief.integrate(
        scene.normals, scene.camera, mask=scene.mask, method=method, on_failure="return"
    )
    page = result._repr_html_()
    reader = Reader()
    reader.feed(page)
    assert reader.text == repr(result)
    assert reader.open == []
    assert len(page) < 200_000
    assert not re.search(r"https?:", page), "nothing is fetched"
    normals, surface = reader.pictures
    step = -(-max(shape) // 200)
    assert normals.shape == surface.shape == (-(-shape[0] // step), -(-shape[1] // step), 3)
    inside = result.mask[::step, ::step]
    assert surface[inside].std() > 5, "a curved surface is shaded"
    assert (surface[~inside] == surface[~inside][:1]).all()


@pytest.mark.parametrize("factor", [1e-250, 1e200])
def test_a_surface_of_any_size_is_shown_without_a_warning(factor):
    scene = synthetic.GALLERY["sphere"](12, 16)
    method = rayrelief.RayPlane(max_iterations=2)
    result = rayrelief.integrate(
        scene.normals, scene.camera, mask=scene.mask, method=method, on_failure="return"
    )
    assert "<img" in replace(result, depth=factor * result.depth)._repr_html_()


def test_light_does_not_depend_on_the_size_and_reaches_no_point_without_a_direction():
    points, normal = np.array([[0.3, -0.2, 1.0], [0.0, 0.0, 2.0]]), np.array([[0.0, 0.6, -0.8]])
    expected = shade_from_camera(points, normal, central=True)
    for factor in (1e-250, 1e200):
        found = shade_from_camera(factor * points, normal, central=True)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    nowhere = np.array([[0.0, 0.0, 0.0], [np.inf, 0.0, 1.0]])
    assert np.isnan(shade_from_camera(nowhere, normal, central=True)).all()
