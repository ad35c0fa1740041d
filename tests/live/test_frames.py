# SPDX-License-Identifier: MIT
"""Every stack is the one that the target itself reports, frame by frame and line by line."""

import json
import os

import pytest

import runs
import targets


def walk(target):
    """At each place where the target waits: what it says of its stack, and what dump says."""
    while True:
        told = json.loads(target.read_line())
        if told is None:
            return
        yield [runs.Frame(*frame) for frame in told], runs.dump(target)
        target.process.stdin.write(b"\n")
        target.process.stdin.flush()


def comparable(frames):
    return [(frame.name, os.path.basename(frame.file), frame.line) for frame in frames]


@pytest.mark.slow
def test_cases_21_and_22_stacks_and_lines_are_those_of_sys_getframe(every_python):
    """
    Given a program that waits in some 80 places, in Python called by Python, by C called by Python, in generators,
    coroutines, class bodies, imports and text, and on lines far apart, backwards and inside long expressions: each time
    the dumped stack is the program's own account of it.
    """
    places = 0
    with targets.python(every_python, "pauses.py") as target:
        for told, dumped in walk(target):
            stacks = [runs.frames_of(thread) for thread in dumped.values()]
            waiting = [frames for frames in stacks if frames and frames[-1].name == "pause"]
            assert len(waiting) == 1, (told, stacks)
            assert comparable(waiting[0][:-1]) == comparable(told)
            places += 1
        target.process.stdin.write(b"\n")
        target.process.stdin.flush()
        target.wait_end()
    assert places > 60


def test_case_24_python_called_from_a_thread_of_c(usual_python, helpers):
    """Given a native thread that calls into Python, its Python frames are in the profile, beside the main thread's."""
    with targets.python(usual_python, "called_back.py", helpers) as target:
        outcome = runs.record(target, 2)
        assert "called_from_c" in runs.names(outcome.stacks())
        assert "busy" in runs.names(outcome.stacks())
        assert outcome.complete_percent >= 99
        target.finish()


def test_a_thread_without_python_has_no_python_frames(usual_python, helpers):
    """Given native threads that never ran Python, dump lists no Python frames for them."""
    with targets.python(usual_python, "parked.py", helpers, 0, 2, 600000, "epoll_wait") as target:
        dumped = runs.dump(target)
        for tid in target.words:
            assert int(tid) not in dumped or runs.frames_of(dumped[int(tid)]) == []
        target.finish()


@pytest.mark.slow
def test_case_35_no_impossible_pair(every_python):
    """Given hot_a -> leaf_a and hot_b -> leaf_b in turn at 1 kHz, no leaf is ever seen under the other's caller."""
    with targets.python(every_python, "pairs.py") as target:
        stacks = runs.record(target, 2, "-F", 1000).stacks()
        pairs = {(one.name, other.name) for frames in stacks for one, other in zip(frames, frames[1:])}
        assert pairs == {("<module>", "run"), ("run", "hot_a"), ("run", "hot_b"), ("hot_a", "leaf_a"), ("hot_b", "leaf_b")}
        assert sum(stacks.values()) > 0
        target.finish()


def test_frames_without_lines(usual_python):
    """--no-line groups by function: no line in any frame, fewer stacks."""
    with targets.python(usual_python, "busy.py") as target:
        stacks = runs.record(target, 1, "--no-line").stacks()
        assert all(frame.line is None for frames in stacks for frame in frames)
        assert runs.share(stacks, "outer") == 100
        target.finish()


def test_short_and_full_paths(usual_python):
    """Paths are short and unique by default, as the code object has them with --full-paths."""
    with targets.python(usual_python, "busy.py") as target:
        assert {f.file for frames in runs.record(target, 1).stacks() for f in frames} == {"busy.py"}
        full = {f.file for frames in runs.record(target, 1, "--full-paths").stacks() for f in frames}
        assert full == {str(targets.PROGRAMS / "busy.py")}
        target.finish()


def test_files_of_the_same_name_stay_apart(usual_python, tmp_path):
    """Given two modules that are both util.py, the short paths differ."""
    for package in ("one", "two"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("")
        (tmp_path / package / "util.py").write_text("def work_%s():\n    for i in range(1000):\n        pass\n" % package)
    text = "import sys; sys.path.insert(0, %r)\nimport handshake, one.util, two.util\nhandshake.ready()\nwhile True:\n"
    text += "    one.util.work_one(); two.util.work_two()\n"
    (tmp_path / "twins.py").write_text(text % str(targets.PROGRAMS))
    with targets.python(usual_python, str(tmp_path / "twins.py")) as target:
        stacks = runs.record(target, 1).stacks()
        files = {frame.name: frame.file for frames in stacks for frame in frames}
        assert files["work_one"] == "one/util.py" and files["work_two"] == "two/util.py"
        target.finish()
