# SPDX-License-Identifier: MIT
"""Fixtures of the tests with programs of others: those programs, and one profile in every format."""

import os
import pathlib
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests" / "live"))

import interpreters  # noqa: E402
import runs  # noqa: E402


def consumers():
    run = subprocess.run([SOURCE / "contrib" / "consumers", "list"], stdout=subprocess.PIPE, text=True, check=True)
    return dict(line.split(" ", 1) for line in run.stdout.splitlines())


@pytest.fixture(scope="session")
def consumer():
    """consumer("inferno") is the path of the consumer; the test is skipped where it is not there."""
    found = consumers()

    def path_of(name):
        if name not in found:
            pytest.skip("no %s: see contrib/consumers" % name)
        return pathlib.Path(found[name])

    return path_of


@pytest.fixture(scope="session")
def usual_python():
    found = interpreters.usual()
    if not found:
        pytest.skip("no CPython on this machine")
    return found


@pytest.fixture(scope="session")
def write_formats(tmp_path_factory):
    """write_formats("no-line", …) is a path by name of format: write_formats.c has the profile and the words."""
    program = pathlib.Path(runs.program()).parent / "tests" / "consumers" / "write_formats"
    assert program.is_file(), "make -C build tests/consumers/write_formats"
    written = {}

    def write(*words):
        if words not in written:
            directory = tmp_path_factory.mktemp("formats")
            run = subprocess.run([program, directory, *words], stdout=subprocess.PIPE, text=True, check=True)
            written[words] = {name: pathlib.Path(path) for name, path in (line.split(" ", 1) for line in run.stdout.splitlines())}
        return written[words]

    return write


@pytest.fixture(scope="session")
def run_node(consumer, tmp_path_factory):
    """run_node("x.js", …) runs a script of this folder with the installed packages and returns its standard output."""
    modules = consumer("npm")

    def run(script, *arguments, patience_s=120):
        environment = dict(os.environ, NODE_PATH=str(modules))
        command = ["node", pathlib.Path(__file__).parent / script, *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, timeout=patience_s)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
