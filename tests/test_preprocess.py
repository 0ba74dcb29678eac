"""What is dropped, repaired and reported, against plain loops over pixels."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rayrelief
from profiles import fewer_examples
from rayrelief import RayPlane, preprocess
from rayrelief.cameras import Equirectangular, Orthographic
from rayrelief.conventions import CONVENTIONS, from_opencv
from rayrelief.errors import InputError, IntegrationWarning
from rayrelief.neighbourhood import average_neighbours
from rayrelief.preprocess import Preprocessing, PreprocessReport, prepare_normals
from rayrelief.problem import assemble
from rayrelief.synthetic.gallery import tori
from reference.random_maps import facing_normals, random_mask, random_rays

SEED = st.integers(0, 2**32 - 1)
SIZE = (9, 10)
KEEP = Preprocessing(facing_away="keep")


def random_map(seed, *, away=0.0, spread=0.5, size=SIZE):
    """Normals, mask and rays, with a fraction of the normals turned away."""
    rng = np.random.default_rng(seed)
    rays = random_rays(rng, *size)
    normals = facing_normals(rng, rays, spread)
    normals[rng.random(size) < away] *= -1
    return normals, random_mask(rng, *size, density=0.9), rays, rng


def incidence_of(normals, rays):
    return np.sum(normals * rays, axis=-1)


def window_of(pixel, width, shape):
    """All pixels in a square window, cut off at the border."""
    reach = width // 2
    return [
        (v, u)
        for v in range(max(pixel[0] - reach, 0), min(pixel[0] + reach + 1, shape[0]))
        for u in range(max(pixel[1] - reach, 0), min(pixel[1] + reach + 1, shape[1]))
    ]


def average_by_hand(normals, rays, good, pixel, width):
    """Mean of the good normals around a pixel, in the first window in which it faces the camera."""
    while width // 2 < max(good.shape):
        around = [normals[p] for p in window_of(pixel, width, good.shape) if good[p]]
        if around and np.linalg.norm(np.sum(around, axis=0)) > 1e-6:
            mean = np.sum(around, axis=0) / np.linalg.norm(np.sum(around, axis=0))
            if mean @ rays[pixel] < 0:
                return mean
        width += 2
    return None


@given(SEED, st.integers(0, SIZE[0]), st.integers(0, SIZE[1]))
def test_where_borders_are_joined_it_does_not_matter_where_they_are(seed, down, right):
    normals, mask, rays, _ = random_map(seed, away=0.4)
    options = Preprocessing("average", outlier_ratio=0.75)

    def prepared(normals, mask, rays):
        return prepare_normals(normals, mask, rays, options, joined=(True, True))[:2]

    def moved(image):
        return np.roll(image, (down, right), axis=(0, 1))

    for found, expected in zip(
        prepared(*map(moved, (normals, mask, rays))), prepared(normals, mask, rays), strict=True
    ):
        np.testing.assert_array_equal(found, moved(expected))


def test_around_a_narrow_texture_no_normal_counts_twice():
    unit = np.array([[[0.6, 0.0, -0.8], [0.0, 0.0, 1.0], [0.0, 0.6, -0.8], [0.0, -0.8, -0.6]]])
    repair = np.array([[False, True, False, False]])
    mean = unit[~repair].sum(axis=0)
    rays = np.broadcast_to([0.0, 0.0, 1.0], unit.shape)
    assert average_neighbours(unit, rays, ~repair, repair, 2, (False, True)) == 0
    np.testing.assert_allclose(unit[0, 1], mean / np.linalg.norm(mean))


@pytest.mark.parametrize("axis", [0, 1])
def test_a_texture_is_repaired_across_the_borders_that_are_joined(axis):
    rng = np.random.default_rng(0)
    normals = rng.normal(0.0, 0.3, (12, 20, 3)) - [0.0, 0.0, 1.0]
    normals[(0, 3), (19, 0), 2] = 1.0

    def repaired(image, periodic):
        method = RayPlane(preprocessing=Preprocessing("average"))
        return assemble(image, Orthographic(), periodic=periodic, method=method).unit_normals

    for joined in (0, 1):
        periodic = joined == 0, joined == 1
        moved = repaired(np.roll(normals, 5, axis), periodic)
        same = np.array_equal(moved, np.roll(repaired(normals, periodic), 5, axis))
        assert same == (joined == axis)


def test_a_panorama_is_repaired_across_its_seam():
    camera = Equirectangular.full(12, 24)
    normals = -camera.rays(12, 24)
    normals[6, 0] *= -1
    normals[6, 23] = normals[6, 22]  # beyond the seam, as seen from the first column
    found = assemble(normals, camera, method=RayPlane()).unit_normals[6, 0]
    beside = assemble(normals[:, :-1], camera.crop(0, 0, 23, 12), method=RayPlane())
    assert np.linalg.norm(found - beside.unit_normals[6, 0]) > 1e-3


@given(SEED)
def test_missing_normals_and_rays_leave_the_mask_and_are_counted(seed):
    normals, mask, rays, rng = random_map(seed)
    kinds = rng.integers(0, 6, SIZE)
    normals[kinds == 0] = np.nan
    normals[kinds == 1, 1] = np.nan
    normals[kinds == 2] = 0.0
    normals[kinds == 3, 0] = np.inf
    rays[rng.random(SIZE) < 0.2] = np.nan
    missing, blind = kinds <= 3, np.isnan(rays[..., 0])
    kept = mask & ~missing & ~blind
    if not kept.any():
        return
    unit, inside, report = prepare_normals(normals, mask, rays, KEEP)
    np.testing.assert_array_equal(inside, kept)
    assert report == PreprocessReport(
        pixels=int(mask.sum()),
        without_normal=int((mask & missing).sum()),
        without_ray=int((mask & ~missing & blind).sum()),
        facing_away=0,
        averaged=0,
        dropped=0,
        outliers=0,
    )
    assert np.isnan(unit[~inside]).all()
    np.testing.assert_allclose(unit[inside], normals[inside], rtol=1e-12)


@fewer_examples(2)
@given(SEED)
def test_normals_of_any_length_become_unit_vectors(seed):
    normals, mask, rays, rng = random_map(seed)
    lengths = 10.0 ** rng.uniform(-8, 8, (*SIZE, 1))
    unit, inside, _ = prepare_normals(lengths * normals, mask, rays, KEEP)
    np.testing.assert_allclose(unit[inside], normals[inside], rtol=1e-12)


def test_anything_may_stand_outside_of_the_mask():
    normals, _, rays, _ = random_map(3)
    mask = np.zeros(SIZE, dtype=bool)
    mask[3:6, 3:6] = True
    expected = prepare_normals(normals, mask, rays, KEEP)[0]
    for junk in (np.nan, np.inf, 1e300, 0.0, -7.0):
        spoilt = np.where(mask[..., None], normals, junk)
        np.testing.assert_array_equal(prepare_normals(spoilt, mask, rays, KEEP)[0], expected)


@pytest.mark.parametrize("options", [KEEP, Preprocessing("average", 0.75), Preprocessing("drop")])
@pytest.mark.parametrize("form", ["float32", "read-only", "strided", "fortran"])
def test_inputs_of_any_form_are_not_modified(options, form):
    normals, mask, rays, _ = random_map(5, away=0.1)
    if form == "float32":
        given_normals = normals.astype(np.float32)
    elif form == "strided":
        given_normals = np.repeat(np.repeat(normals, 2, axis=0), 3, axis=1)[::2, ::3]
    elif form == "fortran":
        given_normals = np.asfortranarray(normals)
    else:
        given_normals = normals.copy()
        for array in (given_normals, mask, rays):
            array.flags.writeable = False
    before = given_normals.copy(), mask.copy(), rays.copy()
    unit, inside, _ = prepare_normals(given_normals, mask, rays, options)
    for array, copy in zip((given_normals, mask, rays), before, strict=True):
        np.testing.assert_array_equal(array, copy)
    assert unit.dtype == np.float64
    assert not np.shares_memory(inside, mask)
    expected = prepare_normals(normals, mask, rays, options)[0]
    np.testing.assert_allclose(unit, expected, atol=1e-6 if form == "float32" else 0)


@given(SEED, st.floats(0.0, 0.6))
def test_keep_leaves_them_and_drop_takes_them_out(seed, fraction):
    normals, mask, rays, _ = random_map(seed, away=fraction)
    away = mask & (incidence_of(normals, rays) >= 0)
    unit, inside, report = prepare_normals(normals, mask, rays, KEEP)
    np.testing.assert_array_equal(inside, mask)
    np.testing.assert_allclose(unit[away], normals[away], rtol=1e-12)
    assert (report.facing_away, report.dropped) == (away.sum(), 0)
    if away.sum() == mask.sum():
        return
    _, inside, report = prepare_normals(normals, mask, rays, Preprocessing("drop"))
    np.testing.assert_array_equal(inside, mask & ~away)
    assert (report.facing_away, report.dropped) == (away.sum(), away.sum())


def test_normals_at_a_right_angle_cannot_be_seen():
    rays = np.tile([0.0, 0.0, 1.0], (1, 2, 1))
    normals = np.array([[[1.0, 0.0, 0.0], [0.0, 0.0, -1.0]]])
    mask = np.ones((1, 2), dtype=bool)
    assert prepare_normals(normals, mask, rays, KEEP)[2].facing_away == 1


@given(SEED, st.floats(0.0, 0.95), st.sampled_from([3, 5]), st.floats(0.2, 1.5))
def test_averages_are_those_of_a_plain_loop(seed, fraction, width, spread):
    normals, mask, rays, _ = random_map(seed, away=fraction, spread=spread)
    away = mask & (incidence_of(normals, rays) >= 0)
    good = mask & ~away
    if not good.any():
        return
    options = Preprocessing("average", average_window=width)
    unit, inside, report = prepare_normals(normals, mask, rays, options)
    failed = 0
    for pixel in map(tuple, np.argwhere(away)):
        expected = average_by_hand(normals, rays, good, pixel, width)
        failed += expected is None
        assert inside[pixel] == (expected is not None)
        if expected is not None:
            np.testing.assert_allclose(unit[pixel], expected, atol=1e-9)
    np.testing.assert_allclose(unit[good], normals[good], rtol=1e-12)
    assert (incidence_of(unit, rays)[inside] < 0).all(), "what was averaged faces the camera"
    assert report.facing_away == away.sum()
    assert (report.averaged, report.dropped) == (away.sum() - failed, failed)


def test_the_window_grows_until_something_is_in_it():
    rays = np.tile([0.0, 0.0, 1.0], (1, 9, 1))
    normals = np.tile([0.0, 0.0, 1.0], (1, 9, 1))
    normals[0, 0] = 0.0, 0.6, -0.8
    unit, inside, report = prepare_normals(
        normals, np.ones((1, 9), dtype=bool), rays, Preprocessing("average")
    )
    assert inside.all()
    assert report.averaged == 8
    np.testing.assert_allclose(unit, np.tile([0.0, 0.6, -0.8], (1, 9, 1)), atol=1e-12)


def test_the_window_grows_until_the_mean_faces_the_camera():
    # The right neighbour faces its own ray, but its normal faces away from the ray in the middle.
    rays = np.array([[[-1.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0]]])
    normals = np.array([[[0.0, 0.0, -1.0], [0.0, 0.0, 1.0], [-0.8, 0.0, 0.6]]])
    mask = np.array([[True, True, True]])
    assert normals[0, 2] @ rays[0, 2] < 0 < normals[0, 2] @ rays[0, 1]
    without_left = mask & [[False, True, True]]
    _, inside, report = prepare_normals(normals, without_left, rays, Preprocessing("average"))
    assert inside.tolist() == [[False, False, True]], "no window holds a mean that can be seen"
    assert report.dropped == 1
    wide = np.concatenate((rays[:, :1], rays), axis=1)
    far = np.concatenate((normals[:, :1], np.full((1, 1, 3), np.nan), normals[:, 1:]), axis=1)
    unit, inside, report = prepare_normals(
        far, np.ones((1, 4), dtype=bool), wide, Preprocessing("average")
    )
    assert (report.averaged, report.dropped, report.without_normal) == (1, 0, 1)
    mean = normals[0, 0] + normals[0, 2]
    np.testing.assert_allclose(unit[0, 2], mean / np.linalg.norm(mean), atol=1e-12)


@given(SEED, st.floats(0.1, 0.9), st.sampled_from([3, 5, 7]), st.floats(0.0, 0.3))
def test_the_outlier_rule_is_that_of_a_plain_loop(seed, ratio, width, fraction):
    normals, mask, rays, _ = random_map(seed, away=fraction, spread=1.6)
    incidence = incidence_of(normals, rays)
    away = mask & (incidence >= 0)
    odd = np.zeros(SIZE, dtype=bool)
    for pixel in map(tuple, np.argwhere(mask & ~away)):
        around = [abs(incidence[p]) for p in window_of(pixel, width, SIZE) if mask[p]]
        odd[pixel] = abs(abs(incidence[pixel]) - np.mean(around)) > ratio * np.mean(around)
    good = mask & ~away & ~odd
    if not good.any():
        return
    options = Preprocessing("keep", outlier_ratio=ratio, outlier_window=width)
    unit, inside, report = prepare_normals(normals, mask, rays, options)
    assert report.outliers == odd.sum()
    for pixel in map(tuple, np.argwhere(odd)):
        expected = average_by_hand(normals, rays, good, pixel, 3)
        assert inside[pixel] == (expected is not None)
        if expected is not None:
            np.testing.assert_allclose(unit[pixel], expected, atol=1e-9)
    np.testing.assert_allclose(unit[mask & ~odd], normals[mask & ~odd], rtol=1e-12)


def turned_away(fraction: float, count: int = 1000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A map of which exactly this fraction faces away."""
    rays = np.tile([0.0, 0.0, 1.0], (1, count, 1))
    normals = -rays
    normals[0, : round(fraction * count)] *= -1
    return normals, np.ones((1, count), dtype=bool), rays


