"""Blocks against the map in one piece."""

import shutil

import numpy as np
import pytest
from numpy.testing import assert_allclose

import rayrelief
from rayrelief.backends.cpu import CPU
from rayrelief.cameras import Equidistant, Orthographic
from rayrelief.errors import InputError, IntegrationWarning
from rayrelief.large import steps
from rayrelief.large.equations import EdgeImages, settled
from rayrelief.large.job import Job
from rayrelief.large.layout import Layout
from rayrelief.large.planning import side_for
from rayrelief.large.store import Store
from rayrelief.methods import Ordered, RayPlane, Smooth
from rayrelief.problem import assemble
from rayrelief.synthetic.crowd import crowd
from rayrelief.synthetic.gallery import overlapping_spheres
from rayrelief.synthetic.surroundings import wavy_room

HEIGHT, WIDTH = 150, 190


@pytest.fixture
def noisy():
    """Normals of a relief that no surface has exactly: with noise, and with a twist."""
    rng = np.random.default_rng(0)
    v, u = np.mgrid[:HEIGHT, :WIDTH] / 50.0
    slopes = 0.3 * np.sin(3 * u + v) + 0.05 * v, 0.3 * np.cos(2 * v) - 0.05 * u
    noise = 0.05 * rng.normal(size=(2, HEIGHT, WIDTH))
    return np.dstack((slopes[0] + noise[0], slopes[1] + noise[1], -np.ones((HEIGHT, WIDTH))))


def masked():
    """Two parts and a hole, with pixels that nothing joins."""
    mask = np.ones((HEIGHT, WIDTH), bool)
    mask[:, 118:121] = False
    mask[40:70, 30:60] = False
    mask[10, 150:] = mask[11, ::2] = False
    return mask


@pytest.mark.parametrize("connectivity", [4, 8])
def test_smooth_is_the_surface_in_one_piece(noisy, in_memory, depth_of, connectivity):
    camera, mask = Orthographic(size=(WIDTH, HEIGHT)), masked()
    method = Smooth(connectivity=connectivity)
    whole = rayrelief.integrate(noisy, camera, mask=mask, method=method)
    layout = Layout.of(HEIGHT, WIDTH, 80, 12)
    depth, finished = depth_of(in_memory(noisy, mask), camera, method, layout, tolerance=1e-6)
    assert finished.converged
    assert len(layout) >= 9
    assert len(finished.changes) <= 5
    large = np.isin(whole.components.labels, (0, 1))
    for label in (0, 1):
        part = whole.components.labels == label
        relief = np.std(whole.depth[part])
        assert np.std((depth - whole.depth)[part]) < 5e-6 * relief
        assert abs(np.median(depth[part])) < 1e-5 * relief
    assert np.isfinite(depth[large]).all()
    assert np.isnan(depth[~mask]).all()


def test_a_part_of_a_wide_view_has_other_rays(in_memory, depth_of):
    """In the middle of a fisheye z could be measured, beside it distances alone."""
    camera = Equidistant(45.0, 45.0, 79.5, 79.5, size=(160, 160))
    scene = wavy_room(160, 160, camera)
    whole = rayrelief.integrate(scene.normals, camera, mask=scene.mask, method=Smooth())
    layout = Layout.of(160, 160, 48, 6)
    depth, finished = depth_of(in_memory(scene.normals, scene.mask), camera, Smooth(), layout)
    assert finished.job.kind == whole.depth_kind == "distance"
    ratio = np.log(depth / whole.depth)
    assert np.nanstd(ratio) < 5e-5


def test_a_block_may_look_further_to_the_side_than_was_seen_of_the_map(
    in_memory, depth_of, monkeypatch
):
    monkeypatch.setattr("rayrelief.large.job.kind_of", lambda *_: "z")
    camera = Equidistant(75.0, 75.0, 79.5, 79.5, size=(160, 160))
    scene = wavy_room(160, 160, camera)
    whole = rayrelief.integrate(scene.normals, camera, mask=scene.mask, method=Smooth())
    layout = Layout.of(160, 160, 48, 6)
    depth, _ = depth_of(in_memory(scene.normals, scene.mask), camera, Smooth(), layout)
    assert whole.depth_kind == "distance"
    assert np.nanstd(np.log(depth / whole.points()[..., 2])) < 5e-5


