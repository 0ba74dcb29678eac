"""Hostile files are refused within limits, and those that once broke something stay mended."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from random import Random

import pytest

from fuzz.attempts import BY_COMMAND
from fuzz.hostile import hostile_files
from fuzz.mutations import MUTATIONS, mutated
from fuzz.seeds import all_seeds
from fuzz.watchdog import PATIENCE, Verdict, Watchdog

CORPUS = Path(__file__).with_name("corpus")  # one folder for what the files are read as
MUTATED = 150
# Of the hostile files those that are small, and all there, as one of the roles.
READABLE = {"wide.json as camera", "opposite.npy as camera", "bomb.npz as depth"}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="limits and /proc of Linux"),
]


@pytest.fixture(scope="module")
def dog():
    with Watchdog() as dog:
        yield dog


def fault(name: str, role: str, verdict: Verdict) -> list[str]:
    return [f"{name} as {role}: {verdict.fault}"] if verdict.fault else []


def test_hostile_files_are_refused_within_limits(dog, tmp_path):
    faults, read = [], []
    for seed in hostile_files():
        path = tmp_path / seed.name
        path.write_bytes(seed.data)
        verdict = dog.attempt(path, seed.role)
        faults += fault(seed.name, seed.role, verdict)
        read += [] if verdict.refused or verdict.fault else [f"{seed.name} as {seed.role}"]
        path.unlink()
    assert not faults, "\n".join(faults)
    assert set(read) <= READABLE, read


def test_cases_that_were_found(dog, tmp_path):
    faults = []
    for path in sorted(CORPUS.glob("*/*")):
        copy = tmp_path / path.name  # attempts may put something beside it
        copy.write_bytes(path.read_bytes())
        verdict = dog.attempt(copy, path.parent.name)
        faults += fault(path.name, path.parent.name, verdict)
    assert not faults, "\n".join(faults)


def test_every_seed_is_read_by_the_command(dog, tmp_path):
    faults = []
    for seed in all_seeds(tmp_path):
        path = tmp_path / seed.name
        path.write_bytes(seed.data)
        faults += fault(seed.name, seed.role, dog.attempt(path, seed.role + BY_COMMAND))
    assert not faults, "\n".join(faults)


def test_mutated_files_are_read_or_refused(dog, tmp_path):
    seeds = all_seeds(tmp_path)
    faults = []
    for number in range(MUTATED):
        seed = seeds[number % len(seeds)]
        path = tmp_path / f"try_{seed.name}"
        path.write_bytes(mutated(seed, seeds, Random(f"0 {number}")))
        faults += fault(f"{number} {seed.name}", seed.role, dog.attempt(path, seed.role))
    assert not faults, "\n".join(faults)


def test_every_mutation_takes_any_bytes(tmp_path):
    seeds = all_seeds(tmp_path)
    for data in (b"", b"7", b'"text"', b"[]", b"{}", b"null", b"\xff\n"):
        for mutate in MUTATIONS:
            for number in range(30):
                assert isinstance(mutate(data, seeds, Random(number)), bytes)


def test_every_seed_is_read(dog, tmp_path):
    for seed in all_seeds(tmp_path):
        path = tmp_path / seed.name
        path.write_bytes(seed.data)
        verdict = dog.attempt(path, seed.role)
        small = verdict.refused and ("a camera for" in verdict.refused or "K" in verdict.refused)
        assert not verdict.fault, verdict
        assert seed.role == "camera" or not verdict.refused or small, (seed.name, verdict)


@pytest.mark.parametrize("role", ["normals", "mask", "depth", "camera"])
@pytest.mark.parametrize("name", ["pipe.npy", "pipe.png", "pipe.txt", "device.npy", "folder.npy"])
def test_what_is_not_a_file_is_refused_unread(dog, tmp_path, role, name):
    path = tmp_path / name
    if name.startswith("pipe"):
        os.mkfifo(path)
    elif name.startswith("device"):
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    verdict = dog.attempt(path, role)
    assert verdict.fault is None
    assert verdict.refused
    assert verdict.growth < 50_000_000


def test_the_watchdog_sees_what_it_is_there_for(dog, tmp_path):
    for kind, word in (
        ("print", "standard output"),
        ("memory", "MB of memory"),
        ("network", "socket.connect"),
        ("raise", "ZeroDivisionError"),
        ("crash", "crashed"),
        ("sleep", "hangs"),
    ):
        verdict = dog.attempt(tmp_path / kind, "misbehave", 1.0 if kind == "sleep" else PATIENCE)
        assert verdict.fault is not None
        assert word in verdict.fault
