# SPDX-License-Identifier: MIT
"""What doctor says of the Python in a process: which version, in which file, found by what."""

import os
import re
import struct
import subprocess

import pytest

import interpreters
import runs
import targets

# A program that waits without any module that would have to be loaded.
WAIT = "import posix; posix.write(1, b'ready\\n'); posix.read(0, 1)"

STATIC_LIBRARIES = ["-lpthread", "-ldl", "-lutil", "-lm"]


class Found:
    """The runtimes in a report of doctor."""

    def __init__(self, target):
        outcome = runs.pysample("doctor", "-p", target.pid)
        self.text = outcome.out + outcome.err
        self.runtimes = re.findall(r"CPython (\S+?)(, debug build)?(?:, free-threaded)? in (.*), found by (.*)", self.text)

    def one(self):
        assert len(self.runtimes) == 1, self.text
        version, debug, path, found_by = self.runtimes[0]
        return version, bool(debug), path, found_by


def version_of(python):
    ask = "import sys; print(sys.version.split()[0])"
    return subprocess.run(python.command("-c", ask), stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def test_every_interpreter(every_python):
    """Given any interpreter as it is installed, doctor names the version that the interpreter names."""
    with targets.command(*every_python.command("-c", WAIT)) as target:
        version, debug, _, found_by = Found(target).one()
        assert version == version_of(every_python)
        assert debug == every_python.name.endswith("-debug")
        usual = "symbol _PyRuntime" if every_python.version >= (3, 7) else "code of PyInterpreterState_Head"
        assert found_by == usual


def test_a_process_without_python():
    """Given a program without Python, doctor says so and finds none."""
    with targets.command("sh", "-c", "echo ready; exec sleep 60") as target:
        found = Found(target)
        assert not found.runtimes
        assert "Python" in found.text


def static_parts(wanted):
    """(interpreter, flags to compile, flags to link) for a static libpython of the wanted version; skips without one."""
    python = interpreters.one(wanted)
    if not python or python.in_chroot:
        pytest.skip("no CPython %s" % wanted)
    ask = "import sysconfig as s; print(s.get_path('include')); print(s.get_config_var('LIBPL'))"
    include, directory = subprocess.run([python.program, "-c", ask], stdout=subprocess.PIPE, text=True).stdout.split()
    archives = [name for name in os.listdir(directory) if re.fullmatch(r"libpython[\d.]+[md]*\.a", name)]
    if not archives:
        pytest.skip("no static libpython of CPython %s" % wanted)
    link = [os.path.join(directory, archives[0]), *STATIC_LIBRARIES]
    if python.program.startswith("/usr/bin"):
        link += ["-no-pie", "-lexpat", "-lz"]
    return python, ["-pthread", "-I" + include], link


def home(python):
    return {"PYTHONHOME": os.path.dirname(os.path.dirname(python.program))}


def drop_section_headers(path):
    """What "sstrip" does: e_shoff, e_shnum and e_shstrndx of the ELF header become 0."""
    with open(path, "r+b") as file:
        assert file.read(5) == b"\x7fELF\x02"
        file.seek(0x28)
        file.write(struct.pack("<Q", 0))
        file.seek(0x3C)
        file.write(struct.pack("<HH", 0, 0))


SEARCHED = "search for an interpreter in its data"
SECTION = "section .PyRuntime"  # strip leaves its name in place


@pytest.mark.parametrize("options", [[], ["-s"]], ids=["alone", "with-sub-interpreter"])
@pytest.mark.parametrize("wholly", [False, True], ids=["static-python", "wholly-static"])
@pytest.mark.parametrize(
    "wanted, by",
    [
        ("2.7.", SEARCHED),
        ("3.6.", SEARCHED),
        ("3.7.", SEARCHED),
        ("3.8.", SEARCHED),
        ("3.9.", SEARCHED),
        ("3.10.", SECTION),
        ("3.11.", SECTION),
        ("3.12.", SECTION),
        ("3.13.", SECTION),
    ],
)
def test_stripped_program_that_exports_nothing(build, tmp_path, wanted, by, wholly, options):
    """Given a program with Python linked in, nothing exported and no symbols, the runtime is found in its data."""
    python, compile_flags, link = static_parts(wanted)
    if wholly:
        link = [*link, "-static", "-Wno-error", "-w"]
    program = tmp_path / "server"
    subprocess.run(["strip", "--strip-all", "-o", str(program), build("embed.c", *compile_flags, *link)], check=True)
    with targets.command(program, *options, WAIT, environment=home(python)) as target:
        version, _, path, found_by = Found(target).one()
        assert (version, found_by) == (version_of(python), by)
        assert path == str(program)


@pytest.mark.parametrize(
    "wanted, by",
    [
        ("3.10.", SEARCHED),
        ("3.11.", SEARCHED),
        ("system", SEARCHED),
        ("3.12.", SEARCHED),
        ("3.13.", "debug offsets in its data"),
    ],
)
def test_program_without_section_headers(build, tmp_path, wanted, by):
    """Given the same without section headers, it is found all the same."""
    python, compile_flags, link = static_parts(wanted)
    program = tmp_path / "server"
    subprocess.run(["strip", "--strip-all", "-o", str(program), build("embed.c", *compile_flags, *link)], check=True)
    drop_section_headers(program)
    with targets.command(program, WAIT, environment=home(python)) as target:
        version, _, _, found_by = Found(target).one()
        assert (version, found_by) == (version_of(python), by)


@pytest.mark.parametrize("wanted", ["3.9.", "3.11.", "3.12.", "3.13."])
def test_executable_with_a_copy_of_the_runtime(build, wanted):
    """Given a program at a fixed address that refers to _PyRuntime, the copy that it holds is the one that lives."""
    python, compile_flags, _ = static_parts(wanted)
    prefix = os.path.dirname(os.path.dirname(python.program))
    library = os.path.join(prefix, "lib", "libpython%d.%d.so.1.0" % python.version)
    flags = ["-DREFER_TO_RUNTIME", "-no-pie", "-fno-pic", *compile_flags, library, "-Wl,-rpath," + prefix + "/lib"]
    program = build("embed.c", *flags)
    defined = subprocess.run(["nm", "-D", program], stdout=subprocess.PIPE, text=True).stdout
    assert re.search(r" B _PyRuntime$", defined, re.M)
    with targets.command(program, WAIT, environment=home(python)) as target:
        assert Found(target).one()[0] == version_of(python)
        dumped = runs.pysample("dump", "-p", target.pid).ok()
        assert "<module>" in dumped.out
