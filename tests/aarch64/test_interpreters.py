# SPDX-License-Identifier: MIT
"""
Where Debian's interpreters keep what is looked for: by their code, by their C library, by the tables, and what they write about
generated code.
"""

import json
import os
import pathlib
import subprocess

import pytest

import procfs
import pythons
import runs
import stacks
import targets
import test_layout
import test_tsd_probe

# The shape of the code that leads to the thread state (src/arch/decode_aarch64.c).
SHAPES = {
    "3.11-bookworm": "page-8",
    "3.11-bookworm-library": "got-8",
    "3.13-trixie": "page-9-bti",
    "3.13-trixie-library": "got-19",
    "3.13-forky": "page-9-bti",
    "3.13-forky-library": "got-19",
    "3.14-forky": "fold-9-bti",
    "3.14-forky-library": "got-19",
    "3.15-forky": "tls-11",
    "3.15-forky-library": "tlsdesc-12",
}
WORKERS = targets.PROGRAMS / "workers.py"


def doctor(target):
    return runs.pysample("doctor", "-p", target.pid).ok().out


def thread_states(target):
    [line] = [line for line in doctor(target).splitlines() if " thread states " in line and "in 1 interpreter" not in line]
    return line


def test_thread_states_are_found_by_code_and_table_alike(python):
    """Up to 3.14 _PyRuntime's layout gives the key, and the code of PyGILState_GetThisThreadState the same one; 3.15 has code alone."""
    with targets.command(*python.command(WORKERS, 1)) as target:
        told = doctor(target)
        line = thread_states(target)
        shape = "code of shape %s)" % SHAPES[python.name]
        assert line.endswith(shape if python.version >= (3, 15) else "; agrees with " + shape), line
        assert "libc's own _thread_db_* data, equal to a measured row" in told


def late_library(tunables):
    """3.15's library, loaded by dlopen in a program of the same suite."""
    [python] = [python for python in pythons.every() if python.name == "3.15-forky-library"]
    words = ["env", *tunables, pythons.built("late-python"), "libpython3.15.so.1.0", str(WORKERS), "1"]
    return targets.command("chroot", python.root, *words)


@pytest.mark.parametrize(
    "tunables,means",
    [
        ([], "thread-local (code of shape tlsdesc-12)"),
        (["GLIBC_TUNABLES=glibc.rtld.optional_static_tls=0"], "thread-local of module "),
    ],
    ids=["beside-the-program", "of-each-thread"],
)
def test_thread_locals_of_a_library_that_is_loaded_late(tunables, means):
    """Given libpython3.15 by dlopen, its thread-locals beside the program's or in a block of each thread's own: frames of both threads."""
    with late_library(tunables) as target:
        assert means in thread_states(target)
        found = runs.record(target, 2, "-F", 50).stacks()
        assert {"main", "spin_0"} <= runs.names(found)


# ---- the C libraries' layouts ----


@pytest.fixture(scope="module")
def rows():
    program = pathlib.Path(os.environ["PYSAMPLE"]).parent / "tests/unit/test_tsd"
    return [test_tsd_probe.parse(line) for line in test_tsd_probe.run(program, "--print-rows").splitlines()]


def measured(root, program="tsd-probe"):
    return test_tsd_probe.parse(test_tsd_probe.run("chroot", root, pythons.built(program)))


ROOTS = sorted({python.root for python in pythons.every()})


@pytest.mark.parametrize("root", ROOTS, ids=os.path.basename)
def test_the_libc_of_each_suite_has_its_row(rows, root):
    test_tsd_probe.check(rows, measured(root))


def test_a_static_libc_has_its_row(rows):
    test_tsd_probe.check(rows, measured("/", "tsd-probe-static"))


@pytest.mark.parametrize("field", test_tsd_probe.FIELDS[2:])
def test_an_altered_row_is_told(rows, field):
    """The guard itself: measured and table value are named."""
    found = measured(ROOTS[0])
    altered = [dict(row, **{field: row[field] + 8}) for row in rows]
    with pytest.raises(AssertionError) as failure:
        test_tsd_probe.check(altered, found)
    assert "measured %s 0x%x, table says 0x%x" % (field, found[field], found[field] + 8) in str(failure.value)


# ---- the layouts of Python's objects ----


def answer_of(python, text, *arguments):
    command = python.command("-c", text, *arguments)
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def row_of(python):
    version = answer_of(python, "import sys; print('%d.%d.%d' % sys.version_info[:3])")
    return test_layout.row_of(tuple(map(int, version.strip().split("."))))["fields"]


@pytest.mark.slow
def test_living_objects_agree_with_the_row(python, cpu):
    """The interpreter looks at its own objects. Half a minute for each, and the same for all CPUs and linkages."""
    if cpu != "pac" or python.kind != "executable":
        pytest.skip("once for each interpreter")
    row = row_of(python)
    answer = json.loads(answer_of(python, test_layout.WITNESS.read_text(), json.dumps(row)))
    assert answer["wrong"] == []
    unseen = {name for name, value in row.items() if value is not None} - set(answer["seen"]) - test_layout.UNSEEN
    assert unseen == set()


# ---- generated code ----


def jitdump_of(python, pid):
    return pathlib.Path(python.outside("/tmp/jit-%d.dump" % pid))


@pytest.mark.slow
@pytest.mark.every_cpu
def test_case_30_trampolines_are_walked_through(python, is_signed):
    """
    Given -X perf_jit, 99 % of native stacks are complete, and no frame is called py::…, since that is the Python frame's own
    trampoline.
    """
    if python.version < (3, 13):
        pytest.skip("from 3.13 on")
    with targets.command(*python.command("-X", "perf_jit", WORKERS, 1)) as target:
        dump = jitdump_of(python, target.pid)
        try:
            assert dump.exists(), "the interpreter writes no jitdump"
            outcome = runs.record(target, 3, "-F", 50, "--native=full")
        finally:
            dump.unlink(missing_ok=True)
        found = outcome.stacks()
        assert {"main", "spin_0"} <= runs.names(found)
        assert outcome.complete_percent >= 99
        assert stacks.percent(found, lambda frames: not stacks.is_cut(frames)) >= 99
        doubled = [frames for frames in found if any(frame.name.startswith("py::") for frame in frames[:-1])]
        assert stacks.percent(found, lambda frames: frames in doubled) <= 1, doubled[0]
        assert procfs.is_alive(target.pid)
