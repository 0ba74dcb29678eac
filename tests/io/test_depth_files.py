"""Depth maps to files and back."""

from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rayrelief.errors import FileError, InputError, IntegrationWarning
from rayrelief.io.depth import WRITERS, bare_note, read_depth, write_depth
from rayrelief.io.exr import write_exr
from rayrelief.io.images import write_png
from rayrelief.io.png_chunks import add_text, read_text

DEPTH = np.array([[1.0, np.nan, 2.5], [1e-3, 4.0, np.nan]])

depths = arrays(
    np.float64,
    (3, 4),
    elements=st.floats(1e-3, 1e6) | st.just(np.nan),
).filter(lambda depth: np.isfinite(depth).any())
kinds = st.sampled_from(["z", "distance"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("depth")


@given(depth=depths, kind=kinds)
def test_numpy_formats_are_exact(folder, depth, kind):
    for suffix, stored_kind in ((".npy", None), (".npz", kind)):
        write_depth(folder / f"d{suffix}", depth, kind)
        read, read_kind = read_depth(folder / f"d{suffix}")
        assert read.dtype == np.float64
        np.testing.assert_array_equal(read, depth)
        assert read_kind == stored_kind


@given(depth=depths, kind=kinds)
def test_exr_is_exact_in_single_precision(folder, depth, kind):
    write_depth(folder / "d.exr", depth, kind)
    read, read_kind = read_depth(folder / "d.exr")
    np.testing.assert_array_equal(read, depth.astype(np.float32))
    assert read_kind == kind


@given(depth=depths, kind=kinds)
def test_png_is_within_half_a_step(folder, depth, kind):
    write_depth(folder / "d.png", depth, kind)
    read, read_kind = read_depth(folder / "d.png")
    step = (np.nanmax(depth) - np.nanmin(depth)) / 65534
    np.testing.assert_array_equal(np.isnan(read), np.isnan(depth))
    rounding = 4 * np.spacing(np.nanmax(depth))
    assert np.nanmax(np.abs(read - depth)) <= step / 2 * (1 + 1e-6) + rounding
    assert read_kind == kind


def test_png_tells_its_scale_to_other_programs(tmp_path):
    write_depth(tmp_path / "d.png", DEPTH, "distance")
    text = read_text((tmp_path / "d.png").read_bytes())
    assert text["DepthKind"] == "distance"
    assert float(text["DepthOffset"]) + float(text["DepthScale"]) == pytest.approx(1e-3)
    assert float(text["DepthOffset"]) + 65535 * float(text["DepthScale"]) == pytest.approx(4.0)


def test_depths_that_hardly_differ_are_all_inside_in_a_png(tmp_path):
    depth = np.array([[1.0, np.nextafter(1.0, 2.0)]])
    write_depth(tmp_path / "d.png", depth, "z")
    np.testing.assert_allclose(read_depth(tmp_path / "d.png")[0], depth, rtol=1e-15)


def test_infinite_depth_is_outside_in_a_png(tmp_path):
    write_depth(tmp_path / "d.png", np.array([[1.0, np.inf, 2.0]]), "z")
    np.testing.assert_allclose(read_depth(tmp_path / "d.png")[0], [[1.0, np.nan, 2.0]])


@pytest.mark.parametrize("depth", [[-1e308, 1e308], [0.0, 1.7976931e308], [-1e308, -1e308]])
def test_a_range_beyond_all_numbers_is_refused_as_a_png(tmp_path, depth):
    with pytest.raises(InputError, match=r"from -?[01].* to .*Check the surface, or write \.npz"):
        write_depth(tmp_path / "d.png", np.array([depth]), "z")


def test_depth_beyond_single_precision_is_told(tmp_path):
    with pytest.warns(IntegrationWarning, match="d.exr: values beyond single precision"):
        write_depth(tmp_path / "d.exr", np.array([[1.0, 1e300, -np.inf]]), "z")
    np.testing.assert_array_equal(read_depth(tmp_path / "d.exr")[0], [[1.0, np.inf, -np.inf]])


def test_ground_truth_of_the_diligent_layout_is_z(tmp_path):
    np.savez(tmp_path / "depth_gt.npz", depth_gt=DEPTH.astype(np.float32))
    depth, kind = read_depth(tmp_path / "depth_gt.npz")
    np.testing.assert_array_equal(depth, DEPTH.astype(np.float32))
    assert kind == "z"


def test_exr_of_another_program_does_not_tell_its_kind(tmp_path):
    write_exr(tmp_path / "d.exr", {"R": DEPTH, "G": DEPTH, "B": DEPTH, "Z": DEPTH})
    depth, kind = read_depth(tmp_path / "d.exr")
    np.testing.assert_array_equal(depth, DEPTH.astype(np.float32))
    assert kind is None


def test_16_bits_of_a_depth_sensor_stand_for_themselves(tmp_path):
    values = np.array([[0, 1, 1490], [65535, 2, 0]], np.uint16)
    write_png(tmp_path / "d.png", values)
    depth, kind = read_depth(tmp_path / "d.png")
    np.testing.assert_array_equal(depth, [[np.nan, 1, 1490], [65535, 2, np.nan]])
    assert kind is None
    told = ("d.png: 16-bit numbers taken as they are, 0 as unknown",)
    assert bare_note(tmp_path / "d.png", kind) == told
    assert bare_note(tmp_path / "d.png", "z") == bare_note(tmp_path / "d.npy", None) == ()


def test_8_bits_are_no_depth(tmp_path):
    write_png(tmp_path / "d.png", np.ones((2, 3), np.uint8))
    with pytest.raises(FileError, match=r"d\.png does not store.*expected 16 bits"):
        read_depth(tmp_path / "d.png")


def test_half_of_a_scale_is_none(tmp_path):
    write_png(tmp_path / "d.png", np.ones((2, 3), np.uint16))
    data = add_text((tmp_path / "d.png").read_bytes(), {"DepthOffset": "5"})
    (tmp_path / "d.png").write_bytes(data)
    with pytest.raises(FileError, match=r"d\.png.*DepthScale"):
        read_depth(tmp_path / "d.png")


def test_unknown_kind_in_a_file(tmp_path):
    np.savez(tmp_path / "d.npz", depth=DEPTH, kind="disparity")
    with pytest.raises(FileError, match=r"'disparity'.*'z' or 'distance'"):
        read_depth(tmp_path / "d.npz")


def test_a_mask_is_no_depth(tmp_path):
    np.save(tmp_path / "d.npy", DEPTH > 0)
    with pytest.raises(FileError, match=r"holds bool values.*real numbers"):
        read_depth(tmp_path / "d.npy")


def test_colour_image_is_no_depth(tmp_path):
    write_exr(tmp_path / "d.exr", {"R": DEPTH, "G": DEPTH, "B": DEPTH})
    with pytest.raises(FileError, match=r"shape \(2, 3, 3\)"):
        read_depth(tmp_path / "d.exr")


@pytest.mark.parametrize("call", [read_depth, lambda path: write_depth(path, DEPTH, "z")])
def test_unknown_suffix_lists_the_known_ones(tmp_path, call):
    with pytest.raises(FileError, match=r"\.npz, \.npy, \.exr, \.png"):
        call(tmp_path / "d.tif")


@pytest.mark.parametrize("suffix", WRITERS)
def test_bad_arguments(tmp_path, suffix):
    path = tmp_path / f"d{suffix}"
    for depth in (np.ones(3), np.ones((2, 3, 1)), np.ones((0, 3))):
        with pytest.raises(InputError, match="shape"):
            write_depth(path, depth, "z")
    with pytest.raises(InputError, match="'y'"):
        write_depth(path, DEPTH, "y")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_png_without_depth_is_refused(tmp_path):
    with pytest.raises(InputError, match="without a finite value"):
        write_depth(tmp_path / "d.png", np.full((2, 3), np.nan), "z")


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".png"])
def test_disk_full_leaves_the_old_file(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"d{suffix}"
    write_depth(path, DEPTH, "z")
    before = path.read_bytes()
    opened = Path.open

    def full(self, mode="r", *args, **kwargs):
        if "w" in mode:
            opened(self, mode).close()  # the file appears, its content does not fit
            raise OSError(errno.ENOSPC, "No space left on device")
        return opened(self, mode, *args, **kwargs)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(FileError, match="disk was full"):
        write_depth(path, 2 * DEPTH, "z")
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