@pytest.mark.parametrize("fraction", [0.0, 0.01])
def test_a_few_that_face_away_are_no_reason_to_speak(fraction):
    assert prepare_normals(*turned_away(fraction), Preprocessing())[2].facing_away == 10 * (
        100 * fraction
    )


@pytest.mark.parametrize(("fraction", "percent"), [(0.011, 1.1), (0.2, 20)])
def test_more_than_one_percent_is_a_warning(fraction, percent):
    with pytest.warns(IntegrationWarning, match=rf"^{percent} % .*1 %"):
        _, inside, report = prepare_normals(*turned_away(fraction), Preprocessing())
    assert inside.all()
    assert report.facing_away == 1000 * fraction


@pytest.mark.parametrize("mode", ["keep", "average", "drop"])
def test_who_chose_what_to_do_is_not_warned(mode):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prepare_normals(*turned_away(0.5, count=50), Preprocessing(mode))


def test_more_than_twenty_percent_is_an_error():
    with pytest.raises(InputError, match=r"21 % .*1 %"):
        prepare_normals(*turned_away(0.21), Preprocessing())


def test_what_the_messages_advise_can_be_pasted():
    with pytest.raises(InputError) as caught:
        prepare_normals(*turned_away(0.21), Preprocessing())
    with pytest.warns(IntegrationWarning) as warned:
        prepare_normals(*turned_away(0.19), Preprocessing())
    for text in (str(caught.value), str(warned[0].message)):
        (code,) = re.findall(r"give the method preprocessing=(rayrelief.*?) \(--facing-away", text)
        prepare_normals(*turned_away(0.21), eval(code, {"rayrelief": rayrelief}))


