# SPDX-License-Identifier: MIT
"""The static binary needs nothing but a kernel, and profiles programs of glibc and of musl as the usual build does."""

import re
import shutil
import subprocess

import pytest

import places
import runs
import targets
import terminal


@pytest.fixture
def static():
    return places.static_program()


@pytest.fixture
def empty_root(as_root, static, tmp_path):
    """Nothing is in there but the binary and a folder for /proc."""
    (tmp_path / "proc").mkdir()
    shutil.copy(static, tmp_path / "pysample")
    places.need(*places.in_root(tmp_path), "/pysample", "--version")
    return tmp_path


@pytest.fixture(scope="module")
def musl_root(tmp_path_factory):
    """The binary in the root folder that has no C library but musl."""
    found = places.musl_python()
    shutil.copy(places.static_program(), found.outside("/pysample"))
    return found.root


def readelf(option, program):
    return subprocess.run(["readelf", "-W", option, program], stdout=subprocess.PIPE, text=True, check=True).stdout


def test_it_needs_no_library_and_no_new_kernel(static):
    assert "INTERP" not in readelf("-l", static)
    assert "NEEDED" not in readelf("-d", static)
    major = re.search(r"OS: Linux, ABI: (\d+)\.", readelf("-n", static)).group(1)
    assert int(major) < 4


def profile(root, target, *options):
    run = subprocess.run(
        places.words(*places.in_root(root), "/pysample", "-p", target.pid, "-d", "1s", *options),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, env={},
    )
    outcome = runs.Outcome(run.returncode, run.stdout, run.stderr).ok()
    target.check_untouched()
    return outcome


def check_busy(outcome, libc, native):
    stacks = outcome.stacks()
    assert {"outer", "inner", "leaf"} <= runs.names(stacks)
    assert runs.share(stacks, "outer") > 95
    # musl itself has no unwind information: its stacks begin at main().
    if libc == "glibc":
        assert outcome.complete_percent > 90
    if native:
        assert runs.share(stacks, "_start" if libc == "glibc" else "main") > 90, "native stacks are cut"


@pytest.mark.parametrize("options", [(), ("--native=full",)], ids=["python", "native"])
@pytest.mark.parametrize("libc", ["glibc", "musl"])
@pytest.mark.parametrize("place", ["empty_root", "musl_root"])
def test_profile_from_another_root(place, libc, options, usual_python, request):
    root = request.getfixturevalue(place)
    interpreter = usual_python if libc == "glibc" else places.musl_python()
    with targets.python(interpreter, "busy.py") as target:
        check_busy(profile(root, target, *options), libc, native=options)
        target.finish()


def test_what_it_says_in_an_empty_root(empty_root, usual_python):
    with targets.python(usual_python, "busy.py") as target:
        prefix = places.in_root(empty_root)
        for words in (["--help"], ["doctor", "-p", target.pid], ["dump", "-p", target.pid]):
            run = subprocess.run(places.words(*prefix, "/pysample", *words), stdout=subprocess.PIPE, env={}, check=True)
            assert run.stdout
        target.finish()


@pytest.mark.parametrize("built_as", ["usual", "static"])
def test_musl_target_from_here(built_as, static, monkeypatch):
    """With threads: their states are found in musl's own thread-specific data."""
    if built_as == "static":
        monkeypatch.setenv("PYSAMPLE", static)
    with targets.python(places.musl_python(), "workers.py", 3) as target:
        stacks = runs.record(target, 1, "--native", "--threads").stacks()
        for number in range(3):
            assert runs.share(stacks, "spin_%d" % number) > 5
        of_thread = [frames for frames in stacks if "spin_1" in runs.names([frames])]
        assert {frames[0] for frames in of_thread} == {of_thread[0][0]}, "spin_1 is in stacks of several threads"
        target.finish()


def test_live_view_where_no_terminal_is_described(empty_root, usual_python):
    """No terminfo in there: the binary has a description of its own."""
    assert not (empty_root / "usr").exists()
    with targets.python(usual_python, "busy.py") as target:
        with terminal.running(*places.in_root(empty_root), "/pysample", "top", "-p", target.pid) as screen:
            screen.wait_text("leaf")
            screen.press("q")
            assert screen.wait_exit() == 0
        target.finish()
