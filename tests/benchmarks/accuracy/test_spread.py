"""Perturbed inputs, and the tables over them."""

from __future__ import annotations

import csv
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rayrelief
from benchmarks.accuracy.experiments import MADE
from benchmarks.accuracy.inputs import Source, moved
from benchmarks.accuracy.perturbations import (
    HALF_STEP,
    HALF_TURNED,
    PERTURBATIONS,
    ROUNDED,
    UNPERTURBED,
    Perturbation,
    quarter_turned,
    with_rounding_noise,
)
from benchmarks.accuracy.perturbed import perturbed_truths
from benchmarks.accuracy.settings import Settings
from benchmarks.accuracy.spread import sheet_of_spreads, spread_summary, spread_text
from benchmarks.accuracy.tables import Scored, printed_range
from benchmarks.diligent import shifted
from rayrelief.evaluation.metrics import depth_errors
from rayrelief.synthetic import gallery

HEIGHT, WIDTH = 9, 11
# Sums and quotients of these are exact.
EXACT_CAMERA = rayrelief.cameras.Pinhole(16.0, 8.0, 5.25, 3.875, size=(WIDTH, HEIGHT))


def scene_of(camera: rayrelief.cameras.Pinhole = EXACT_CAMERA) -> rayrelief.Scene:
    return gallery.sphere(HEIGHT, WIDTH, camera)


def turned_vectors(vectors: np.ndarray) -> np.ndarray:
    """The turn of an image of vectors, pixel by pixel: the slow, obvious version."""
    height, width = vectors.shape[:2]
    found = np.empty((width, height, 3))
    for v in range(height):
        for u in range(width):
            x, y, z = vectors[v, u]
            found[width - 1 - u, v] = y, -x, z
    return found


def scored(printed: str, *made: float, row: str = "row", column: str = "bear") -> Scored:
    return Scored(row, column, printed, made, {})


def test_names_are_unique() -> None:
    assert len({each.name for each in PERTURBATIONS}) == len(PERTURBATIONS)
    assert len({replace(each, name="") for each in PERTURBATIONS}) == len(PERTURBATIONS)


def test_names_tell_what_is_done() -> None:
    for each in PERTURBATIONS:
        assert (each.rounding_seed is None) == ("rounding noise" not in each.name)
        assert f"{90 * each.quarter_turns} degrees" in each.name or each.quarter_turns == 0
        shift = "principal point moved by ({:g}, {:g})".format(*each.shift)
        assert each.name == shift or not any(each.shift)


def test_quarter_turn_takes_rays_and_normals_along_exactly() -> None:
    scene = scene_of()
    turned = quarter_turned(scene)
    rays = turned.camera.rays(WIDTH, HEIGHT)
    np.testing.assert_array_equal(rays, turned_vectors(EXACT_CAMERA.rays(HEIGHT, WIDTH)))
    np.testing.assert_array_equal(turned.normals, turned_vectors(scene.normals))
    assert turned.camera.resolution == (HEIGHT, WIDTH)
    assert turned.depth is not None
    np.testing.assert_array_equal(np.isfinite(turned.depth), turned.mask)


@given(
    fx=st.floats(5, 5000),
    fy=st.floats(5, 5000),
    cx=st.floats(-WIDTH, 2 * WIDTH),
    cy=st.floats(-HEIGHT, 2 * HEIGHT),
)
def test_turned_camera_sees_the_turned_rays(fx: float, fy: float, cx: float, cy: float) -> None:
    scene = replace(scene_of(), camera=rayrelief.cameras.Pinhole(fx, fy, cx, cy))
    rays = quarter_turned(scene).camera.rays(WIDTH, HEIGHT)
    expected = turned_vectors(scene.camera.rays(HEIGHT, WIDTH))
    np.testing.assert_allclose(rays, expected, rtol=0, atol=1e-13 * WIDTH)


def test_four_quarter_turns_change_nothing() -> None:
    scene = scene_of()
    turned = Perturbation("around", quarter_turns=4).applied_to(scene)
    assert turned.camera == scene.camera
    np.testing.assert_array_equal(turned.normals, scene.normals)
    np.testing.assert_array_equal(turned.mask, scene.mask)
    np.testing.assert_array_equal(turned.depth, scene.depth)


