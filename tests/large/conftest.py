from dataclasses import dataclass, field

import numpy as np
import pytest
from typer.testing import CliRunner

from rayrelief.batch.here import Here
from rayrelief.cameras.calibration import write_camera
from rayrelief.cli.app import app
from rayrelief.large.running import integrate_blocks
from rayrelief.synthetic.surroundings import wavy_relief

RELIEF = 150, 110  # height and width of the map that goes through the command


@dataclass(frozen=True)
class InMemory:
    """A map that is in memory; counts what is read of it."""

    normals: np.ndarray = field(repr=False)
    mask: np.ndarray = field(repr=False)
    reads: list = field(default_factory=list, repr=False)

    @property
    def shape(self):
        return self.mask.shape

    def read(self, window):
        self.reads.append(window)
        return self.normals[window], self.mask[window]


@pytest.fixture
def in_memory():
    return InMemory


@pytest.fixture
def depth_of(tmp_path):
    """Depth (H, W) of a map in blocks, and the finished run."""

    def compute(source, camera, method, layout, folder="work", **how):
        given = {"method": method, "layout": layout, "engine": Here(1), "threads": 1}
        finished = integrate_blocks(source, camera, tmp_path / folder, **(given | how))
        height, width = source.shape
        window = slice(0, height), slice(0, width)
        return finished.job.store.window(layout, "depth", window).astype(float), finished

    return compute


@pytest.fixture
def relief():
    return wavy_relief(*RELIEF)


@pytest.fixture
def small_blocks(monkeypatch):
    """As if hardly anything fitted into memory."""
    monkeypatch.setattr("rayrelief.cli.runs.large.side_for", lambda *_: 80)


@pytest.fixture
def command(tmp_path):
    def call(*words):
        camera = f"--camera={tmp_path / 'camera.json'}"
        given = ["integrate", "--threads=1", "--method=smooth", camera, *map(str, words)]
        return CliRunner().invoke(app, given)

    write_camera(tmp_path / "camera.json", wavy_relief(*RELIEF).camera)
    return call
