"""Predictions, made once: what a prediction depends on is its key, and a file keeps it."""

from __future__ import annotations

import hashlib
import tempfile
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np

import rayrelief
from benchmarks.accuracy.inputs import MapSource
from rayrelief.conventions import FloatArray
from rayrelief.errors import InputError, IntegrationWarning, Outcome
from rayrelief.io.atomic import atomic_write
from rayrelief.methods.base import Method

LIBRARY = Path(rayrelief.__file__).parent
PLAIN = (str, int, float, NoneType)  # whose text tells all
# No prediction passes through these: what they read has a hash of its own, scores are made anew.
NEVER_PREDICTING = (
    *("cli/", "viewer/", "evaluation/", "datasets/", "synthetic/", "io/", "cameras/calibration/"),
    *("mesh.py", "surface.py"),
)


@dataclass(frozen=True, eq=False)
class Task:
    """A map to integrate, the hash of what it showed, how, and by which state of the library."""

    source: MapSource
    digest: str
    method: Method
    library: str

    @cached_property
    def key(self) -> str:
        """Key of the result."""
        return key_of(self.digest, self.method, self.library)


@dataclass(frozen=True, eq=False)
class Prediction:
    """Depth (H, W), and how the run went."""

    depth: FloatArray
    seconds: float
    outcome: Outcome
    iterations: int


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
            raise SystemExit(f"no predictions can be kept in {self.folder}: {error}") from error

    def load(self, key: str) -> Prediction | None:
        """A prediction; None where there is none, or where its file is broken."""
        try:
            # numpy leaves a broken file open: it is closed here.
            with self._path(key).open("rb") as stream, np.load(stream) as file:
                return Prediction(
                    depth=file["depth"],
                    seconds=float(file["seconds"]),
                    outcome=Outcome[str(file["outcome"])],
                    iterations=int(file["iterations"]),
                )
        except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error):
            return None

    def need(self, key: str, shape: tuple[int, ...]) -> Prediction:
        """A prediction that was made before, of a map of this shape."""
        prediction, path = self.load(key), self._path(key)
        if prediction is None:
            raise SystemExit(f"the prediction {path} is gone; the same command makes it again")
        if prediction.depth.shape != shape:
            raise SystemExit(f"{path} is of another map; remove it, and start the command again")
        return prediction

    def store(self, key: str, prediction: Prediction) -> None:
        """Keep a prediction; the file appears whole or not at all."""
        with atomic_write(self._path(key)) as path:
            np.savez_compressed(
                path,
                depth=prediction.depth.astype(np.float64),
                seconds=prediction.seconds,
                outcome=prediction.outcome.name,
                iterations=prediction.iterations,
            )

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.npz"


def predict(task: Task, stopped: Callable[[], bool]) -> Prediction | None:
    """Integrate the map of a task on one thread; None if that was stopped on the way."""
    scene = task.source.scene()
    if input_digest(scene) != task.digest:
        raise InputError(
            f"the map {task.source.name} is no longer what it was",
            expected="the same files during a run",
            remedy="Start the same command again",
        )
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IntegrationWarning)  # tables tell how a run ended
        result = rayrelief.integrate(
            scene.normals,
            scene.camera,
            mask=scene.mask,
            method=task.method,
            threads=1,
            callback=lambda _: stopped(),
            on_failure="return",
        )
    seconds = time.perf_counter() - began
    outcome = result.status.outcome
    if outcome is Outcome.STOPPED:
        return None
    return Prediction(result.depth, seconds, outcome, len(result.history))


def library_state(folder: Path = LIBRARY) -> str:
    """Version of the library, and a hash of the source that predicts and of what it is built on."""
    digest = hashlib.sha256()
    for package in ("numpy", "scipy", "numba"):
        _feed(digest, f"{package} {version(package)}")
    for name in predicting_files(folder):
        _feed(digest, name)
        _feed(digest, (folder / name).read_text(encoding="utf-8"))
    return f"{rayrelief.__version__}-{digest.hexdigest()[:16]}"


def predicting_files(folder: Path = LIBRARY) -> list[str]:
    """Source files that a prediction may pass through, relative to the folder of the library."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.py"))
    return [name for name in names if not name.startswith(NEVER_PREDICTING)]


def input_digest(scene: rayrelief.Scene) -> str:
    """Hash of what a method sees of a scene."""
    return _digest(scene.normals, scene.mask, scene.camera)


def key_of(input_digest: str, method: Method, library: str) -> str:
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