@pytest.mark.parametrize("turns", [1, 2, 3])
@pytest.mark.parametrize("shape", ["plane", "sphere"])
def test_turned_map_has_the_same_error(shape: str, turns: int) -> None:
    noise = Perturbation("noise", rounding_seed=7)  # errors well above those of rounding
    straight = noise.applied_to(getattr(gallery, shape)(HEIGHT, WIDTH))
    exact = rayrelief.RayPlane(solver=rayrelief.Multigrid(rtol=1e-12))
    errors = []
    for scene in (straight, Perturbation("turned", quarter_turns=turns).applied_to(straight)):
        assert scene.depth is not None
        result = rayrelief.integrate(scene.normals, scene.camera, mask=scene.mask, method=exact)
        errors.append(depth_errors(result.depth, scene.depth, "scale").made)
    assert errors[1] == pytest.approx(errors[0], rel=1e-6)
    assert errors[0] > 1e-7


@settings(deadline=None)
@given(seed=st.integers(0, 99))
def test_rounding_noise_stays_within_half_a_step(seed: int) -> None:
    assert pytest.approx(0.5 / 32767.5) == HALF_STEP  # of a component from -1 to 1 in 16 bits
    normals = np.where(scene_of().mask[..., None], scene_of().normals, np.nan)
    noisy = with_rounding_noise(normals, np.random.default_rng(seed))
    inside = np.isfinite(normals).all(axis=-1)
    np.testing.assert_array_equal(np.isfinite(noisy).all(axis=-1), inside)
    np.testing.assert_allclose(np.linalg.norm(noisy[inside], axis=-1), 1.0, rtol=1e-15)
    away = np.linalg.norm(noisy - normals, axis=-1)[inside]
    assert 0.3 * HALF_STEP < away.max() <= math.sqrt(3) * HALF_STEP * (1 + 1e-4)
    again = with_rounding_noise(normals, np.random.default_rng(seed))
    np.testing.assert_array_equal(again, noisy)


def test_shift_moves_the_principal_point_alone() -> None:
    scene = scene_of()
    camera = shifted(scene, 0.25, -0.5).camera
    assert camera == replace(EXACT_CAMERA, cx=5.5, cy=3.375)
    assert moved(scene).camera == replace(EXACT_CAMERA, cy=4.625)


@pytest.mark.parametrize(
    "camera",
    [rayrelief.cameras.Orthographic(), replace(EXACT_CAMERA, skew=0.5)],
    ids=["orthographic", "skew"],
)
@pytest.mark.parametrize("change", [HALF_TURNED, Perturbation("moved", shift=(0.0, 0.1))])
def test_camera_that_cannot_be_changed_is_refused(
    camera: rayrelief.cameras.Camera, change: Perturbation
) -> None:
    with pytest.raises(SystemExit, match="sphere has no Pinhole camera without skew"):
        change.applied_to(replace(scene_of(), camera=camera))


def test_source_is_perturbed(data) -> None:
    plain, turned = Source("cow").scene(), Source("cow", perturbation=HALF_TURNED).scene()
    np.testing.assert_array_equal(turned.mask, plain.mask[::-1, ::-1])
    np.testing.assert_array_equal(turned.normals, plain.normals[::-1, ::-1] * [-1, -1, 1])
    noisy = Source("cow", perturbation=ROUNDED).scene()
    assert (noisy.normals[plain.mask] != plain.normals[plain.mask]).any()
    assert Source("cow", perturbation=UNPERTURBED) == Source("cow")


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("0.07", 0.065, 0.075), ("14.40", 14.395, 14.405), ("<10^-2", 0, 0.01)],
)
def test_print_stands_for_a_range(text: str, low: float, high: float) -> None:
    assert printed_range(text) == pytest.approx((low, high))


@pytest.mark.parametrize(
    ("made", "within"),
    [
        ((0.3, 0.5, 0.4), True),
        ((0.45, 0.46), False),
        ((0.401, 0.404), True),  # printed as 0.40
        ((0.30, 0.396), True),
        ((0.30, 0.394), False),
        ((0.3, math.nan, 0.5), False),
    ],
)
def test_print_lies_within_the_spread(made: tuple[float, ...], within: bool) -> None:
    assert scored("0.40", *made).print_within is within


def test_text_tells_median_and_extremes_and_marks_the_print() -> None:
    assert spread_text(scored("0.40", 0.5, 0.3, 0.41)) == "0.410 (0.300 to 0.500) / **0.40**"
    assert spread_text(scored("0.90", 0.5, 0.3, 0.41)) == "0.410 (0.300 to 0.500) / 0.90"
    assert spread_text(scored("-", 0.5, 0.3, 0.41)) == "0.410 (0.300 to 0.500) / -"
    assert spread_text(scored("0.90", 0.5, math.nan)) == "- (- to -) / 0.90"