@pytest.mark.parametrize("method", [Smooth(), Ordered()], ids=["smooth", "ordered"])
def test_a_method_that_stands_still_solves_its_settled_equations(method):
    """The last iterate is where the linear problem with its weights puts it."""
    scene = overlapping_spheres(64, 64)
    problem = assemble(scene.normals, scene.camera, mask=scene.mask, method=method)
    solution = method.solve(problem, CPU(1))
    images = EdgeImages.stacked(method.connectivity, settled(problem, solution))
    x = np.nan_to_num(problem.graph.scatter(solution.x))
    flux = np.zeros_like(x)
    for _, here, there, conductance, target in images.pairs():
        flux[here] += conductance * np.abs(target)
        flux[there] += conductance * np.abs(target)
    assert np.linalg.norm(images.residual(x)) < 2e-3 * np.linalg.norm(flux)


@pytest.mark.slow
def test_jumps_are_those_of_the_whole_map(in_memory, depth_of):
    scene = crowd(200, 260)
    camera = scene.camera.crop(0, 0, 260, 200)
    whole = rayrelief.integrate(scene.normals, camera, mask=scene.mask, method=Ordered())
    layout = Layout.of(200, 260, 160, 30)
    source = in_memory(scene.normals, scene.mask)
    depth, _ = depth_of(source, camera, Ordered(), layout)
    ratio = np.log(depth / whole.depth)
    # Of bodies that a border cuts, one may stand elsewhere.
    assert np.mean(np.abs(ratio - np.median(ratio))) < 2e-3


def test_what_is_done_is_not_done_again(noisy, in_memory, depth_of):
    camera, mask = Orthographic(size=(WIDTH, HEIGHT)), np.ones((HEIGHT, WIDTH), bool)
    layout = Layout.of(HEIGHT, WIDTH, 100, 12)
    straight, _ = depth_of(in_memory(noisy, mask), camera, Smooth(), layout)

    class KilledError(Exception):
        pass

    def kill_at(stage, number):
        def progress(name, done, _):
            if (name, done) == (stage, number):
                raise KilledError

        return progress

    source = in_memory(noisy, mask)
    given = source, camera, Smooth(), layout, "killed"
    with pytest.raises(KilledError):
        depth_of(*given, progress=kill_at("integrating blocks", 2))
    assert len(source.reads) == 2
    with pytest.raises(KilledError):
        depth_of(*given, progress=kill_at("sweep 2", 1))
    depth, _ = depth_of(*given)
    assert len(source.reads) == len(layout)
    np.testing.assert_array_equal(depth, straight)


def test_what_a_worker_of_an_ended_run_still_writes_is_not_gone_on_with(
    noisy, in_memory, depth_of, tmp_path
):
    camera, mask = Orthographic(size=(WIDTH, HEIGHT)), np.ones((HEIGHT, WIDTH), bool)
    layout, mirrored = Layout.of(HEIGHT, WIDTH, 100, 12), noisy * (-1, 1, 1)
    straight, _ = depth_of(in_memory(noisy, mask), camera, Smooth(), layout)

    def end(*_):
        raise KeyboardInterrupt

    def write_on(stage, done, _):
        if (stage, done) == ("integrating blocks", 1):
            own.mkdir(parents=True)
            steps.decide(left_over, 1)

    work = tmp_path / "ended"
    with pytest.raises(KeyboardInterrupt):
        depth_of(in_memory(mirrored, mask), camera, Smooth(), layout, "ended", progress=end)
    (own,) = (path for path in work.iterdir() if path.is_dir())
    left_over = Job(in_memory(mirrored, mask), camera, Smooth(), layout, Store(own), "z", 1)
    shutil.rmtree(work)
    given = in_memory(noisy, mask), camera, Smooth(), layout, "ended"
    depth, _ = depth_of(*given, progress=write_on)
    np.testing.assert_array_equal(depth, straight)


def test_blocks_that_do_not_converge_are_told(noisy, in_memory, depth_of):
    camera, mask = Orthographic(size=(WIDTH, HEIGHT)), np.ones((HEIGHT, WIDTH), bool)
    given = in_memory(noisy, mask), camera, Ordered(max_iterations=1)
    with pytest.warns(IntegrationWarning, match="not converged"):
        _, finished = depth_of(*given, Layout.of(HEIGHT, WIDTH, 130, 16))
    assert not finished.converged