@pytest.mark.parametrize("convention", [name for name in CONVENTIONS if name != "opencv"])
def test_the_error_names_the_convention_that_would_fit(convention):
    rng = np.random.default_rng(2)
    rays = random_rays(rng, 20, 20)
    # Tilted to one side, so that each convention fits itself alone.
    normals = -rays + (0.8, 1.5, 0.0)
    normals[:10] = -rays[:10] + (-0.9, -1.4, 0.0)
    normals[(normals * rays).sum(axis=-1) >= 0] = (0.0, 0.0, -1.0)
    foreign = from_opencv(normals, convention)
    with pytest.raises(InputError) as caught:
        prepare_normals(foreign, np.ones((20, 20), dtype=bool), rays, Preprocessing())
    assert repr(convention) in str(caught.value)
    assert "to_opencv(normals, " in str(caught.value)
    assert "facing_away" in str(caught.value)


@pytest.mark.parametrize("convention", ["opengl", "dsine", "directx"])
def test_of_conventions_that_face_the_camera_the_curl_tells_the_right_one(convention):
    scene = tori(60, 80)
    foreign, rays = from_opencv(scene.normals, convention), scene.camera.rays(60, 80)
    with pytest.raises(InputError, match=f"fit the axes of '{convention}': convert"):
        prepare_normals(foreign, scene.mask, rays, Preprocessing(), scene.camera)