def test_summary_counts_medians_and_spreads() -> None:
    count = len(PERTURBATIONS)
    wide = (0.1, *[0.5] * (count - 1))
    cells = [
        scored("0.55", *[0.5] * count),  # the median alone
        scored("0.20", *wide),  # the spread alone
        scored("0.49", *wide),  # both
        scored("0.90", *wide),
        scored("0.50", *wide, column="goblet"),
        scored("-", *wide),
    ]
    table = spread_summary([sheet_of_spreads("gamma", "", cells)], "again").table
    counts = (5, 3, 3, 4, 4, 3)  # as they are, all but the first are off
    assert table.rows == (("gamma", *counts), ("all", *counts))


def test_run_that_ended_badly_is_told_with_its_input() -> None:
    made = (0.5,) * len(PERTURBATIONS)
    cell = replace(scored("0.50", *made), failures={1: "it ended badly"})
    notes = sheet_of_spreads("gamma", "", [cell]).table.notes
    assert notes[-1] == f"row, bear, {PERTURBATIONS[1].name}: it ended badly"
    assert sum("badly" in note for note in notes) == 1


@pytest.mark.parametrize("change", [*PERTURBATIONS, HALF_TURNED], ids=lambda each: each.name)
def test_true_depth_is_turned_as_the_map_is(change: Perturbation) -> None:
    scene = scene_of()
    depth = np.arange(scene.mask.size, dtype=float).reshape(scene.mask.shape)
    scene = replace(scene, depth=depth)
    found = perturbed_truths({"cow": scene}, [change], Settings())
    expected = change.applied_to(scene).depth
    assert expected is not None
    np.testing.assert_array_equal(found[Source("cow", perturbation=change)], expected)


def test_spread_of_a_table(run, results, written, predicted, capsys) -> None:
    run("gamma", "--objects", "harvest,cow")
    of_table = len(predicted)
    assert run("--spread", "gamma", "--objects", "harvest,cow") == 0
    assert len(predicted) == len(set(predicted)) == of_table * len(PERTURBATIONS)
    assert (
        "Again: `python -m benchmarks.accuracy --spread gamma --objects" in capsys.readouterr().out
    )

    files, count = written(results), len(predicted)
    stem = "gamma-harvest-cow-16_iterations"
    names = (f"{stem}.md", f"{stem}.csv", f"summary-{stem}.csv")
    assert {f"paper-spread-{name}" for name in names} < set(files)
    page = files[f"paper-spread-{stem}.md"].decode()
    command = "python -m benchmarks.accuracy --spread gamma --objects harvest,cow"
    assert page.startswith(f"# The tables of MADE over perturbed inputs\n\n`{command} ")
    assert "## Cells of all objects whose median or spread meets the print" in page
    run("--spread", "gamma", "--objects", "harvest,cow")
    assert len(predicted) == count
    assert written(results) == files

    lines = list(csv.DictReader(files[f"paper-spread-{stem}.csv"].decode().splitlines()))
    single = list(csv.DictReader(files[f"paper-{stem}.csv"].decode().splitlines()))
    assert [line["ours"] for line in single] == [line[UNPERTURBED.name] for line in lines]
    for line in lines:
        made = sorted(float(line[each.name]) for each in PERTURBATIONS)
        found = [float(line[name]) for name in ("least", "median", "greatest")]
        assert found == [made[0], made[len(made) // 2], made[-1]]


def test_turned_maps_hand_over_turned_jumps(run, results, written, predicted) -> None:
    run("--spread", "made", "--objects", "harvest")
    text = written(results)["paper-spread-made-harvest-16_iterations.csv"].decode()
    (line,) = (row for row in csv.DictReader(text.splitlines()) if row["row"] == "known_jumps")
    assert float(line["greatest"]) < 0.01  # of a depth of about 3: with wrong jumps it is far off


def test_rows_without_a_number_of_ours_have_no_spread(run, results, written, predicted) -> None:
    run("--spread", "made", "--objects", "cow")
    text = written(results)["paper-spread-made-cow-16_iterations.csv"].decode()
    assert {line["row"] for line in csv.DictReader(text.splitlines())} == set(MADE["made"])


def test_table_without_spread_is_refused(run) -> None:
    with pytest.raises(SystemExit) as refusal:
        run("--spread", "outliers")
    assert (
        str(refusal.value) == f"unknown tables with --spread: outliers; there are {', '.join(MADE)}"
    )
