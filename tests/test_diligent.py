"""Golden numbers of the paper on the real maps: the rows of Table 2 that take seconds.

The others, and all objects of these rows, are ``python -m benchmarks.table2``.
"""

from __future__ import annotations

import pytest

import rayrelief
from rayrelief.evaluation.metrics import depth_errors
from rayrelief.evaluation.residuals import formulation_residuals

pytestmark = pytest.mark.data

OBJECTS = ("bear", "buddha", "cat", "cow", "harvest", "pot1", "pot2", "reading", "goblet")


@pytest.fixture(scope="module")
def scenes(data_root):
    return {name: rayrelief.read_scene(data_root / "diligent" / name) for name in OBJECTS}


def made(scene, method):
    result = rayrelief.integrate(scene.normals, scene.camera, mask=scene.mask, method=method)
    return depth_errors(result.depth, scene.depth, "scale").made


@pytest.mark.parametrize(
    ("name", "printed"),
    list(zip(OBJECTS, (0.01, 0.10, 0.03, 0.0, 0.34, 0.04, 0.03, 0.08, 0.11), strict=True)),
)
def test_known_discontinuities(scenes, name, printed):
    scene = scenes[name]
    method = rayrelief.RayPlane.published(150, known_depth=scene.depth)
    assert made(scene, method) == pytest.approx(printed, abs=0.01)


@pytest.mark.parametrize(
    ("name", "printed", "within"),
    [
        ("bear", 0.33, 0.01),
        ("cat", 0.07, 0.01),
        ("cow", 0.06, 0.01),
        ("pot2", 0.22, 0.01),
        ("reading", 0.26, 0.01),
        ("goblet", 9.00, 0.05),
    ],
)
def test_printed_bini(scenes, name, printed, within):
    assert made(scenes[name], rayrelief.BiNI.published()) == pytest.approx(printed, abs=within)


@pytest.mark.parametrize(("name", "printed"), [("bear", 0.03), ("cow", 0.08), ("reading", 0.17)])
def test_published_schedule(scenes, name, printed):
    assert made(scenes[name], rayrelief.RayPlane.published()) == pytest.approx(printed, abs=0.02)


@pytest.mark.parametrize(("name", "printed"), [("bear", 0.07), ("cow", 0.08), ("reading", 0.12)])
def test_published_schedule_without_jumps(scenes, name, printed):
    method = rayrelief.RayPlane.published(jumps=False)
    assert made(scenes[name], method) == pytest.approx(printed, abs=0.03)


def test_default_is_as_accurate_as_the_published_schedule(scenes):
    names = ("bear", "cow", "pot2", "reading")
    mean = sum(made(scenes[name], rayrelief.RayPlane()) for name in names) / len(names)
    assert mean < (0.03 + 0.08 + 0.13 + 0.17) / 4


def test_formulation_accuracy_of_table_1(scenes):
    residuals = formulation_residuals(scenes["bear"], rayrelief.RayPlane())
    assert residuals.absolute.mean == pytest.approx(0.82e-2, abs=0.005e-2)
    assert residuals.relative_log_depth.mean == pytest.approx(0.08e-5, abs=0.005e-5)
    assert residuals.relative_depth.mean == pytest.approx(0.60e-5, abs=0.005e-5)


def test_orthographic_vase_is_integrated_whole(data_root):
    scene = rayrelief.read_scene(data_root / "other" / "vase_orthographic", camera="orthographic")
    result = rayrelief.integrate(scene.normals, scene.camera, mask=scene.mask)
    assert result.components.count == 1
    assert result.mean_angle() < 4.0  # 3.1: the toy has jumps that no normal shows