def test_world_normals_fit_no_convention():
    rng = np.random.default_rng(2)
    normals = rng.normal(size=(20, 20, 3))
    rays = random_rays(rng, 20, 20)
    with pytest.raises(InputError, match="world-space"):
        prepare_normals(normals, np.ones((20, 20), dtype=bool), rays, Preprocessing())


def test_nothing_left_is_an_error_that_says_why():
    normals, mask, rays, _ = random_map(1)
    with pytest.raises(InputError, match=rf"{mask.sum()} have no normal"):
        prepare_normals(0 * normals, mask, rays, KEEP)
    with pytest.raises(InputError, match=rf"{mask.sum()} no ray"):
        prepare_normals(normals, mask, np.nan * rays, KEEP)
    for mode in ("drop", "average"):
        with pytest.raises(InputError, match="convention"):
            prepare_normals(-normals, mask, rays, Preprocessing(mode))


def test_notes_say_what_happened_and_nothing_else():
    report = PreprocessReport(
        pixels=5000,
        without_normal=1200,
        without_ray=0,
        facing_away=7,
        averaged=6,
        dropped=1,
        outliers=0,
    )
    notes = report.notes()
    counts = ("1,200", "7", "6", "1")
    assert [note.split()[0] for note in notes] == [*counts], "what is 0 is not told"
    assert notes[-1].startswith("1 pixel was excluded")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"facing_away": "flip"}, "facing_away is 'flip'.*'keep', 'average' or 'drop'"),
        ({"average_window": 4}, "average_window is 4.*odd"),
        ({"outlier_window": 1}, "outlier_window is 1.*odd"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        Preprocessing(**options)


@pytest.mark.parametrize("scale", [1e300, 1e-300, 1e-6, 7.0])
def test_only_the_direction_of_a_normal_counts(scale):
    normals = np.tile([0.1, -0.2, -1.0], (4, 5, 1))
    rays = np.tile([0.0, 0.0, 1.0], (4, 5, 1))
    mask = np.ones((4, 5), dtype=bool)
    unit, inside, report = prepare_normals(scale * normals, mask, rays, Preprocessing())
    assert inside.all()
    assert report.without_normal == 0
    np.testing.assert_allclose(unit, normals / np.linalg.norm(normals[0, 0]), rtol=1e-14)


@given(SEED, st.integers(1, 60), st.floats(0.05, 1.1), st.sampled_from([np.float32, np.float64]))
def test_blocks_of_rows_leave_no_trace(seed, block, density, dtype):
    normals, _, rays, rng = random_map(seed, away=0.1)
    normals[rng.random(SIZE) < 0.1] = np.nan
    normals[rng.random(SIZE) < 0.1] *= 1e30
    rays[rng.random(SIZE) < 0.1] = np.nan
    mask = random_mask(rng, *SIZE, density=density)
    usable = tuple(np.argwhere(mask)[0])
    normals[usable], rays[usable] = (0.0, 0.0, -1.0), (0.0, 0.0, 1.0)
    whole = prepare_normals(normals.astype(dtype), mask, rays, KEEP)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preprocess, "PIXELS_AT_A_TIME", block)
        parts = prepare_normals(normals.astype(dtype), mask, rays, KEEP)
    np.testing.assert_allclose(parts[0], whole[0], rtol=1e-15)
    np.testing.assert_array_equal(parts[1], whole[1])
    assert parts[2] == whole[2]
    np.testing.assert_allclose(np.linalg.norm(whole[0][whole[1]], axis=-1), 1, rtol=1e-14)
    assert np.isnan(whole[0][~whole[1]]).all()


