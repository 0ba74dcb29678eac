"""A folder to a Scene: what is found, what is assumed and said, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rayrelief.cameras.calibration import write_camera
from rayrelief.cameras.equirectangular import Equirectangular
from rayrelief.cameras.fisheye import Equidistant
from rayrelief.cameras.orthographic import Orthographic
from rayrelief.cameras.pinhole import Pinhole
from rayrelief.conventions import CONVENTIONS, from_opencv
from rayrelief.datasets.folder import read_scene
from rayrelief.errors import CameraError, FileError, InputError
from rayrelief.io.depth import write_depth
from rayrelief.io.exr import write_exr
from rayrelief.io.images import write_png

HEIGHT, WIDTH = 12, 16
CAMERA = Pinhole(20.0, 21.0, 7.5, 5.25)
MASK = np.zeros((HEIGHT, WIDTH), bool)
MASK[2:10, 3:14] = True


def dome():
    """Unit normals of a bulging surface that face the camera, in the OpenCV frame."""
    v, u = np.mgrid[0:HEIGHT, 0:WIDTH]
    normals = np.stack((u - 7.2, v - 5.3, np.full(u.shape, -9.0)), axis=-1)
    return normals / np.linalg.norm(normals, axis=-1, keepdims=True)


def encode(normals):
    return np.rint((normals + 1) / 2 * 65535).astype(np.uint16)


@pytest.fixture
def folder(tmp_path):
    """A folder in the layout of DiLiGenT."""
    folder = tmp_path / "bear"
    folder.mkdir()
    write_png(folder / "normal_map.png", encode(from_opencv(dome(), "opengl")))
    write_png(folder / "mask.png", (MASK * 255).astype(np.uint8))
    K = [[CAMERA.fx, 0, CAMERA.cx], [0, CAMERA.fy, CAMERA.cy], [0, 0, 1]]
    np.savetxt(folder / "K.txt", np.array(K))
    np.savez(folder / "depth_gt.npz", depth_gt=np.full((HEIGHT, WIDTH), 2.5, np.float32))
    return folder


def test_matrix_as_an_array_is_found_too(folder):
    expected = read_scene(folder).camera
    np.save(folder / "K.npy", np.loadtxt(folder / "K.txt"))
    (folder / "K.txt").unlink()
    assert read_scene(folder).camera == expected


def test_whole_folder(folder):
    scene = read_scene(folder)
    np.testing.assert_allclose(scene.normals, dome(), atol=2e-5)
    np.testing.assert_array_equal(scene.mask, MASK)
    rays = CAMERA.rays(HEIGHT, WIDTH)
    np.testing.assert_allclose(scene.camera.rays(HEIGHT, WIDTH), rays, rtol=1e-12)
    np.testing.assert_array_equal(scene.depth, np.where(MASK, 2.5, np.nan))
    assert scene.depth_kind == "z"
    assert scene.name == "bear"
    assert (np.sum(scene.normals * rays, axis=-1) < 0).all()
    notes = "\n".join(scene.notes)
    assert "16-bit" in notes
    assert "OpenGL axes" in notes
    assert "K.txt" in notes


@pytest.mark.parametrize("suffix", [".png", ".npy"])
def test_one_scene_in_four_conventions_reads_to_one_normal_map(tmp_path, suffix):
    for convention in CONVENTIONS:
        path = tmp_path / f"{convention}{suffix}"
        stored = from_opencv(dome(), convention)
        if suffix == ".png":
            write_png(path, encode(stored))
        else:
            np.save(path, stored)
        scene = read_scene(path, convention=convention, camera=CAMERA)
        np.testing.assert_allclose(scene.normals, dome(), atol=2e-5 if suffix == ".png" else 0)
        assert scene.name == convention


def test_convention_of_the_argument_goes_before_the_layout(folder):
    scene = read_scene(folder, convention="opencv", check_convention=False)
    np.testing.assert_allclose(scene.normals, from_opencv(dome(), "opengl"), atol=2e-5)
    assert "OpenGL" not in "\n".join(scene.notes)


def test_convention_must_be_told_for_any_other_source(folder):
    listed = "opengl, opencv, dsine, directx"
    with pytest.raises(InputError, match=rf"{listed}.*docs/conventions\.md"):
        read_scene(folder / "normal_map.png", camera=CAMERA)
    (folder / "normal_map.png").rename(folder / "Normal_gt.png")
    with pytest.raises(InputError, match=listed):
        read_scene(folder)
    np.testing.assert_allclose(read_scene(folder, convention="opengl").normals, dome(), atol=2e-5)


def test_unknown_convention(folder):
    with pytest.raises(InputError, match="'unreal' is not known"):
        read_scene(folder, convention="unreal")


# Camera


def test_camera_argument_goes_before_the_files(folder):
    (folder / "K.txt").write_text("not a camera")
    assert read_scene(folder, camera=CAMERA).camera is CAMERA
    assert isinstance(read_scene(folder, camera=Orthographic()).camera, Orthographic)


def test_camera_file_argument(folder, tmp_path):
    (folder / "K.txt").rename(tmp_path / "other.txt")
    for path in (tmp_path / "other.txt", str(tmp_path / "other.txt")):
        camera = read_scene(folder, camera=path).camera
        np.testing.assert_allclose(
            camera.rays(HEIGHT, WIDTH), CAMERA.rays(HEIGHT, WIDTH), rtol=1e-12
        )


def test_camera_json_goes_before_k_txt(folder):
    other = Pinhole(40.0, 41.0, 8.0, 6.0)
    write_camera(folder / "camera.json", other)
    assert read_scene(folder).camera == other


def test_two_matrices_are_named_unless_something_goes_before_them(folder):
    np.save(folder / "K.npy", np.loadtxt(folder / "K.txt"))
    with pytest.raises(FileError, match=r"K\.txt and K\.npy"):
        read_scene(folder)
    assert read_scene(folder, camera=CAMERA).camera is CAMERA
    write_camera(folder / "camera.json", CAMERA)
    assert read_scene(folder).camera == CAMERA


def test_missing_camera_names_the_ways_out(folder):
    (folder / "K.txt").unlink()
    with pytest.raises(
        InputError, match=r"rayrelief\.cameras.*--fov 60.*--camera orthographic.*K\.txt"
    ):
        read_scene(folder)
    with pytest.raises(
        InputError, match=r"normal_map\.png has no camera.*beside it, camera\.json or"
    ):
        read_scene(folder / "normal_map.png", convention="opengl")


def test_camera_of_another_size_is_refused(folder):
    with pytest.raises(CameraError, match="16x12"):
        read_scene(folder, camera=Pinhole.from_fov(60, height=10, width=16))


# Mask


def test_mask_argument_goes_before_the_file(folder, tmp_path):
    inverse = ~MASK
    write_png(tmp_path / "inverse.png", (inverse * 255).astype(np.uint8))
    for mask in (inverse, tmp_path / "inverse.png", str(tmp_path / "inverse.png")):
        np.testing.assert_array_equal(read_scene(folder, mask=mask).mask, inverse)


def test_mask_argument_is_not_shared(folder):
    mask = MASK.copy()
    scene = read_scene(folder, mask=mask)
    mask[:] = False
    np.testing.assert_array_equal(scene.mask, MASK)


@pytest.mark.parametrize("mask", [MASK * 255, MASK[..., None], MASK.astype(float)])
def test_mask_argument_must_be_boolean(folder, mask):
    with pytest.raises(InputError, match=r"booleans of the shape \(H, W\)"):
        read_scene(folder, mask=mask)


def test_alpha_channel_is_the_mask_where_no_other_is(folder):
    (folder / "mask.png").unlink()
    alpha = (MASK * 65535).astype(np.uint16)[..., None]
    colours = encode(from_opencv(dome(), "opengl"))
    write_png(folder / "normal_map.png", np.concatenate((colours, alpha), axis=-1))
    scene = read_scene(folder)
    np.testing.assert_array_equal(scene.mask, MASK)
    assert "mask: from the alpha channel" in scene.notes


def test_an_array_beside_the_normals_of_a_file_is_the_mask(tmp_path):
    np.savez(tmp_path / "map.npz", normals=dome(), mask=MASK)
    np.savez(tmp_path / "normal_map.npz", normals=dome(), mask=MASK)
    for place, name in ((tmp_path / "map.npz", "map.npz"), (tmp_path, "normal_map.npz")):
        scene = read_scene(place, convention="opencv", camera=Orthographic())
        np.testing.assert_array_equal(scene.mask, MASK)
        assert f"mask: the array 'mask' of {name}" in scene.notes


def test_without_any_mask_pixels_with_a_normal_are_inside(folder):
    (folder / "mask.png").unlink()
    colours = encode(from_opencv(dome(), "opengl"))
    write_png(folder / "normal_map.png", colours * MASK[..., None])
    scene = read_scene(folder)
    np.testing.assert_array_equal(scene.mask, MASK)
    assert "mask: no mask given, every pixel that has a normal is inside" in scene.notes


def test_mask_of_another_size_names_both_sizes(folder):
    write_png(folder / "mask.png", np.full((5, 7), 255, np.uint8))
    with pytest.raises(InputError, match=r"mask\.png has 7x5 .* normal map has 16x12"):
        read_scene(folder)


def test_empty_mask_is_refused(folder):
    write_png(folder / "mask.png", np.zeros((HEIGHT, WIDTH), np.uint8))
    with pytest.raises(InputError, match=r"mask\.png has no pixel inside"):
        read_scene(folder)


# Depth


def test_depth_of_another_size_is_refused(folder):
    np.savez(folder / "depth_gt.npz", depth_gt=np.ones((5, 7)))
    with pytest.raises(InputError, match=r"depth_gt\.npz has 7x5 .* normal map has 16x12"):
        read_scene(folder)


def test_depth_behind_the_camera_is_left_out(folder):
    depth = np.ones((HEIGHT, WIDTH))
    scene = read_scene(folder)
    v, u = np.argwhere(scene.mask)[0]
    depth[v, u] = -1.0
    np.savez(folder / "depth_gt.npz", depth_gt=depth)
    scene = read_scene(folder)
    assert scene.depth is not None
    assert np.isnan(scene.depth[v, u])
    assert np.count_nonzero(scene.mask & np.isnan(scene.depth)) == 1
    assert "depth_gt.npz: 1 depth is negative and left out: check the sign" in scene.notes


def test_depth_without_a_kind_is_taken_as_z_and_said_so(folder):
    (folder / "depth_gt.npz").unlink()
    assert read_scene(folder).depth is None
    write_depth(folder / "depth_gt.npy", np.ones((HEIGHT, WIDTH)), "distance")
    scene = read_scene(folder)
    assert scene.depth_kind == "z"
    assert any("taken as z-depth" in note for note in scene.notes)


@pytest.mark.parametrize("suffix", [".npy", ".exr"])
@pytest.mark.parametrize(
    ("camera", "kind"),
    [
        (Equirectangular.full(HEIGHT, WIDTH), "distance"),
        (Equidistant(4, 4, 7.5, 5.5, size=(WIDTH, HEIGHT)), "distance"),  # corners beyond 90
        (Equidistant(12, 12, 7.5, 5.5, size=(WIDTH, HEIGHT)), "z"),
        (Orthographic(), "z"),
    ],
    ids=["panorama", "wide fisheye", "fisheye", "parallel"],
)
def test_depth_without_a_kind_is_distance_where_there_is_no_z(folder, suffix, camera, kind):
    (folder / "depth_gt.npz").unlink()
    depth = np.full((HEIGHT, WIDTH), 2.0)
    if suffix == ".exr":
        write_exr(folder / "depth_gt.exr", {"Y": depth})
    else:
        np.save(folder / "depth_gt.npy", depth)
    scene = read_scene(folder, camera=camera)
    assert scene.depth_kind == kind
    (note,) = (note for note in scene.notes if "does not say what its depth measures" in note)
    assert note.startswith(f"depth_gt{suffix}: ")
    assert ("taken as distance: the camera sees past 90 degrees" in note) == (kind == "distance")


def test_depth_keeps_the_kind_that_it_tells(folder):
    write_depth(folder / "depth_gt.npz", np.ones((HEIGHT, WIDTH)), "distance")
    assert read_scene(folder).depth_kind == "distance"


# What is missing or ambiguous


def test_two_normal_maps_are_named(folder):
    np.save(folder / "normal_map.npy", dome())
    with pytest.raises(FileError, match=r"both normal_map\.png and normal_map\.npy"):
        read_scene(folder)


def test_two_depths_are_named(folder):
    np.save(folder / "depth_gt.npy", np.ones((HEIGHT, WIDTH)))
    with pytest.raises(FileError, match=r"both depth_gt\.npz and depth_gt\.npy"):
        read_scene(folder)


def test_folder_without_a_normal_map_lists_the_names(tmp_path):
    with pytest.raises(FileError, match=r"no normal map.*normal_map\.png.*Normal_gt\.mat"):
        read_scene(tmp_path, convention="opengl", camera=CAMERA)


def test_a_folder_of_many_maps_says_how_they_are_given(tmp_path):
    for number in range(2):
        write_png(tmp_path / f"frame_{number}.png", np.full((4, 5, 3), 128, np.uint8))
    with pytest.raises(FileError, match=r"Many maps are given as .*/\*\.png, .*--sequence"):
        read_scene(tmp_path, convention="opengl", camera=CAMERA)


def test_missing_path(tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        read_scene(tmp_path / "nowhere")


# Real data


@pytest.mark.data
def test_diligent_bear(data_root):
    scene = read_scene(data_root / "diligent" / "bear")
    assert any("16-bit" in note for note in scene.notes)
    inside = scene.normals[scene.mask]
    assert abs(np.linalg.norm(inside, axis=-1).mean() - 1) < 1e-3
    rays = scene.camera.rays(*scene.mask.shape)
    assert np.mean(np.sum(inside * rays[scene.mask], axis=-1) < 0) > 0.99
    assert scene.depth is not None
    np.testing.assert_array_equal(np.isfinite(scene.depth), scene.mask)


def test_the_mask_beside_a_map_is_used_if_it_has_its_size(folder):
    scene = read_scene(folder / "normal_map.png", convention="opengl", camera=CAMERA)
    np.testing.assert_array_equal(scene.mask, MASK)
    assert any("beside the map" in note for note in scene.notes)
    write_png(folder / "mask.png", np.full((HEIGHT, WIDTH + 1), 255, np.uint8))
    scene = read_scene(folder / "normal_map.png", convention="opengl", camera=CAMERA)
    assert scene.mask.all()
    assert any("another size" in note for note in scene.notes)


def test_the_camera_beside_a_map_is_used_as_in_its_folder(folder):
    own = read_scene(folder)
    write_camera(folder / "camera.json", replace(CAMERA, fx=9.0))
    (folder / "report.json").write_text('{"rayrelief": "1.0", "files": ["camera.json"]}')
    scene = read_scene(folder / "normal_map.png", convention="opengl")
    assert scene.camera == own.camera
    notes = [note for note in own.notes if "K.txt" in note]
    assert [note for note in scene.notes if "K.txt" in note] == [
        "camera: K.txt beside the map",
        *notes,
    ]


def test_no_mask_on_request(folder):
    assert read_scene(folder, mask="none").mask.all()
    np.testing.assert_array_equal(read_scene(folder, mask="auto").mask, MASK)


def test_a_camera_that_a_run_left_does_not_count_beside_the_calibration(folder):
    own = read_scene(folder).camera
    write_camera(folder / "camera.json", replace(CAMERA, fx=9.0))
    (folder / "report.json").write_text('{"rayrelief": "1.0", "files": ["camera.json"]}')
    assert read_scene(folder).camera == own
    (folder / "K.txt").unlink()
    assert read_scene(folder).camera.parameters()["fx"] == 9.0


def test_a_principal_point_outside_the_image_is_noted(folder):
    scene = read_scene(folder, camera="100,100,60,5", check_convention=False)
    assert any("outside the" in note for note in scene.notes)
