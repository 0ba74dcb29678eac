"""The coarse problem against what it stands for."""

import numpy as np
from numpy.testing import assert_allclose

from rayrelief.cameras import Orthographic
from rayrelief.large.coarse import Coarse
from rayrelief.large.joining import Member, lift
from rayrelief.large.layout import NODES, Layout
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
    moves = rng.normal(size=(job.first[-1], NODES**2))
    for number in range(len(layout)):
        block = layout.block(number)
        member = Member(block, block.whole, job.store.read("parts", number), np.ones(()))
        own = moves[job.first[number] : job.first[number + 1]]
        x = job.store.read(job.surface(sweep), number) + lift(job, member, own)
        job.store.write(job.surface(sweep + 1), number, x)
    asked = np.zeros((2, *moves.shape))
    product = np.zeros(moves.size)
    for number in range(len(layout)):
        for k in (0, 1):
            for block, values in job.balance(number, sweep + k):
                asked[k, job.first[block] : job.first[block + 1]] += values
        coupling = job.couple(number)
        np.add.at(product, coupling.first, coupling.value * moves.ravel()[coupling.second])
    assert_allclose((asked[0] - asked[1]).ravel(), product, atol=1e-9 * np.abs(product).max())


def test_moves_take_away_what_is_asked_of_the_nodes(in_memory, depth_of):
    normals = np.zeros((HEIGHT, WIDTH, 3))
    normals[..., 2] = -1.0
    mask, layout = np.ones((HEIGHT, WIDTH), bool), Layout.of(HEIGHT, WIDTH, 56, 8)
    camera = Orthographic(size=(WIDTH, HEIGHT))
    _, finished = depth_of(in_memory(normals, mask), camera, Smooth(), layout)
    job = finished.job
    couplings = [job.couple(number) for number in range(len(layout))]
    coarse = Coarse(couplings, job.first[-1])
    wanted = np.random.default_rng(1).normal(size=(job.first[-1], NODES**2))
    right = np.zeros(wanted.size)
    for coupling in couplings:
        np.add.at(right, coupling.first, coupling.value * wanted.ravel()[coupling.second])
    blocks = np.split(right.reshape(wanted.shape), job.first[1:-1])
    found = coarse.moves([[*enumerate(blocks)]], job.first)
    # The constant of the map is free.
    assert np.std(found - wanted) < 1e-4 * np.std(wanted)