def test_a_large_hole_is_filled_like_by_a_plain_loop():
    normals, mask, rays, _ = random_map(17, size=(34, 41), spread=1.0)
    normals[8:27, 6:33] *= -1
    away = mask & (incidence_of(normals, rays) >= 0)
    unit, inside, report = prepare_normals(normals, mask, rays, Preprocessing("average"))
    assert report.averaged == away.sum() > 400
    np.testing.assert_array_equal(inside, mask)
    for pixel in map(tuple, np.argwhere(away)):
        expected = average_by_hand(normals, rays, mask & ~away, pixel, 3)
        np.testing.assert_allclose(unit[pixel], expected, atol=1e-12)


def test_means_do_not_lose_digits_in_long_images():
    # Sums over a million pixels are differences of large numbers.
    count = 1_000_000
    rays = np.broadcast_to([0.0, 0.0, 1.0], (1, count, 3))
    normals = np.empty((1, count, 3))
    normals[:] = 0.0, 0.6, -0.8
    normals[0, -1] = 0.6, 0.0, -0.8
    normals[0, -2] = 0.0, 0.0, 1.0
    mask = np.ones((1, count), dtype=bool)
    unit, _, report = prepare_normals(normals, mask, rays, Preprocessing("average"))
    assert report.averaged == 1
    mean = np.array([0.6, 0.6, -1.6])
    np.testing.assert_allclose(unit[0, -2], mean / np.linalg.norm(mean), atol=1e-11)


