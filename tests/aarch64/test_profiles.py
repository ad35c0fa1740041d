# SPDX-License-Identifier: MIT
"""Record, dump and doctor for each of Debian's Pythons, as executable and as libpython, each in a root folder of its own."""

import json
import os
import re

import pytest

import gather
import procfs
import pythons
import runs
import shapes
import stacks
import targets

WORKERS = 2
MANY = 16
SAMPLES = 400
THREAD = ("_bootstrap", "_bootstrap_inner", "run", "work")


def workers(python, count):
    """A running workers.py; its words are the native ids of its threads, the main thread's first."""
    return targets.command(*python.command(targets.PROGRAMS / "workers.py", count))


@pytest.fixture(scope="module")
def target(python):
    with workers(python, WORKERS) as target:
        yield target


def python_names(frames):
    return [runs.last(frame.name) for frame in frames if frame.line is not None]


def is_main(frames):
    """The main thread's Python frames; it may still be about to say that it is ready."""
    python = [frame for frame in frames if frame.line is not None]
    names = python_names(frames)
    return names[:2] == ["<module>", "main"] and all(frame.file.endswith("/handshake.py") for frame in python[2:])


def check_threads(found, count):
    """Each stack is, frame by frame, that of the main thread or of one worker, and each of them is there."""
    wanted = {(*THREAD, "spin_%d" % number) for number in range(count)}
    workers = {tuple(python_names(frames)) for frames in found if not is_main(frames)}
    assert workers == wanted
    assert any(is_main(frames) for frames in found)


def check_root(frames, python):
    """
    The main thread begins in _start of its program. Another one begins in the C library, whose two functions have no name
    (clone's end, start_thread), and which calls Python's.
    """
    files = [os.path.basename(frame.file) for frame in frames[:3]]
    if is_main(frames):
        assert (frames[0].name, files[0]) == ("_start", os.path.basename(python.program)), frames[0]
    else:
        assert files[:2] == ["libc.so.6", "libc.so.6"] and files[2] != "libc.so.6", frames[:3]


def test_record(target):
    """Given three threads that compute, each is in the profile with its own frames, every stack is complete."""
    check_threads(gather.stacks(target, 50, "-F", 50), WORKERS)


@pytest.mark.every_cpu
def test_record_native(target, python):
    """The same with C frames: 99 % reach the first function of their thread, and Python's and C's frames fit."""
    found = gather.stacks(target, 100, "-F", 50, "--native=full")
    assert stacks.percent(found, lambda frames: not stacks.is_cut(frames)) >= 99, list(filter(stacks.is_cut, found))
    assert stacks.percent(found, stacks.fits) >= 99, [frames for frames in found if not stacks.fits(frames)]
    whole = {frames: weight for frames, weight in found.items() if not stacks.is_cut(frames)}
    check_threads(whole, WORKERS)
    for frames in whole:
        check_root(frames, python)
    assert len({frames[0] for frames in whole if not is_main(frames)}) == 1


@pytest.mark.every_cpu
def test_dump(target):
    """Each thread once, with the frames that are its own."""
    dumped = runs.dump(target)
    main, *others = [int(word) for word in target.words]
    assert sorted(dumped) == sorted([main, *others])
    assert is_main(runs.frames_of(dumped[main]))
    for number, tid in enumerate(others):
        assert tuple(python_names(runs.frames_of(dumped[tid]))) == (*THREAD, "spin_%d" % number)
    assert all(thread["complete"] for thread in dumped.values())


def origin_of_layout(python):
    """From 3.13 on the interpreter says itself where its fields are."""
    return "measured" if python.version < (3, 13) else "the interpreter's debug offsets"


def signing(cpu):
    bits = {"pac": "7 bits (0x7f000000000000)", "pac52": "3 bits (0x70000000000000)"}
    if cpu == "nopac":
        return "no: this CPU or kernel has no pointer authentication"
    return "keys in use: IA, IB, DA, DB; the signature has " + bits[cpu]


@pytest.mark.every_cpu
def test_doctor(target, python, cpu):
    """The version and where it is, the row of its layout and of the C library, the way to its thread states, how it signs addresses."""
    outcome = runs.pysample("doctor", "-p", target.pid, "--json").ok()
    target.check_untouched()
    findings = [finding for finding in json.loads(outcome.out)["findings"] if finding["section"] != "system"]
    said = {finding["what"]: finding["text"] for finding in findings}
    assert [finding for finding in findings if finding["level"] == "no"] == []
    version = "%d.%d" % python.version
    place = "libpython%s.so.1.0" % version if python.kind == "library" else "bin/python" + version
    assert re.match(r"CPython %s\.\d+\S* in \S*%s, found by symbol _PyRuntime$" % (version, place), said["runtime"]), said["runtime"]
    assert re.fullmatch(r"%s\.\d+: %s" % (version, origin_of_layout(python)), said["layout"]), said["layout"]
    assert said["C library"] == "libc's own _thread_db_* data, equal to a measured row"
    way = r"thread-local" if python.version >= (3, 15) else r"pthread key \d+ \(layout, _PyRuntime \+ 0x[0-9a-f]+; agrees with code of shape"
    assert re.match(way, said["thread states"]), said["thread states"]
    assert said["Python threads"] == "%d thread states in 1 interpreter, %d threads in all" % (WORKERS + 1, WORKERS + 1)
    assert said["signed addresses"] == signing(cpu)
    # Debian's files have no note, whether their code signs or not.
    assert said["protection"] == "the file has no note of it"


@pytest.mark.every_cpu("3.13-trixie")
def test_16_threads(python):
    """Given 16 threads beside the main one, frames of every one come out of the profile."""
    with workers(python, MANY) as target:
        # Here a thread that waits for the GIL wakes up in the middle of many a look at it: such samples are lost, and said to be.
        check_threads(gather.stacks(target, 20 * MANY, "-F", 20, "--idle", complete=0), MANY)
        target.finish()


def shape_of(target):
    """The shape of at least SAMPLES samples, as one profile: how many there are in a second is up to the emulating machine."""
    parts = []
    while sum(part.outcome.samples for part in parts) < SAMPLES:
        parts.append(shapes.profile(target, seconds=2))
        assert parts[-1].outcome.complete_percent >= 99.0, parts[-1].outcome
    shape = parts[0]
    for part in parts[1:]:
        shape.add(part)
    return shape


@pytest.mark.slow
def test_shares(python):
    """Given three paths of 70, 20 and 10 % by the program's own clock: the profile's shares are that within 5 points."""
    with targets.command(*python.command(targets.PROGRAMS / "shape.py")) as target:
        target.facts = json.loads(target.read_line())
        shape = shape_of(target)
        found = set(shape.paths())
        for path in shapes.CALLERS:
            assert shapes.renamed(path, python) in found, (path, max(found, key=len))
            assert abs(shape.share(path) - shape.true_share(path)) <= 5.0, (path, shape.share(path), shape.true_share(path))
        assert not shape.impossible_pairs()
        assert not shape.impossible_lines()
        target.finish()


SAMPLERS = ["bookworm", "trixie", "forky"]


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("name", ["3.11-bookworm", "3.13-trixie", "3.15-forky-library"])
def test_sampler_and_target_in_different_roots(sampler, name):
    """Given a pysample that runs with the libraries of one suite, and a Python of another: nothing changes."""
    [python] = [python for python in pythons.every() if python.name == name]
    with workers(python, WORKERS) as target:
        found = gather.stacks(target, 50, "-F", 50, "--native", prefix=["chroot", pythons.ROOTS / sampler])
        check_threads(found, WORKERS)
        assert procfs.is_alive(target.pid)
