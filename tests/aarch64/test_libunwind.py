# SPDX-License-Identifier: MIT
"""
Native stacks are those that libunwind finds in the same stops. pysample is built with the headers of libunwind 1.6.2 and runs
here with 1.8.1, whose structures are larger.
"""

import pytest

import pythons
import runs
import stacks
import targets
import test_crosscheck

PYTHONS = ["3.13-trixie", "3.13-trixie-library", "3.15-forky"]
KINDS = ["none", "pac", "b-key", "bti", "standard"]


def run_python(name):
    [python] = [python for python in pythons.every() if python.name == name]
    return targets.command(*python.command(targets.PROGRAMS / "busy.py"))


@pytest.mark.slow
@pytest.mark.parametrize("name", PYTHONS)
def test_interpreters(name):
    with run_python(name) as target:
        assert test_crosscheck.check(target) > 5


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("program, arguments, depth", [("nested", [50], 50), ("handlers", ["plain"], 5)], ids=["nested", "handlers"])
def test_programs(program, arguments, depth, kind):
    """Given 50 nested frames, or frames on both sides of a signal's: libunwind has the same."""
    with targets.command(pythons.built("%s-%s" % (program, kind)), *arguments) as target:
        assert test_crosscheck.check(target) > depth


@pytest.mark.slow
def test_a_recording_by_libunwind():
    with run_python("3.13-trixie") as target:
        run = runs.record(target, 2, "-F", 50, "--native=full", "--unwinder", "libunwind")
    found = run.stacks()
    assert {"outer", "inner"} <= runs.names(found)
    assert stacks.percent(found, lambda frames: frames[0].name == "_start") >= 99, run
