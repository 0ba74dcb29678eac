"""What a folder of results keeps for the eye, and what is drawn of it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from rayrelief import RayPlane, Smooth, integrate
from rayrelief.cameras.calibration import write_camera
from rayrelief.errors import FileError
from rayrelief.io.depth import write_depth
from rayrelief.methods.base import SMALLEST, Support
from rayrelief.synthetic import gallery
from rayrelief.viewer.display import FLOATING, colourings, display_mesh
from rayrelief.viewer.finished import read_finished
from rayrelief.viewer.layers import Layers


def finished(folder, scene, method):
    result = integrate(scene.normals, scene.camera, mask=scene.mask, method=method)
    write_depth(folder / "depth.npz", result.depth, result.depth_kind)
    write_camera(folder / "camera.json", result.camera)
    Layers.of(result, scene.depth).write(folder / "layers.npz")
    return result, read_finished(folder)


@pytest.fixture(scope="module")
def still_life(tmp_path_factory):
    return finished(tmp_path_factory.mktemp("result"), gallery.still_life(60, 80), RayPlane())


def test_a_result_comes_back_from_its_folder(still_life):
    result, shown = still_life
    np.testing.assert_array_equal(shown.depth, result.depth)
    np.testing.assert_allclose(shown.view.points(shown.depth), result.points())
    np.testing.assert_allclose(shown.layers.normals, result.input_normals, atol=1e-6)
    np.testing.assert_allclose(shown.layers.jumps, result.active_jumps(), rtol=1e-6)
    np.testing.assert_allclose(shown.layers.weights, result.weights.smallest(), atol=1e-3)
    assert set(colourings(shown)) == {
        *("clay", "normals", "depth", "jumps", "segments", "weights", "error")
    }


@pytest.mark.parametrize("cut", [0.5, 2.0, 8.0, np.inf])
def test_the_display_is_the_mesh_of_the_result(still_life, cut):
    result, shown = still_life
    mesh, stride = display_mesh(shown, cut)
    assert stride == 1
    whole = result.mesh(cut=cut)
    faces, own = (
        {tuple(map(tuple, face)) for face in each.known_pixels()[each.faces].tolist()}
        for each in (mesh, whole)
    )
    assert faces == own
    u, v = mesh.known_pixels().T
    np.testing.assert_array_equal(mesh.vertices, result.points()[v, u])


def test_fewer_cuts_leave_more_faces(still_life):
    counts = [len(display_mesh(still_life[1], cut)[0].faces) for cut in (0.5, 2.0, 1e9)]
    assert counts == sorted(set(counts))


def test_a_large_map_is_drawn_with_fewer_samples_of_the_same_surface(tmp_path):
    result, shown = finished(tmp_path, gallery.sphere(48, 64), Smooth())
    full = display_mesh(shown)[0]
    mesh, stride = display_mesh(shown, longest_side=20)
    assert stride > 1
    assert len(mesh.vertices) < len(full.vertices) / 2
    u, v = mesh.known_pixels().T
    np.testing.assert_array_equal(mesh.vertices, result.points()[v, u])


def test_parts_that_float_have_stripes(still_life):
    _, shown = still_life
    labels = np.arange(2)[None].repeat(3, axis=0)
    marked = replace(shown, layers=Layers(segments=labels, floating=labels == 1))
    red = (colourings(marked)["segments"]().picture == FLOATING).all(axis=-1)
    assert red[:, 1].any()
    assert not red[:, 0].any()


def test_what_floats_is_what_the_status_counts_specks_apart():
    scene = gallery.room(120, 160)
    result = integrate(scene.normals, scene.camera)
    sizes = np.bincount(result.segments.ravel())
    unknown = [label for label, support in enumerate(result.support) if support < Support.CONTACT]
    counted = [label for label in unknown if sizes[label] >= SMALLEST]
    assert len(counted) == 4 < len(unknown)
    assert any("4 parts touch nothing" in note for note in result.status.notes)
    floating = Layers.of(result, None).floating
    np.testing.assert_array_equal(floating, np.isin(result.segments, counted))


def test_parts_and_specks_are_counted_apart(still_life):
    _, shown = still_life
    labels = np.repeat(np.repeat([[0, 1], [1, 1]], 4, axis=0), 4, axis=1)
    for specks, words in ((0, "2 parts"), (1, "2 parts and 1 speck"), (2, "2 parts and 2 specks")):
        marked = labels.copy()
        marked.flat[:specks] = 2 + np.arange(specks)
        layers = Layers(segments=marked)
        assert colourings(replace(shown, layers=layers))["segments"]().label == words


def test_errors_beside_each_other_have_the_same_colours(still_life):
    _, shown = still_life
    twice = replace(shown, layers=Layers(error=2 * shown.layers.error))
    pair = (shown, twice)
    labels = {colourings(each, beside=pair)["error"]().label for each in pair}
    assert labels == {colourings(twice)["error"]().label}


def test_a_depth_alone_can_be_looked_at(still_life, tmp_path):
    result, _ = still_life
    write_depth(tmp_path / "depth.npy", result.depth, result.depth_kind)
    write_camera(tmp_path / "camera.json", result.camera)
    shown = read_finished(tmp_path)
    assert set(colourings(shown)) == {"clay", "depth"}
    assert len(display_mesh(shown)[0].faces) > len(result.mesh().faces) / 2


def test_the_summary_says_how_the_run_ended_and_what_floats(still_life, tmp_path):
    result, _ = still_life
    write_depth(tmp_path / "depth.npy", result.depth, result.depth_kind)
    write_camera(tmp_path / "camera.json", result.camera)
    status = {"cause": "converged", "notes": ["1 part touches nothing", 5]}
    report = {"rayrelief": "0", "method": {"type": "Ordered"}, "status": status}
    (tmp_path / "report.json").write_text(json.dumps(report))
    assert read_finished(tmp_path).summary == "Ordered, converged; 1 part touches nothing"


def test_a_folder_without_a_result_is_refused(tmp_path):
    with pytest.raises(FileError, match=r"no depth.*; expected .*Run rayrelief integrate"):
        read_finished(tmp_path)


def test_layers_of_another_map_are_refused(still_life, tmp_path):
    result, _ = still_life
    write_depth(tmp_path / "depth.npz", result.depth, result.depth_kind)
    write_camera(tmp_path / "camera.json", result.camera)
    Layers(jumps=np.zeros((60, 81))).write(tmp_path / "layers.npz")
    with pytest.raises(FileError, match=r"jumps of the shape \(60, 81\)"):
        read_finished(tmp_path)
