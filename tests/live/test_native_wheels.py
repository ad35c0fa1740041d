# SPDX-License-Identifier: MIT
"""
Python, C and Python in one stack with packages that are not part of Python: numpy.vectorize and greenlet. They are installed by
pip into a folder of the test's own; where pip cannot, the test is skipped and says what pip said.
"""

import collections
import os
import shutil
import subprocess

import pytest

import interpreters
import runs
import stacks
import targets

PACKAGES = ["numpy", "greenlet"]
PLATFORMS = ["manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"]
# Python frames from the outermost on; "C" stands for at least one frame of C. A greenlet is no callee of who switched to it.
WAYS = {
    "vectorize": ["<module>", "main", "outer_vectorize", "C", "inner_vectorize", "spin"],
    "ufunc": ["<module>", "main", "outer_ufunc", "C", "inner_ufunc", "spin"],
    "apply": ["<module>", "main", "outer_apply", "C", "<genexpr>", "inner_apply", "spin"],
    "switch": ["C", "inner_switch", "spin"],
    "below": ["C", "child", "C", "inner_sorted", "spin"],
}
GREENLETS = {"switch": "inner_switch", "below": "child"}


def pip(python, folder, *options):
    """What went wrong, or None."""
    fixed = ["--disable-pip-version-check", "install", "--quiet", "--no-deps", "--no-compile", "--only-binary", ":all:"]
    command = python.command("-m", "pip", *fixed, *options, "--target", str(folder), *PACKAGES)
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, env=targets.environment())
    return None if run.returncode == 0 else run.stdout.strip().splitlines()[-1]


def install(python, folder):
    """Puts the packages where @python can import them from; by another interpreter's pip if it has none. What went wrong, or None."""
    failed = pip(python, folder) if not python.in_chroot else "No module named pip"
    if failed is None or "No module named" not in failed:
        return failed
    others = [other for other in interpreters.every() if interpreters.is_copyable(other) and other.version >= (3, 9)]
    if not others:
        return failed
    options = ["--implementation", "cp", "--python-version", "%d.%d" % python.version]
    for platform in PLATFORMS:
        options += ["--platform", platform]
    return pip(others[-1], folder, *options)


installed = {}  # (version, root) → (folder as the interpreter sees it, what went wrong)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """wheels(python): a folder with the packages for its version, made once."""
    made = []

    def wheels(python):
        key = (python.version, python.root)
        if key not in installed:
            name = "/tmp/wheels-%d-%d.%d" % (os.getpid(), *python.version)
            folder = name if python.in_chroot else str(tmp_path_factory.mktemp("wheels"))
            made.append(python.outside(folder) if python.in_chroot else folder)
            installed[key] = folder, install(python, made[-1])
        folder, failed = installed[key]
        if failed:
            pytest.skip("pip for %s: %s" % (python, failed))
        return folder

    yield wheels
    for folder in made:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def wheels(every_python, shelf):
    return shelf(every_python)


def way_of(frames):
    """Which way a stack is of, if it has got as far as spin below its innermost frame."""
    found = stacks.names(frames)
    for way, wanted in WAYS.items():
        if "spin" in found and wanted[-2] in found:
            return way
    return None


def is_inside_numpy(frame):
    return frame.line is not None and frame.file is not None and "numpy/" in frame.file


def outline(frames):
    """The names of the Python frames but numpy's own, and "C" for frames of C between them."""
    found = []
    for frame in frames:
        if stacks.is_native(frame) and found[-1:] != ["C"]:
            found.append("C")
        elif frame.line is not None and not is_inside_numpy(frame):
            found.append(runs.last(frame.name))
    return found


def fits_way(way, frames):
    """The wanted frames are there in their order; C before the outermost and after the innermost is nobody's."""
    found, wanted = outline(frames), WAYS[way]
    found = found[: found.index("spin") + 1]
    if way in GREENLETS:
        return found == wanted and any("greenlet" in (frame.file or "") for frame in frames)
    # Up to 3.11 sum() and others are called by the loop with a frame of C, generators are not.
    return [name for name in found if name != "C"] == [name for name in wanted if name != "C"] and "C" in found[found.index("main") :]


@pytest.mark.slow
def test_numpy_and_greenlet(every_python, wheels):
    """
    Given Python that numpy calls back, and greenlets: 99 % of the samples are merged, in the order of the calls. The frames of a greenlet
    come after greenlet's code, and those of who started it are not shown as its callers. 99.5 % are complete; not asked of greenlets,
    since what is on the stack outside of one may be another by now (docs/unwinding-differences.md).
    """
    with targets.python(every_python, "mixed_wheels.py", wheels) as target:
        found = runs.record(target, 5, "-F", 200, "--native").stacks()
        target.finish()
    fitting = stacks.percent(found, stacks.fits)
    assert fitting >= 99, next(frames for frames in found if not stacks.fits(frames))
    usual = {frames: weight for frames, weight in found.items() if not any(name in GREENLETS.values() for name in stacks.names(frames))}
    complete = stacks.percent(usual, lambda frames: not stacks.is_cut(frames))
    assert complete >= 99.5, next(frames for frames in usual if stacks.is_cut(frames))
    ways, wrong = collections.Counter(), []
    for frames, weight in found.items():
        way = way_of(frames) if stacks.fits(frames) else None
        if way:
            ways[way] += weight
            if not fits_way(way, frames):
                wrong.append((way, outline(frames)))
    assert set(ways) == set(WAYS)
    assert not wrong, wrong[0]
