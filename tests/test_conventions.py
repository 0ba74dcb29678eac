"""Axes of normals: names, letters, and the way there and back."""

from __future__ import annotations

import numpy as np
import pytest

from rayrelief.conventions import (
    ALL_AXES,
    SOURCES,
    axes_of,
    convention_name,
    from_opencv,
    to_opencv,
)
from rayrelief.errors import InputError

VECTORS = np.random.default_rng(0).standard_normal((5, 7, 3))


@pytest.mark.parametrize("axes", [*ALL_AXES, *SOURCES])
def test_there_and_back(axes):
    np.testing.assert_array_equal(to_opencv(from_opencv(VECTORS, axes), axes), VECTORS)
    np.testing.assert_array_equal(from_opencv(to_opencv(VECTORS, axes), axes), VECTORS)


def test_all_axes_differ():
    assert len({tuple(from_opencv([1.0, 2.0, 3.0], axes)) for axes in ALL_AXES}) == 48


@pytest.mark.parametrize(
    ("axes", "stored"),
    [
        ("opengl", (1, -2, -3)),
        ("opencv", (1, 2, 3)),
        ("dsine", (-1, -2, -3)),
        ("directx", (1, 2, -3)),
        ("BUR", (-3, -2, 1)),
        ("URB", (-2, 1, -3)),
    ],
)
def test_letters_say_where_components_point(axes, stored):
    np.testing.assert_array_equal(from_opencv([1.0, 2.0, 3.0], axes), stored)


def test_names_are_taken_in_any_case():
    assert axes_of(" StableNormal ") == axes_of("DSINE") == axes_of("lub") == "LUB"
    assert convention_name("LUB") == "dsine"
    assert convention_name("BUR") == "BUR"


def test_images_of_some_tools_have_other_axes():
    assert (axes_of("moge"), axes_of("moge", image=True)) == ("RDF", "RUB")
    assert (axes_of("metric3d"), axes_of("metric3d", image=True)) == ("RDF", "FDR")
    assert axes_of("marigold", image=True) == axes_of("marigold")


@pytest.mark.parametrize("name", ["unreal", "RRB", "RU", "RUBX", ""])
def test_what_is_no_convention(name):
    with pytest.raises(InputError, match="is not known"):
        axes_of(name)


def test_vectors_of_integers_are_vectors():
    np.testing.assert_array_equal(
        to_opencv([[0, 0, 1], [0, -1, 0]], "opengl"), [[0, 0, -1], [0, 1, 0]]
    )


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32])
def test_colours_of_an_image_are_no_vectors(dtype):
    top = min(np.iinfo(dtype).max, 65535)
    colours = np.full((4, 5, 3), top, dtype)
    with pytest.raises(InputError, match=rf"normals = normals / {top} \* 2 - 1; read_scene"):
        to_opencv(colours, "opengl")
