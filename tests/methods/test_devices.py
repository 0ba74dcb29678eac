"""Devices by name."""

from __future__ import annotations

import numpy as np
import pytest

import rayrelief
from rayrelief.backends import CPU, CUDA
from rayrelief.backends.cuda import device
from rayrelief.cameras import Pinhole
from rayrelief.errors import InputError
from rayrelief.methods.devices import backend_for


@pytest.fixture
def gpu(monkeypatch, request):
    """Whether there is a GPU."""

    def found():
        if not request.param:
            raise InputError("this machine has no GPU", expected="one", remedy="Use the CPU")

    monkeypatch.setattr(device, "cupy", found)
    return request.param


@pytest.mark.parametrize("gpu", [True, False], indirect=True)
@pytest.mark.parametrize(
    ("method", "known"),
    [
        (rayrelief.RayPlane(), True),
        (rayrelief.Smooth(), True),
        (rayrelief.RayPlane(connectivity=8), True),
        (rayrelief.RayPlane.published(), False),
        (rayrelief.Ordered(), True),
        (rayrelief.methods.AuxiliaryEdges(), False),
    ],
)
def test_auto_is_a_gpu_that_can_compute_the_method(gpu, method, known):
    assert backend_for("auto", method, 2) == (CUDA(2) if gpu and known else CPU(2))


@pytest.mark.parametrize("gpu", [True], indirect=True)
def test_images_that_repeat_are_for_the_cpu(gpu):
    method = rayrelief.RayPlane()
    assert backend_for("auto", method, repeats=True) == CPU()
    with pytest.raises(InputError, match="an image that repeats"):
        backend_for("cuda", method, repeats=True)


@pytest.mark.parametrize("gpu", [False], indirect=True)
def test_a_gpu_that_is_not_there_is_told_before_any_work(gpu):
    normals = np.broadcast_to([0.0, 0.0, -1.0], (4, 5, 3))
    with pytest.raises(InputError, match="this machine has no GPU"):
        rayrelief.integrate(normals, Pinhole(5, 5, 2, 2), device="cuda")


def test_an_unknown_device_is_refused():
    with pytest.raises(InputError, match="device is 'tpu'; expected 'auto', 'cpu' or 'cuda'"):
        backend_for("tpu", rayrelief.RayPlane())  # type: ignore[arg-type]


def test_without_cupy_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    device.cupy.cache_clear()
    with pytest.raises(InputError, match=r"extra gpu.*pip install"):
        device.cupy()
