# SPDX-License-Identifier: MIT
"""Native stacks are those that libunwind finds in the same stops; docs/unwinding-differences.md has the exceptions."""

import collections
import re
import shutil
import subprocess

import pytest

import procfs
import runs
import targets

ENOUGH = 99.9
NO_PROCESS = 4194300


@pytest.fixture(scope="module", autouse=True)
def built_with_libunwind():
    run = runs.pysample("crosscheck", "-p", NO_PROCESS)
    if "built without libunwind" in run.err:
        pytest.skip("pysample was built without libunwind")


@pytest.fixture(scope="module")
def throws(tmp_path_factory):
    if not shutil.which("g++"):
        pytest.skip("no g++")
    path = tmp_path_factory.mktemp("throws") / "throws"
    subprocess.run(["g++", "-O2", "-pthread", "-o", str(path), str(targets.PROGRAMS / "throws.cc")], check=True)
    return path


def counts(run):
    """(frames compared, the same, stacks, complete ones)"""
    frames = re.search(r"frames compared +(\d+), the same in both (\d+)", run.out)
    stacks = re.search(r"stacks +(\d+)", run.out)
    complete = re.search(r"complete +pysample (\d+)", run.out)
    assert frames and stacks and complete, run
    return int(frames[1]), int(frames[2]), int(stacks[1]), int(complete[1])


def check(target, *options):
    run = runs.pysample("crosscheck", "-p", target.pid, "-d", "3s", "-F", "200", *options)
    target.check_untouched()
    compared, same, stacks, complete = counts(run)
    assert stacks > 50, run
    assert 100.0 * same / compared >= ENOUGH, run
    assert complete >= 0.97 * stacks, run
    assert run.code == 0, run
    return compared / stacks


def test_an_interpreter(usual_python):
    with targets.python(usual_python, "busy.py") as target:
        assert check(target) > 5


def test_exceptions_of_cxx(throws):
    with targets.command(str(throws)) as target:
        assert check(target) > 5


def test_sleeping_threads_only_if_they_are_wanted():
    with targets.command("sleep", "600", ready=False) as target:
        procfs.wait_until(lambda: "S" in procfs.states(target.pid).values(), "it does not sleep")
        without = runs.pysample("crosscheck", "-p", target.pid, "-d", "500ms", "-F", "20")
        assert (without.code, without.err.count("nothing was compared")) == (1, 1), without
        idle = runs.pysample("crosscheck", "-p", target.pid, "-d", "500ms", "-F", "20", "--idle")
        target.check_untouched()
        assert idle.code == 0 and counts(idle)[2] > 5, idle


def usual_outer_frames(run):
    """
    The three outermost frames of most stacks. A few instructions of _Unwind_RaiseException, while it moves on to the handler,
    have no true stack: docs/unwinding-differences.md.
    """
    weights = collections.Counter()
    for frames, weight in run.stacks().items():
        weights[tuple(frame.name for frame in frames[:3])] += weight
    return {names for names, weight in weights.items() if weight > 0.1 * sum(weights.values())}


def test_a_recording_by_libunwind_has_the_same_stacks(throws):
    outer = {}
    with targets.command(str(throws)) as target:
        for unwinder in ("table", "libunwind"):
            run = runs.record(target, 2, "--native", "--unwinder", unwinder, "-F", "200")
            outer[unwinder] = usual_outer_frames(run)
            assert any([frame.name for frame in frames].count("descend") >= 3 for frames in run.stacks()), run
    assert len(outer["table"]) == 2
    assert outer["table"] == outer["libunwind"]


@pytest.mark.parametrize(
    "words, told",
    [
        (["crosscheck"], "-p PID"),
        (["-p", "1", "--unwinder", "libunwind"], "--native"),
        (["-p", "1", "--native", "--unwinder", "gdb"], "libunwind"),
        (["-p", "1", "--native", "--nonblocking", "--unwinder", "libunwind"], "--nonblocking"),
    ],
    ids=["no-pid", "no-native", "unknown", "nonblocking"],
)
def test_wrong_usage(words, told):
    run = runs.pysample(*words)
    assert run.code == 2
    run.one_error(told)


def test_a_process_that_is_not_there():
    run = runs.pysample("crosscheck", "-p", NO_PROCESS)
    assert run.code == 1
    run.one_error(NO_PROCESS)
