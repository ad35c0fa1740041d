# SPDX-License-Identifier: MIT
"""The static binary of `./dev static-aarch64`, alone in a root folder, profiles Pythons of an older and a newer C library."""

import os
import pathlib
import shutil
import subprocess

import pytest

import pythons
import runs
import targets


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("empty")
    top = pathlib.Path(os.environ["PYSAMPLE"]).parents[1]
    shutil.copy(top / "build-static-aarch64" / "pysample", folder)
    proc = str(folder / "proc").encode()
    os.mkdir(proc)
    assert targets.libc.mount(b"none", proc, b"proc", 0, None) == 0
    yield folder
    targets.libc.umount(proc)


@pytest.mark.parametrize("name", ["3.11-bookworm", "3.13-trixie"])
def test_profile_from_an_empty_root(name, root):
    python = next(found for found in pythons.every() if str(found) == name)
    with targets.command(*python.command(targets.PROGRAMS / "busy.py")) as target:
        words = ["/pysample", "-p", str(target.pid), "-d", "3s", "-F", "20", "--native=full"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        run = subprocess.run(words, preexec_fn=lambda: os.chroot(root), env={}, **pipes)
        outcome = runs.Outcome(run.returncode, run.stdout, run.stderr).ok()
        target.check_untouched()
    stacks = outcome.stacks()
    assert {"outer", "inner", "leaf"} <= runs.names(stacks)
    assert runs.share(stacks, "_start") > 90
