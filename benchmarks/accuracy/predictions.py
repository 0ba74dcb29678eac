"""Predictions, made once: what a prediction depends on is its key, and a file keeps it."""

from __future__ import annotations

import hashlib
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np

import rayrelief
from benchmarks.accuracy import known_jumps
from benchmarks.accuracy.inputs import MapSource, scene_of
from benchmarks.report import UnavailableError
from rayrelief.backends import CPU
from rayrelief.conventions import FloatArray
from rayrelief.errors import Outcome
from rayrelief.io.atomic import atomic_write
from rayrelief.methods import Reweighted

LIBRARY = Path(rayrelief.__file__).parent
NEVER_PREDICTING = ("cli", "viewer", "evaluation")  # folders that no prediction passes through
PLAIN = (str, int, float, NoneType)  # whose text tells all


@dataclass(frozen=True, eq=False)
class Task:
    """A map to integrate, and how."""

    source: MapSource
    method: Reweighted

    @property
    def key(self) -> str:
        """Name of the result: follows what the map holds now, the method and the library."""
        return key_of(source_digest(self.source), self.method, library_state())


@dataclass(frozen=True, eq=False)
class Prediction:
    """Depth (H, W), and how the run ended."""

    depth: FloatArray
    outcome: Outcome


@dataclass(frozen=True)
class Cache:
    """A folder with one file for each prediction."""

    folder: Path

    def prepare(self) -> None:
        """Make the folder: whether it can be written to is known before the first prediction."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise UnavailableError(f"{self.folder} cannot be written to: {error}") from error

    def load(self, key: str) -> Prediction | None:
        """A prediction; None where there is none, or where its file is broken."""
        try:
            # numpy leaves a broken file open: it is closed here.
            with self._path(key).open("rb") as stream, np.load(stream) as file:
                return Prediction(file["depth"], Outcome[str(file["outcome"])])
        except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error):
            return None

    def need(self, key: str) -> Prediction:
        """A prediction that was made before."""
        prediction = self.load(key)
        if prediction is None:
            raise UnavailableError(
                f"there is no prediction {self._path(key)}: files or sources have changed during "
                "the run; start the same command again"
            )
        return prediction

    def store(self, key: str, prediction: Prediction) -> None:
        """Keep a prediction; the file appears whole or not at all."""
        depth, outcome = prediction.depth.astype(np.float64), prediction.outcome.name
        with atomic_write(self._path(key)) as path:
            np.savez_compressed(path, depth=depth, outcome=outcome)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.npz"


def predict(task: Task, stopped: Callable[[], bool]) -> Prediction | None:
    """Integrate the map of a task on one thread; None if that was stopped on the way."""
    scene = scene_of(task.source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rayrelief.IntegrationWarning)  # tables tell how a run ended
        result = rayrelief.integrate(
            scene.normals,
            scene.camera,
            mask=scene.mask,
            method=task.method,
            backend=CPU(threads=1),
            callback=lambda _: stopped(),
            on_failure="return",
        )
    outcome = result.status.outcome
    return None if outcome is Outcome.STOPPED else Prediction(result.depth, outcome)


@cache
def library_state(folder: Path = LIBRARY) -> str:
    """Version of the library, and a hash of the source that predicts and of what it is built on."""
    digest = hashlib.sha256()
    for package in ("numpy", "scipy", "numba"):
        _feed(digest, f"{package} {version(package)}")
    paths = sorted(folder.rglob("*.py"), key=lambda path: path.relative_to(folder).as_posix())
    for path in paths:
        name = path.relative_to(folder).as_posix()
        if name.partition("/")[0] not in NEVER_PREDICTING:
            _feed(digest, name)
            _feed(digest, path.read_text(encoding="utf-8"))
    _feed(digest, Path(known_jumps.__file__).read_text(encoding="utf-8"))
    return f"{rayrelief.__version__}-{digest.hexdigest()[:16]}"


@cache
def source_digest(source: MapSource) -> str:
    """Hash of the map of a source, read once in each process."""
    return input_digest(scene_of(source))


def input_digest(scene: rayrelief.Scene) -> str:
    """Hash of what a method sees of a scene."""
    return _digest(scene.normals, scene.mask, scene.camera)


def key_of(input_digest: str, method: Reweighted, library: str) -> str:
    """Key of the prediction that a method of this state of the library makes of an input."""
    return _digest(input_digest, method, library)[:32]


def _digest(*values: Any) -> str:
    digest = hashlib.sha256()
    for value in values:
        _feed(digest, value)
    return digest.hexdigest()


def _feed(digest: Any, value: Any) -> None:
    """Hash a value with its type and length, so that no two sequences of values look alike."""
    if is_dataclass(value) and not isinstance(value, type):
        known = fields(value)
        _feed(digest, f"{type(value).__qualname__}: {[each.name for each in known]}")
        for each in known:  # all of them: some arrays are left out of a method's comparison
            _feed(digest, getattr(value, each.name))
    elif isinstance(value, np.ndarray):
        _feed(digest, f"{value.dtype.str} {value.shape}")
        digest.update(np.ascontiguousarray(value).data)
    elif isinstance(value, tuple) and not all(isinstance(each, PLAIN) for each in value):
        raise TypeError("no part of a key is made of a tuple of arrays, whose text is cut short")
    elif isinstance(value, (*PLAIN, tuple)):
        text = f"{type(value).__name__} {value!r}".encode()
        digest.update(len(text).to_bytes(8, "little") + text)
    else:
        raise TypeError(f"no part of a key is made of a {type(value).__name__}")
