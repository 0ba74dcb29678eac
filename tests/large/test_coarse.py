"""The coarse problem against what it stands for."""

import numpy as np
from numpy.testing import assert_allclose

from rayrelief.cameras import Orthographic
from rayrelief.large import coarse, steps
from rayrelief.large.coarse import Coarse
from rayrelief.large.joining import Member, lift, unknowns_of
from rayrelief.large.layout import Layout
from rayrelief.methods import Smooth

HEIGHT, WIDTH = 90, 70


def test_its_matrix_is_what_moves_change_about_the_residual(in_memory, depth_of):
    """Z^T A Z, by surfaces that are moved: parts that bend, and small ones that are lifted."""
    rng = np.random.default_rng(0)
    slopes = 0.2 * rng.normal(size=(HEIGHT, WIDTH, 2))
    normals = np.concatenate((slopes, -np.ones((HEIGHT, WIDTH, 1))), axis=-1)
    mask = np.ones((HEIGHT, WIDTH), bool)
    mask[10:21, 10:21] = False
    mask[12:19, 12:19] = True  # an island
    layout = Layout.of(HEIGHT, WIDTH, 56, 8)
    source, camera = in_memory(normals, mask), Orthographic(size=(WIDTH, HEIGHT))
    _, finished = depth_of(source, camera, Smooth(connectivity=8), layout)
    job, sweep = finished.job, len(finished.changes)
    assert sum(job.bending) < job.first[-1]
    starts = np.cumsum([0, *(unknowns_of(job, number) for number in range(len(layout)))])
    moves = rng.normal(size=starts[-1])
    for number in range(len(layout)):
        block = layout.block(number)
        member = Member(block, block.whole, job.store.read("parts", number), np.ones(()))
        own = moves[starts[number] : starts[number + 1]]
        moved = lift(job, member, (np.arange(len(own)), own))
        x = job.store.read(job.surface(sweep), number) + moved
        job.store.write(job.surface(sweep + 1), number, x)
    asked = np.zeros((2, len(moves)))
    product = np.zeros(moves.size)
    for number in range(len(layout)):
        for k in (0, 1):
            for owner, which, values in steps.balance(job, number, sweep + k):
                asked[k, starts[owner] + which] += values
        coupling = steps.couple(job, number)
        np.add.at(product, coupling.first, coupling.value * moves[coupling.second])
    assert_allclose(asked[0] - asked[1], product, atol=1e-9 * np.abs(product).max())


def test_what_moves_both_pixels_alike_has_no_say():
    at, by = np.array([4, 7, 2]), np.array([1e-16, 0.5, -3e-17])
    assert coarse._differing.py_func(at, by, 3) == 1
    assert (at[0], by[0]) == (7, 0.5)


def test_a_matrix_is_the_same_in_smaller_pieces(in_memory, depth_of, monkeypatch):
    normals = np.zeros((HEIGHT, WIDTH, 3))
    normals[..., 2] = -1.0
    mask, layout = np.ones((HEIGHT, WIDTH), bool), Layout.of(HEIGHT, WIDTH, 56, 8)
    camera = Orthographic(size=(WIDTH, HEIGHT))
    _, finished = depth_of(in_memory(normals, mask), camera, Smooth(), layout)
    whole = steps.couple(finished.job, 0)
    counts: list[int] = []

    def counted(*args):
        met, matrix, done = galerkin(*args)
        counts.append(len(met))
        return met, matrix, done

    galerkin = coarse._galerkin
    monkeypatch.setattr(coarse, "_galerkin", counted)
    monkeypatch.setattr(coarse, "MOST", 100)
    pieces = steps.couple(finished.job, 0)
    assert len(counts) > 1
    assert max(counts) <= 100
    assert_allclose(pieces.first, whole.first)
    assert_allclose(pieces.second, whole.second)
    assert_allclose(pieces.value, whole.value, atol=1e-12 * np.abs(whole.value).max())


def test_moves_take_away_what_is_asked_of_the_nodes(in_memory, depth_of):
    normals = np.zeros((HEIGHT, WIDTH, 3))
    normals[..., 2] = -1.0
    mask, layout = np.ones((HEIGHT, WIDTH), bool), Layout.of(HEIGHT, WIDTH, 56, 8)
    camera = Orthographic(size=(WIDTH, HEIGHT))
    _, finished = depth_of(in_memory(normals, mask), camera, Smooth(), layout)
    job = finished.job
    couplings = [steps.couple(job, number) for number in range(len(layout))]
    problem = Coarse(couplings, job)
    counts = [unknowns_of(job, number) for number in range(len(layout))]
    wanted = np.random.default_rng(1).normal(size=sum(counts))
    right = np.zeros(wanted.size)
    for coupling in couplings:
        np.add.at(right, coupling.first, coupling.value * wanted[coupling.second])
    blocks = np.split(right, np.cumsum(counts)[:-1])
    asked = [(n, np.arange(len(block)), block) for n, block in enumerate(blocks)]
    found = problem.moves([asked])
    # The constant of the map is free.
    assert np.std(found - wanted) < 1e-4 * np.std(wanted)
