"""Axes found out from a map: right or undecided, whatever they are; never wrong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from scipy.spatial.transform import Rotation

from rayrelief.cameras import Equirectangular, Orthographic
from rayrelief.conventions import ALL_AXES, from_opencv
from rayrelief.doctor.advice import reasons, settle_axes
from rayrelief.doctor.axes import find_axes
from rayrelief.doctor.focal import find_focal_length
from rayrelief.doctor.frame import SUSPICIOUS, find_tilt
from rayrelief.doctor.windows import windows_of
from rayrelief.errors import InputError, IntegrationWarning
from rayrelief.synthetic import GALLERY
from rayrelief.synthetic.perturb import quantised, with_rotation_noise
from rayrelief.synthetic.surroundings import wavy_room

HEIGHT, WIDTH = 120, 160
PARALLEL = Orthographic(0.024, cx=(WIDTH - 1) / 2, cy=(HEIGHT - 1) / 2)


def scene_of(name, camera=None):
    return GALLERY[name](HEIGHT, WIDTH, camera)


def turned_around_view(axes):
    """Axes in which x and y have the other sign: the same relief inside out."""
    return axes.translate(str.maketrans("RLUD", "LRDU"))


@pytest.mark.parametrize("name", ["tori", "overlapping_spheres", "vase", "room"])
@pytest.mark.parametrize("known", [True, False])
def test_axes_of_scenes_are_found(name, known):
    scene = scene_of(name)
    camera = scene.camera if known else None
    for axes in ("LUB", "RDB", "BUR"):
        found = find_axes(from_opencv(scene.normals, axes), scene.mask, camera)
        assert found.candidates == (axes,)
        assert found.confidence > 0.9


def test_all_axes_of_an_object_are_found():
    scene = scene_of("tori", PARALLEL)
    for axes in ALL_AXES:
        found = find_axes(from_opencv(scene.normals, axes), scene.mask, PARALLEL)
        assert found.candidates == (axes,)


@pytest.mark.parametrize("name", sorted(GALLERY))
@pytest.mark.parametrize("noise", ["8 bit", "20 degrees"])
def test_no_answer_is_wrong(name, noise):
    scene, rng = scene_of(name), np.random.default_rng(1)
    normals = {
        "8 bit": lambda n: quantised(n, 8, truncate=True),
        "20 degrees": lambda n: with_rotation_noise(n, 20.0, rng),
    }[noise](scene.normals)
    for axes in ("RUB", "LDB"):
        found = find_axes(from_opencv(normals, axes), scene.mask)
        assert axes in found.candidates
        assert not found.refutes(axes)


@pytest.mark.parametrize(("axes", "left"), [("RUB", {"LUB", "RDB"}), ("RDF", {"LDF"})])
def test_axes_that_nobody_writes_are_no_candidates_of_a_map_that_says_little(axes, left):
    scene = GALLERY["overlapping_spheres"](40, 44)
    found = find_axes(from_opencv(scene.normals, axes), scene.mask)
    assert {*found.candidates} == {axes, *left}


def bump_in_a_plane(sign):
    """Normals of a dome (1) or a bowl (-1) in a plane, camera frame, parallel rays."""
    v, u = np.mgrid[:HEIGHT, :WIDTH]
    x, y = (u - 80.3) / 45, (v - 60.2) / 45
    inside = np.hypot(x, y) < 0.98
    z = np.sqrt(np.clip(1 - x**2 - y**2, 0, 1))
    dome = np.stack([sign * x, sign * y, -z], axis=-1)
    return np.where(inside[..., None], dome, (0.0, 0.0, -1.0))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("axes", ["RUB", "LUB", "RDB", "LDB"])
def test_a_bowl_and_a_dome_are_not_told_apart(sign, axes):
    everywhere = np.ones((HEIGHT, WIDTH), np.bool_)
    found = find_axes(from_opencv(bump_in_a_plane(sign), axes), everywhere)
    assert {*found.candidates} == {axes, turned_around_view(axes)}


def from_depth(depth):
    """Normals of a depth in pixels, camera frame, parallel rays."""
    down, right = np.gradient(depth)
    return np.stack([right, down, -np.ones_like(depth)], axis=-1)


@pytest.mark.parametrize("slope", [0.3, 0.8])
def test_rounding_does_not_speak_against_axes(slope):
    # The curl of a paraboloid is nothing of nothing, and in axes that are swapped nothing of a lot.
    v, u = np.mgrid[:HEIGHT, :WIDTH]
    squared = (u - 80.3) ** 2 + (v - 60.2) ** 2
    normals = from_depth(slope * squared / 100)
    for axes in ("RUB", "LDB"):
        assert not find_axes(from_opencv(normals, axes), squared < 50**2).refutes(axes)


@pytest.mark.parametrize("seed", range(6))
def test_a_mask_that_cuts_through_steep_ground_is_no_outline(seed):
    v, u = np.mgrid[:HEIGHT, :WIDTH]
    rng = np.random.default_rng(seed)
    ground = gaussian_filter(rng.standard_normal((HEIGHT, WIDTH)), 14, mode="wrap")
    normals = from_depth(18 * ground / ground.std())
    mask = np.hypot(u - 80, v - 60) < 50
    for sign in (1, -1):
        found = find_axes(from_opencv(normals * (sign, sign, 1), "LDB"), mask, PARALLEL)
        assert {"LDB", "RUB"} <= {*found.candidates}


@pytest.mark.parametrize("slope", [0.6, 1.0, 2.0])
def test_the_rim_of_a_bowl_is_no_outline(slope):
    v, u = np.mgrid[:HEIGHT, :WIDTH]
    squared = (u - 80.3) ** 2 + (v - 60.2) ** 2
    bowl = from_depth(-slope * squared / 50)
    for axes in ("RUB", "LDB"):
        assert not find_axes(from_opencv(bowl, axes), squared < 50**2, PARALLEL).refutes(axes)


@pytest.mark.parametrize("name", ["plane", "steps", "tent"])
def test_flat_maps_say_nothing_about_x_and_y(name):
    scene = scene_of(name)
    found = find_axes(from_opencv(scene.normals, "opengl"), scene.mask)
    assert {"RUB", "LUB", "RDB", "LDB"} <= {*found.candidates}
    assert found.refutes("RDF")


def test_noise_says_nothing():
    vectors = np.random.default_rng(3).standard_normal((HEIGHT, WIDTH, 3))
    vectors[..., 2] = 3.0
    found = find_axes(vectors, np.ones((HEIGHT, WIDTH), np.bool_))
    assert len(found.candidates) >= 8


@pytest.mark.parametrize("degrees", [10.0, 25.0, 40.0])
def test_normals_in_world_space_are_turned(degrees):
    scene = scene_of("overlapping_spheres", PARALLEL)
    turn = Rotation.from_rotvec(degrees * np.array([0.6, -0.64, 0.48]), degrees=True).as_matrix()
    world = scene.normals @ turn.T
    reading = find_axes(world, scene.mask, PARALLEL).readings[0]
    assert abs(find_tilt(world, scene.mask, reading, PARALLEL) - degrees) < 3.0


@pytest.mark.parametrize("said", ["a turn of 20 degrees", "in no axes"])
def test_a_convention_that_is_told_does_not_hide_world_space(said):
    scene = scene_of("tori", PARALLEL)
    turn = Rotation.from_rotvec((12.0, -12.8, 9.6), degrees=True).as_matrix()
    world = scene.normals @ turn.T
    if said == "in no axes":
        world = np.random.default_rng(2).standard_normal(world.shape)
    told = from_opencv(world, "opengl"), scene.mask, PARALLEL, "opengl"
    with pytest.raises(InputError, match=f"{said}.*world space.*--no-convention-check"):
        settle_axes(*told, image=True, name="map", check=True)
    assert settle_axes(*told, image=True, name="map", check=False) == ("RUB", ())


def test_axes_that_a_small_map_fits_better_are_named():
    scene = scene_of("still_life")
    vectors = from_opencv(quantised(scene.normals, 8, truncate=True), "opengl")
    seen = vectors, scene.mask, scene.camera
    right = settle_axes(*seen, "opengl", image=True, name="map", check=True)
    assert right == ("RUB", ())
    with pytest.warns(IntegrationWarning, match="'opengl' better than 'directx'"):
        settle_axes(*seen, "directx", image=True, name="map", check=True)


def test_blender_is_told_in_which_frame_its_normals_are_read():
    scene = scene_of("tori")
    told = from_opencv(scene.normals, "opengl"), scene.mask, scene.camera, "Blender"
    axes, notes = settle_axes(*told, image=True, name="map", check=True)
    assert axes == "RUB"
    assert "Normal pass is in world space" in notes[0]


def test_normals_in_the_frame_of_the_camera_are_not():
    scene, rng = scene_of("still_life"), np.random.default_rng(0)
    noisy = with_rotation_noise(scene.normals, 10.0, rng)
    (reading, *_) = find_axes(noisy, scene.mask).readings
    assert reading.curl.mean > SUSPICIOUS
    assert find_tilt(noisy, scene.mask, reading) == 0.0


def test_a_panorama_is_read_with_its_own_rays():
    camera = Equirectangular.full(HEIGHT, WIDTH)
    scene = wavy_room(HEIGHT, WIDTH, camera)
    for axes in ("RDF", "LUB"):
        found = find_axes(from_opencv(scene.normals, axes), scene.mask, camera)
        assert found.candidates == (axes,)
        assert "no other axes" in reasons(found)[0]


def test_a_large_map_is_looked_at_in_parts():
    scene = GALLERY["ellipsoid_inside"](400, 500)
    whole, parts = (
        windows_of(scene.normals, scene.mask),
        windows_of(scene.normals, scene.mask, 70_000),
    )
    assert len(whole) == 1
    assert 30_000 < sum(part.inside.size for part in parts) <= 2 * 70_000
    for part in parts:
        height, width = part.inside.shape
        place = np.s_[part.top : part.top + height, part.left : part.left + width]
        np.testing.assert_array_equal(part.vectors, whole[0].vectors[place])
        np.testing.assert_array_equal(part.pixels[0, 0], (part.left, part.top))


@pytest.mark.parametrize("name", ["ellipsoid_inside", "tori", "room", "still_life"])
def test_the_focal_length_is_found(name):
    scene = scene_of(name)
    found = find_focal_length(from_opencv(scene.normals, "opengl"), scene.mask, "RUB")
    assert found.told
    assert found.shortest < scene.camera.fx < found.longest < 3 * scene.camera.fx


@pytest.mark.parametrize("name", ["tori", "still_life"])
def test_parallel_rays_are_found(name):
    scene = scene_of(name, PARALLEL)
    found = find_focal_length(scene.normals, scene.mask, "RDF")
    assert found.parallel
    assert found.shortest > 2 * WIDTH


def test_a_plane_suits_every_focal_length():
    scene = scene_of("plane")
    assert not find_focal_length(scene.normals, scene.mask, "RDF").told
