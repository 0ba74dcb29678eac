"""Wrong arguments: every function says what is wrong, or gets along; no other error ever."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rayrelief as typed
from rayrelief.errors import RayreliefError
from rayrelief.io.height import write_height
from rayrelief.relief import height_map
from rayrelief.synthetic.gallery import sphere
from rayrelief.viewer.video import Film

rayrelief: Any = typed  # whose types forbid what is done here
SCENE = sphere(6, 8)
assert SCENE.depth is not None
TRUTHS: dict[str, Any] = {"depth": SCENE.depth, "truth": SCENE.depth, "alignment": "scale"}
ODD: dict[str, Any] = {
    "none": None,
    "true": True,
    "negative": -1,
    "zero": 0,
    "half": 0.5,
    "large": 10**30,
    "nan": float("nan"),
    "infinity": float("inf"),
    "complex": 1j,
    "text": "x",
    "null": "a\0b",
    "empty text": "",
    "bytes": b"x",
    "object": object(),
    "class": bool,
    "list": [],
    "ragged": [[1], [1, 2]],
    "dict": {},
    "no array": np.zeros((0, 5, 3)),
    "masked": np.ma.masked_array(np.ones((6, 8, 3)), mask=True),
    "texts": np.array([["a", "b"]]),
    "objects": np.array([None, 1], dtype=object),
    "infinite": np.full((6, 8, 3), np.inf),
    "huge": np.full((6, 8, 3), 1e300),
    "tiny": np.full((6, 8, 3), 5e-324),
    "integers": np.ones((6, 8, 3), int),
    "stream": io.BytesIO(b""),
}


def integrate(**changes: Any) -> Any:
    usual: dict[str, Any] = {
        "normals": SCENE.normals,
        "camera": SCENE.camera,
        "mask": SCENE.mask,
        "method": rayrelief.RayPlane(max_iterations=2),
        "on_failure": "return",
    }
    return rayrelief.integrate(**(usual | changes))


def with_method(**changes: Any) -> object:
    return integrate(method=rayrelief.RayPlane(**({"max_iterations": 2} | changes)))


def with_prior(**changes: Any) -> object:
    usual = {"depth": np.asarray(SCENE.depth)}
    return integrate(prior=rayrelief.DepthPrior(**(usual | changes)))


def at_points(**changes: Any) -> object:
    usual: dict[str, Any] = {"points": [(4, 3, 1.0)], "height": 6, "width": 8}
    return rayrelief.DepthPrior.at(**(usual | changes))


def at_a_point(**changes: Any) -> object:
    point = {"u": 4, "v": 3, "z": 1.0} | changes
    return at_points(points=[(point["u"], point["v"], point["z"])])


def mapped(**changes: Any) -> object:
    with ThreadPoolExecutor(1) as pool:
        usual = {
            "scenes": [SCENE],
            "executor": pool,
            "method": rayrelief.RayPlane(max_iterations=2),
        }
        return [future.result() for future in rayrelief.map(**(usual | changes))]


def pinhole(**changes: Any) -> object:
    usual = {"fx": 9.0, "fy": 9.0, "cx": 4.0, "cy": 3.0}
    return integrate(camera=rayrelief.cameras.Pinhole(**(usual | changes)))


LOOKS = {
    "height": ("unit_rays", {"width": 8}),
    "width": ("rays", {"height": 6}),
    "pixels": ("directions", {}),
    "points": ("project", {}),
}
RAYS = typed.cameras.RayMap(SCENE.camera.unit_rays(6, 8))


def look_through(camera: Any, **changes: Any) -> object:
    ((argument, value),) = changes.items()
    verb, others = LOOKS[argument]
    return getattr(camera, verb)(**others, **{argument: value})


@pytest.fixture
def calls(tmp_path: Path) -> dict[str, tuple[Callable[..., object], tuple[str, ...]]]:
    """Functions and their arguments."""
    np.save(tmp_path / "map.npy", SCENE.normals)
    rayrelief.write_depth(tmp_path / "depth.npz", SCENE.depth, "z")
    calibration = tmp_path / "K.txt"
    calibration.write_text("9 0 4\n0 9 3\n0 0 1\n")
    depth = np.asarray(SCENE.depth)
    mesh = rayrelief.Mesh(np.eye(3), np.array([[0, 1, 2]]))
    result: Any = integrate()
    heights: dict[str, Any] = {"path": tmp_path / "height.png", "height": depth}

    def scene(**changes: Any) -> object:
        usual = {"path": tmp_path / "map.npy", "convention": "opencv", "camera": "fov:50"}
        return rayrelief.read_scene(**(usual | changes))

    def camera(**changes: Any) -> object:
        return rayrelief.read_camera(**({"path": calibration} | changes))

    def write_depth(**changes: Any) -> object:
        usual = {"path": tmp_path / "out.npy", "depth": depth, "kind": "z"}
        return rayrelief.write_depth(**(usual | changes))

    def write_mesh(**changes: Any) -> object:
        return rayrelief.write_mesh(**({"path": tmp_path / "out.ply", "mesh": mesh} | changes))

    def errors(**changes: Any) -> object:
        return rayrelief.depth_errors(**(TRUTHS | changes))

    def convert(**changes: Any) -> object:
        return rayrelief.to_opencv(**({"normals": SCENE.normals, "convention": "dsine"} | changes))

    return {
        "integrate": (
            integrate,
            (
                *("normals", "camera", "mask", "start", "method", "backend", "callback"),
                *("on_failure", "memory_check"),
            ),
        ),
        "newer arguments": (integrate, ("prior", "confidence", "periodic", "device")),
        "textures": (
            lambda **changes: integrate(camera=rayrelief.cameras.Orthographic(), **changes),
            ("confidence", "periodic"),
        ),
        "DepthPrior": (with_prior, ("depth", "sigma", "weight", "residual", "kind")),
        "DepthPrior.at": (at_points, ("points", "height", "width")),
        "a known point": (at_a_point, ("u", "v", "z")),
        "map": (mapped, ("scenes", "threads")),
        "from_fov": (
            lambda **changes: rayrelief.cameras.Pinhole.from_fov(
                **({"degrees": 50.0, "height": 6, "width": 8} | changes)
            ),
            ("degrees", "height", "width"),
        ),
        "height_map": (lambda **changes: height_map(result, **changes), ("flatten",)),
        "write_height": (
            lambda **changes: write_height(**(heights | changes)),
            ("path", "height"),
        ),
        "write_preview": (
            lambda **changes: rayrelief.write_preview(
                **({"path": tmp_path / "preview.png", "result": result} | changes)
            ),
            ("path", "result"),
        ),
        "scaled": (result.scaled, ("factor",)),
        "result.mesh": (result.mesh, ("cut", "min_part", "both")),
        **{
            f"rays of {type(camera).__name__}": (partial(look_through, camera), tuple(LOOKS))
            for camera in (SCENE.camera, typed.cameras.Orthographic(), RAYS)
        },
        "result.solid": (
            lambda **changes: result.solid(**({"width": 10.0, "base": 1.0} | changes)),
            ("width", "base", "unit"),
        ),
        "mesh.scaled": (
            lambda **changes: mesh.scaled(**({"factor": 2.0} | changes)),
            ("factor", "unit"),
        ),
        "Mesh": (
            lambda **changes: write_mesh(
                mesh=rayrelief.Mesh(
                    **({"vertices": np.eye(3), "faces": np.array([[0, 1, 2]])} | changes)
                )
            ),
            ("vertices", "faces", "normals", "texture"),
        ),
        "Film": (Film, ("size", "seconds", "rate", "turn")),
        "RayPlane": (
            with_method,
            (
                *("connectivity", "max_iterations", "tolerance", "solver", "preprocessing"),
                *("midpoint", "outlier_threshold", "outlier_samples", "cost_factor", "jumps"),
                *("sharpness", "activation_slope", "activation_threshold", "weight_constant"),
            ),
        ),
        "Preprocessing": (
            lambda **changes: with_method(preprocessing=rayrelief.Preprocessing(**changes)),
            ("facing_away", "outlier_ratio", "average_window", "outlier_window"),
        ),
        "AdaptiveMidpoint": (
            lambda **changes: with_method(midpoint=rayrelief.methods.AdaptiveMidpoint(**changes)),
            ("slope",),
        ),
        "Multigrid": (
            lambda **changes: with_method(solver=rayrelief.solvers.Multigrid(**changes)),
            ("rtol", "max_steps"),
        ),
        "CPU": (
            lambda **changes: integrate(backend=rayrelief.backends.CPU(**changes)),
            ("threads",),
        ),
        "Pinhole": (pinhole, ("fx", "fy", "cx", "cy", "skew", "size")),
        "RayMap": (lambda rays: integrate(camera=rayrelief.cameras.RayMap(rays)), ("rays",)),
        "Orthographic": (
            lambda **changes: integrate(camera=rayrelief.cameras.Orthographic(**changes)),
            ("pixel_size", "cx", "cy"),
        ),
        "read_scene": (scene, ("path", "convention", "camera", "mask", "which", "k_order")),
        "read_camera": (camera, ("path", "height", "width", "which", "k_order")),
        "read_depth": (rayrelief.read_depth, ("path",)),
        "write_depth": (write_depth, ("path", "depth", "kind")),
        "write_mesh": (write_mesh, ("path", "mesh")),
        "depth_errors": (errors, ("depth", "truth", "alignment")),
        "to_opencv": (convert, ("normals", "convention")),
    }


NAMES = (
    *("integrate", "RayPlane", "Preprocessing", "AdaptiveMidpoint", "Multigrid", "CPU"),
    *("Pinhole", "RayMap", "Orthographic", "read_scene", "read_camera", "read_depth"),
    *("write_depth", "write_mesh", "depth_errors", "to_opencv"),
    *("newer arguments", "textures", "DepthPrior", "DepthPrior.at", "a known point", "map"),
    *("from_fov", "height_map", "write_height", "write_preview", "scaled", "result.mesh"),
    *("result.solid", "mesh.scaled", "Mesh", "Film"),
    *("rays of Pinhole", "rays of Orthographic", "rays of RayMap"),
)


@pytest.mark.parametrize("name", NAMES)
def test_wrong_arguments_are_refused_in_words(name, calls, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert set(calls) == set(NAMES)
    call, arguments = calls[name]
    broken = []
    for argument in arguments:
        for what, value in ODD.items():
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", rayrelief.IntegrationWarning)
                    call(**{argument: value})
            except RayreliefError:
                pass
            except Exception as error:
                broken.append(f"{argument}={what}: {error!r}"[:200])
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda _: rayrelief.RayPlane(tolerance="a"), "tolerance is 'a'"),
        (lambda _: rayrelief.RayPlane(midpoint="x"), "midpoint is 'x'"),
        (lambda _: rayrelief.RayPlane(jumps="no"), "jumps is 'no'"),
        (lambda _: integrate().mesh(both="no"), "both is 'no'"),
        (lambda _: rayrelief.Preprocessing(average_window=float("nan")), "average_window is nan"),
        (lambda _: rayrelief.Preprocessing(outlier_window=float("nan")), "outlier_window is nan"),
        (lambda _: integrate(start="x"), "start of the type"),
        (lambda _: integrate(mask=np.ones((0, 5, 4), bool)), r"bool and the shape \(0, 5, 4\)"),
        (
            lambda map_file: rayrelief.read_scene(map_file, convention="opencv", camera=500),
            "a path of the type int",
        ),
    ],
)
def test_settings_that_once_passed_or_broke_are_named(call, words, tmp_path):
    np.save(tmp_path / "map.npy", SCENE.normals)
    with pytest.raises(RayreliefError, match=words):
        call(tmp_path / "map.npy")


def test_the_number_of_a_camera_may_be_a_number(tmp_path):
    path = tmp_path / "cameras.txt"
    path.write_text("1 PINHOLE 8 6 9 9 4 3\n2 PINHOLE 8 6 10 9 4 3\n")
    assert rayrelief.read_camera(path, which=2) == rayrelief.read_camera(path, which="2")