@pytest.mark.filterwarnings("ignore:.*not converged:rayrelief.errors.IntegrationWarning")
@pytest.mark.parametrize("stage", ["keeping blocks", "looking again"])
def test_a_second_look_goes_on_where_it_was_killed(noisy, in_memory, depth_of, stage):
    camera, mask = Orthographic(size=(WIDTH, HEIGHT)), np.ones((HEIGHT, WIDTH), bool)
    layout, method = Layout.of(HEIGHT, WIDTH, 130, 16), Ordered(max_iterations=4)
    straight, finished = depth_of(in_memory(noisy, mask), camera, method, layout)

    class KilledError(Exception):
        pass

    def kill(name, done, _):
        if (name, done) == (stage, 2):
            raise KilledError

    source = in_memory(noisy, mask)
    given = source, camera, method, layout, "killed"
    with pytest.raises(KilledError):
        depth_of(*given, progress=kill)
    depth, again = depth_of(*given)
    assert len(source.reads) == 2 * len(layout)
    assert again.changes == finished.changes
    np.testing.assert_array_equal(depth, straight)


def test_a_second_look_begins_at_the_joined_surface_and_holds_its_ends(noisy, in_memory, tmp_path):
    """What is looked at again is the map, of which a block is a part: its ends stay."""
    camera, mask = Orthographic(size=(WIDTH, HEIGHT)), np.ones((HEIGHT, WIDTH), bool)
    layout, method = Layout.of(HEIGHT, WIDTH, 130, 16), Ordered(rounds=0)
    whole = rayrelief.integrate(noisy, camera, method=method).depth
    source, store = in_memory(noisy, mask), Store(tmp_path)
    job = Job(source, camera, method, layout, store, "z", 1, look=1)
    for number in range(len(layout)):
        store.write("joined", number, whole[layout.block(number).core] + 7.0)
    steps.decide(job, 0)
    block = layout.block(0).whole
    found = store.read(job.surface(0), 0) - whole[block] - 7.0
    assert np.abs(found).max() < 0.05 * np.std(whole)
    assert np.abs(found[-1]).max() < 1e-5 * np.std(whole)
    assert np.abs(found[:, -1]).max() < 1e-5 * np.std(whole)


def test_a_second_look_reads_depths_as_the_whole_map_measures_them(in_memory, tmp_path):
    camera = Equidistant(75.0, 75.0, 79.5, 79.5, size=(160, 160))
    scene = wavy_room(160, 160, camera)
    layout, method = Layout.of(160, 160, 48, 6), Ordered(rounds=0)
    store = Store(tmp_path)
    job = Job(in_memory(scene.normals, scene.mask), camera, method, layout, store, "z", 1, look=1)
    assert scene.depth is not None
    joined = np.log(scene.depth * camera.unit_rays(160, 160)[..., 2])
    for number in range(len(layout)):
        store.write("joined", number, joined[layout.block(number).core])
    steps.decide(job, 0)
    found = store.read(job.surface(0), 0) - joined[layout.block(0).whole]
    assert np.nanmax(np.abs(found)) < 0.05


def test_a_folder_is_for_one_run(noisy, in_memory, depth_of):
    camera, mask = Orthographic(size=(WIDTH, HEIGHT)), np.ones((HEIGHT, WIDTH), bool)
    source = in_memory(noisy, mask)
    depth_of(source, camera, Smooth(), Layout.of(HEIGHT, WIDTH, 200))
    with pytest.raises(InputError, match=r"changed: blocks\)"):
        depth_of(source, camera, Smooth(), Layout.of(HEIGHT, WIDTH, 100))


def test_memory_sets_the_size_of_blocks():
    sides = [side_for(size, 1, RayPlane(), 1) for size in (10**9, 2 * 10**9, 4 * 10**9)]
    assert sides == sorted(set(sides))
    assert_allclose(side_for(4 * 10**9, 2, RayPlane(), 1), sides[1], rtol=0.01)
    with pytest.raises(InputError, match="--memory"):
        side_for(10**8, 1, RayPlane(), 1)


@pytest.mark.slow
def test_a_cluster_gives_the_same_bits(noisy, in_memory, depth_of):
    distributed = pytest.importorskip("distributed")
    from rayrelief.batch.cluster import Cluster

    camera, mask = Orthographic(size=(WIDTH, HEIGHT)), np.ones((HEIGHT, WIDTH), bool)
    layout = Layout.of(HEIGHT, WIDTH, 100, 12)
    given = in_memory(noisy, mask), camera, Smooth(), layout
    here, _ = depth_of(*given)
    options = {"n_workers": 1, "threads_per_worker": 2, "processes": False}
    with distributed.LocalCluster(**options, dashboard_address=":0") as cluster:
        engine = Cluster(cluster.scheduler_address, 1)
        there, _ = depth_of(*given, folder="cluster", engine=engine)
    np.testing.assert_array_equal(here, there)