def test_normals_that_no_window_can_mend_are_dropped():
    # All good normals face away from the rays on the right, however wide the window.
    rays = np.zeros((3, 60, 3))
    rays[..., 2] = 1.0
    rays[:, 30:, 0] = 5.0
    normals = np.zeros((3, 60, 3))
    normals[:, :30] = 0.6, 0.0, -0.8
    normals[:, 30:] = 0.0, 0.0, 1.0
    mask = np.ones((3, 60), dtype=bool)
    _, inside, report = prepare_normals(normals, mask, rays, Preprocessing("average"))
    np.testing.assert_array_equal(inside, np.broadcast_to(np.arange(60) < 30, (3, 60)))
    assert (report.facing_away, report.averaged, report.dropped) == (90, 0, 90)


def test_normals_that_face_away_are_averaged_unless_told_otherwise():
    given = turned_away(0.005)
    normals, inside, report = prepare_normals(*given, Preprocessing())
    averaged, *_ = prepare_normals(*given, Preprocessing(facing_away="average"))
    np.testing.assert_array_equal(normals, averaged)
    assert report.averaged == report.facing_away > 0
    assert inside.all()


def test_planes_on_edge_face_away():
    rays = np.tile([0.0, 0.0, 1.0], (11, 11, 1))
    normals = -rays
    normals[2, 2] = (1.0, 0.0, -1e-17)  # the slope of its plane would be 1e17
    repaired, _, report = prepare_normals(normals, np.ones((11, 11), bool), rays, Preprocessing())
    assert report.averaged == 1
    np.testing.assert_allclose(repaired[2, 2], (0.0, 0.0, -1.0), atol=1e-12)
