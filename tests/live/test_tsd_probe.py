# SPDX-License-Identifier: MIT
"""
The rows of src/python/tsd_layout.c are what contrib/tsd-probe.c measures here: with this system's C library linked
dynamically and statically, with musl where there is a musl-gcc, and with the C libraries of the Debian roots.
"""

import glob
import os
import pathlib
import shutil
import subprocess

import pytest

import interpreters
import runs

TOP = pathlib.Path(__file__).resolve().parents[2]
PROBE = TOP / "contrib" / "tsd-probe.c"
FIELDS = ["libc", "cpu", "pthread_below", "first_block", "specific", "key_size", "data", "tid"]


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def parse(line):
    """A row as printed by the probe and by test_tsd --print-rows: fields, and the C library's name as its last words."""
    words = line.split()
    row = dict(zip(FIELDS, words[:2] + [int(word, 0) for word in words[2:8]]))
    row["name"] = " ".join(words[8:])
    return row


def covers(row, measured):
    """True if the version measured is one that the row's name speaks of ("glibc 2.31-2.44")."""
    def version(text):
        return [int(part) for part in text.split(".")]

    if (row["libc"], row["cpu"]) != (measured["libc"], measured["cpu"]):
        return False
    if measured["libc"] == "musl":  # it does not say its version
        return True
    first, _, last = row["name"].split()[1].partition("-")
    return version(first) <= version(measured["name"].split()[1])[:2] <= version(last or first)


def check(rows, measured):
    row = next((row for row in rows if covers(row, measured)), None)
    assert row, "no row for %s on %s" % (measured["name"], measured["cpu"])
    for field in FIELDS:
        assert row[field] == measured[field], "%s: measured %s 0x%x, table says 0x%x" % (
            row["name"], field, measured[field], row[field])


@pytest.fixture(scope="session")
def rows(tmp_path_factory):
    """The table as compiled into the unit test of src/python/tsd_layout.c."""
    built = pathlib.Path(runs.program()).parent / "tests/unit/test_tsd"
    if built.is_file():
        return [parse(line) for line in run(built, "--print-rows").splitlines()]
    program = tmp_path_factory.mktemp("rows") / "test_tsd"
    sources = [TOP / "tests/unit/test_tsd.c", TOP / "src/base/error.c"]
    sources += glob.glob(str(TOP / "src/python/tsd*.c")) + glob.glob(str(TOP / "src/arch/arch*.c")) + glob.glob(str(TOP / "src/arch/decode*.c"))
    command = [os.environ.get("CC", "gcc"), "-std=gnu11", "-D_GNU_SOURCE", "-I", TOP / "src", "-o", program, *sources]
    if subprocess.run([*map(str, command), "-lcmocka"]).returncode:
        pytest.skip("cannot build tests/unit/test_tsd.c here")
    return [parse(line) for line in run(program, "--print-rows").splitlines()]


@pytest.fixture
def compiled(tmp_path):
    """compiled(COMPILER, FLAG…) builds the probe."""
    def build(compiler, *flags):
        program = tmp_path / "tsd-probe"
        run(compiler, "-O1", "-Wall", "-Werror", "-o", program, PROBE, "-pthread", *flags)
        return program

    return build


@pytest.mark.parametrize("flags", [[], ["-static"]], ids=["dynamic", "static"])
def test_this_systems_libc(rows, compiled, flags):
    check(rows, parse(run(compiled(os.environ.get("CC", "gcc"), *flags))))


def test_musl(rows, compiled):
    if not shutil.which("musl-gcc"):
        pytest.skip("no musl-gcc")
    check(rows, parse(run(compiled("musl-gcc", "-static"))))


def roots():
    return sorted({found.root for found in interpreters.every() if found.in_chroot}) or [None]


@pytest.mark.parametrize("root", roots(), ids=lambda root: os.path.basename(root) if root else "none")
def test_libc_of_a_root(rows, compiled, root):
    """Linked with the root's own libraries, so that an older C library than ours can run it."""
    if not root:
        pytest.skip("no roots: contrib/python-roots build, as root")
    [libc] = glob.glob(root + "/lib/*-linux-gnu/libc.so.6")
    folder = os.path.dirname(libc)
    program = compiled("gcc", "-nodefaultlibs", libc, folder + "/libpthread.so.0", "-lgcc",
                       "-Wl,--allow-shlib-undefined", "-Wl,-rpath-link," + folder)
    inside = "/tmp/tsd-probe-%d" % os.getpid()
    shutil.copy(program, root + inside)
    try:
        measured = parse(run("chroot", root, inside))
    finally:
        os.unlink(root + inside)
    check(rows, measured)


@pytest.mark.parametrize("field", FIELDS[2:])
def test_an_altered_row_is_told(rows, compiled, field):
    """The guard itself: measured and table value are named."""
    measured = parse(run(compiled("gcc")))
    altered = [dict(row, **{field: row[field] + 8}) for row in rows]
    with pytest.raises(AssertionError) as failure:
        check(altered, measured)
    assert "measured %s 0x%x, table says 0x%x" % (field, measured[field], measured[field] + 8) in str(failure.value)
