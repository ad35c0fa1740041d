# SPDX-License-Identifier: MIT
"""
Names of native functions wherever a file has them: a program whose symbols are in .symtab, in .dynsym only, in a debug file
found by build id or by debug link, or in .gnu_debugdata. hidden_spin is in .symtab only; public_spin is exported.
"""

import os
import shutil
import signal
import subprocess

import pytest

import interpreters
import runs
import targets


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            pytest.skip("there is no %s here" % tool)


def tool(*words):
    subprocess.run([str(word) for word in words], check=True)


def build_id(path):
    notes = subprocess.run(["readelf", "-n", str(path)], stdout=subprocess.PIPE, check=True, text=True).stdout
    return next(line.split()[-1] for line in notes.splitlines() if "Build ID" in line)


@pytest.fixture()
def linked(build):
    """The program with all its symbols and a build id."""
    return build("two_spins.c", "-rdynamic", "-Wl,--build-id")


def native_names(program, *options):
    """The functions directly below main."""
    with targets.command(program) as target:
        outcome = runs.record(target, 0.5, "--native", *options).ok()
    found = set()
    for frames in outcome.stacks():
        names = [frame.name for frame in frames]
        if names[-1] in ("public_spin", "hidden_spin"):
            found.add(names[-1])
        elif frames[-1].file and os.path.basename(frames[-1].file) == os.path.basename(str(program)):
            found.add("unnamed" if names[-1].startswith("+0x") else names[-1])
    return found - {"main"}


BOTH = {"public_spin", "hidden_spin"}
EXPORTED = {"public_spin", "unnamed"}


def test_symtab(linked):
    assert native_names(linked) == BOTH


def test_dynsym(linked, tmp_path):
    """What is not exported stays without a name: it is not given that of a neighbour."""
    need("strip")
    tool("strip", "-o", tmp_path / "bare", linked)
    assert native_names(tmp_path / "bare") == EXPORTED


def test_debug_file_by_build_id(linked, tmp_path):
    need("strip", "objcopy", "readelf")
    identity = build_id(linked)
    place = tmp_path / "debug" / ".build-id" / identity[:2] / (identity[2:] + ".debug")
    place.parent.mkdir(parents=True)
    tool("objcopy", "--only-keep-debug", linked, place)
    tool("strip", "-o", tmp_path / "bare", linked)
    assert native_names(tmp_path / "bare", "--debug-dir", tmp_path / "debug") == BOTH


def test_debug_file_by_link(linked, tmp_path):
    need("strip", "objcopy")
    (tmp_path / ".debug").mkdir()
    tool("objcopy", "--only-keep-debug", linked, tmp_path / ".debug" / "it.debug")
    tool("strip", "-o", tmp_path / "bare", linked)
    tool("objcopy", "--add-gnu-debuglink=%s" % (tmp_path / ".debug" / "it.debug"), tmp_path / "bare")
    assert native_names(tmp_path / "bare") == BOTH


def test_debug_file_of_another_build(build, linked, tmp_path):
    """At the right place, but for another program."""
    need("strip", "objcopy")
    other = build("two_spins.c", "-rdynamic", "-O2", "-Wl,--build-id=0x0123456789")
    (tmp_path / ".debug").mkdir()
    tool("objcopy", "--only-keep-debug", other, tmp_path / ".debug" / "it.debug")
    tool("strip", "-o", tmp_path / "bare", linked)
    tool("objcopy", "--add-gnu-debuglink=%s" % (tmp_path / ".debug" / "it.debug"), tmp_path / "bare")
    assert native_names(tmp_path / "bare") == EXPORTED


def test_embedded_symbols(linked, tmp_path):
    need("strip", "objcopy", "xz")
    tool("objcopy", "-S", "--keep-symbol=hidden_spin", linked, tmp_path / "mini")
    tool("xz", tmp_path / "mini")
    tool("strip", "-o", tmp_path / "bare", linked)
    tool("objcopy", "--add-section", ".gnu_debugdata=%s" % (tmp_path / "mini.xz"), tmp_path / "bare")
    assert native_names(tmp_path / "bare") == BOTH


def test_deleted_program(linked, tmp_path):
    """The file is gone: it is still reachable through the process."""
    program = tmp_path / "gone"
    shutil.copy(linked, program)
    with targets.command(program) as target:
        program.unlink()
        outcome = runs.record(target, 0.5, "--native").ok()
    assert {frames[-1].name for frames in outcome.stacks()} >= BOTH


def test_libraries_that_come_and_go(build, built):
    """Given a library that is loaded, used and unloaded again and again, its function has its name when the run ends."""
    library = build("spins.c", "-shared", "-fPIC")
    with targets.python(interpreters.usual(), "unloads.py", library) as target:
        with runs.recording("-p", target.pid, "-F", 100, "--native=full") as run:
            assert target.read_line(60) == "unloaded"
            run.tell(signal.SIGINT)
            found = run.result().ok().stacks()
        target.check_untouched()
    name = os.path.basename(library)
    inside = [frame.name for frames in found for frame in frames if os.path.basename(frame.file or "") == name]
    assert len(inside) > 0 and set(inside) <= {"spin_for", "now", "clock_gettime@plt"}


def test_case_32_forty_libraries_of_100_mb(build, tmp_path):
    """
    Given forty libraries of 100 MB, and for pysample an address space of that size, of which 20 MB may be its own memory,
    the name of a function in one of them is found.
    """
    library = build("big_library.S", "-shared", "-nostdlib")
    assert os.path.getsize(library) >= 100e6
    copies = [tmp_path / ("big-%d.so" % number) for number in range(40)]
    for copy in copies:
        tool("cp", "--sparse=always", library, copy)
    limits = ["prlimit", "--as=%d" % (100 << 20), "--data=%d" % (20 << 20), "--"]
    with targets.command(build("many_libraries.c"), *map(str, copies)) as target:
        found = runs.record(target, 1, "--native", prefix=limits).stacks()
    for frames in found:
        assert [frame.name for frame in frames][-3:] == ["main", "call_back_from_a_function_with_a_long_name_777", "spin"]
