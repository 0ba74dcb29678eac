"""Integrators on the GPU where there is one, else on its kernels as g++ compiles them."""

from __future__ import annotations

from rayrelief.backends.cuda.device import Device, is_available
from rayrelief.backends.cuda.layout import Workspace
from rayrelief.backends.cuda.machine import Machine
from rayrelief.cameras import Equirectangular, KannalaBrandt, Orthographic, Pinhole
from rayrelief.gpu import Integrator
from reference.host_machine import Host

SHAPE = 30, 42
CAMERAS = {
    "pinhole": Pinhole(60, 55, 20.3, 14.1),
    "fisheye": KannalaBrandt(30, 31, 20.3, 14.1, 0.1, -0.02, 0.01, 0.0),
    "panorama": Equirectangular.full(*SHAPE),
    "parallel": Orthographic(0.02),
}


def machine() -> Machine:
    return Device() if is_available() else Host()


def integrator(camera, method=None, shape=SHAPE) -> Integrator:
    height, width = shape
    return Integrator(camera, height, width, method, machine=machine())


def workspace(resident: Integrator) -> Workspace:
    engine = resident._resident.engine
    assert engine is not None
    return engine.work
