# SPDX-License-Identifier: MIT
"""Record, dump and doctor for each of Debian's Pythons, as executable and as libpython, each in a root folder of its own."""

import json

import pytest

import procfs
import pythons
import runs
import shapes
import stacks
import targets

WORKERS = 2
MANY = 16


def workers(python, count):
    """A running workers.py; its words are the native ids of its threads, the main thread's first."""
    return targets.command(*python.command(targets.PROGRAMS / "workers.py", count))


@pytest.fixture(scope="module")
def target(python):
    with workers(python, WORKERS) as target:
        yield target


def spins(count):
    return {"spin_%d" % number for number in range(count)}


def check_threads(found, count):
    """Each thread's frames are its own: below work() the spin_N of the thread, else main()."""
    for frames in found:
        names = [name for name in stacks.names(frames) if name == "work" or name == "main" or name.startswith("spin_")]
        assert "main" in names[-2:] or names[-2:-1] == ["work"], stacks.names(frames)
    assert spins(count) | {"main"} <= runs.names(found), runs.names(found)


def test_record(target):
    """Given three threads that compute, each is in the profile with its own frames, every stack is complete."""
    outcome = runs.record(target, 2, "-F", 50)
    check_threads(outcome.stacks(), WORKERS)
    assert outcome.complete_percent >= 99


def test_record_native(target):
    """The same with C frames: 99 % reach the first function of their thread, and Python's and C's frames fit."""
    outcome = runs.record(target, 2, "-F", 50, "--native=full")
    found = outcome.stacks()
    check_threads(found, WORKERS)
    assert stacks.percent(found, lambda frames: not stacks.is_cut(frames)) >= 99, outcome
    assert stacks.percent(found, stacks.fits) >= 99, outcome
    # Debian's C library tells no name of a thread's first function.
    assert all(frames[0].name == "_start" or frames[0].file == "libc.so.6" for frames in found if not stacks.is_cut(frames))


def test_dump(target):
    """Each thread once, with the frames that are its own."""
    dumped = runs.dump(target)
    main, *others = [int(word) for word in target.words]
    assert sorted(dumped) == sorted([main, *others])
    assert [frame.name for frame in runs.frames_of(dumped[main])] == ["<module>", "main"]
    for number, tid in enumerate(others):
        names = [frame.name for frame in runs.frames_of(dumped[tid])]
        assert names[-2:] == ["work", "spin_%d" % number], names
        assert dumped[tid]["complete"]


def test_doctor(target, python):
    """The version, and thread states that do not depend on the interpreter's list of threads."""
    outcome = runs.pysample("doctor", "-p", target.pid, "--json").ok()
    target.check_untouched()
    assert "%d.%d" % python.version in outcome.out
    assert json.loads(outcome.out)


def test_16_threads(python):
    """Given 16 threads beside the main one, frames of every one come out of the profile."""
    with workers(python, MANY) as target:
        outcome = runs.record(target, 4, "-F", 50, "--idle")
        check_threads(outcome.stacks(), MANY)
        target.finish()


@pytest.mark.slow
def test_shares(python):
    """Given three paths of 70, 20 and 10 % by the program's own clock: the profile's shares are that within 5 points."""
    with targets.command(*python.command(targets.PROGRAMS / "shape.py")) as target:
        target.facts = json.loads(target.read_line())
        shape = shapes.profile(target, "-F", 50, seconds=6)
        found = set(shape.paths())
        for path in shapes.CALLERS:
            assert shapes.renamed(path, python) in found, (path, max(found, key=len))
            assert abs(shape.share(path) - shape.true_share(path)) <= 5.0, (path, shape.share(path), shape.true_share(path))
        assert not shape.impossible_pairs()
        assert not shape.impossible_lines()
        assert shape.outcome.complete_percent >= 99.0, shape.outcome.err
        target.finish()


SAMPLERS = ["bookworm", "trixie", "forky"]


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("name", ["3.11-bookworm", "3.13-trixie", "3.15-forky-library"])
def test_sampler_and_target_in_different_roots(sampler, name):
    """Given a pysample that runs with the libraries of one suite, and a Python of another: nothing changes."""
    [python] = [python for python in pythons.every() if python.name == name]
    with workers(python, WORKERS) as target:
        outcome = runs.record(target, 2, "-F", 50, "--native", prefix=["chroot", pythons.ROOTS / sampler])
        check_threads(outcome.stacks(), WORKERS)
        assert outcome.complete_percent >= 99
        assert procfs.is_alive(target.pid)
