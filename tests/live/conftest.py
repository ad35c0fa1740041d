# SPDX-License-Identifier: MIT
"""Fixtures of the live tests: interpreters, small C helpers, and the pysample under test."""

import os
import pathlib
import subprocess

import pytest

import interpreters
import runs
import targets


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes more than 5 seconds")


def pytest_report_header(config):
    lines = ["interpreters: " + " ".join(interpreter.name for interpreter in interpreters.every())]
    if interpreters.missing():
        lines.append("interpreters missing: " + " ".join(interpreters.missing()))
    return lines


def pytest_generate_tests(metafunc):
    """every_python: one test an interpreter, and a skipped one for each expected version that is not here."""
    if "every_python" in metafunc.fixturenames:
        parameters = [pytest.param(found, id=found.name) for found in interpreters.every()]
        parameters += [absent(version) for version in interpreters.missing()]
        metafunc.parametrize("every_python", parameters)
    if "copyable_python" in metafunc.fixturenames:
        found = [interpreter for interpreter in interpreters.every() if interpreters.is_copyable(interpreter)]
        parameters = [pytest.param(interpreter, id=interpreter.name) for interpreter in found]
        metafunc.parametrize("copyable_python", parameters or [absent("pyenv")])


def absent(version):
    mark = pytest.mark.skip(reason="no CPython %s on this machine" % version)
    return pytest.param(None, id="%s-missing" % version, marks=mark)


@pytest.fixture(scope="session", autouse=True)
def the_program():
    return runs.program()


@pytest.fixture(scope="session")
def usual_python():
    """The interpreter of tests that need only one."""
    found = interpreters.usual()
    if not found:
        pytest.skip("no CPython on this machine")
    return found


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """build("x.c", "-shared", …) compiles tests/programs/x.c once a session and returns the path of the result."""
    directory = tmp_path_factory.mktemp("built")
    directory.chmod(0o755)
    for parent in directory.parents[:2]:
        parent.chmod(0o755)
    built = {}

    def compiled(source, *flags):
        key = (source, flags)
        if key not in built:
            path = directory / ("%s-%d%s" % (pathlib.Path(source).stem, len(built), ".so" if "-shared" in flags else ""))
            compiler = os.environ.get("CC", "gcc")
            command = [compiler, "-O1", "-g", "-D_GNU_SOURCE", "-Wall", "-Werror", str(targets.PROGRAMS / source)]
            subprocess.run([*command, *flags, "-o", str(path)], check=True)
            built[key] = str(path)
        return built[key]

    return compiled


@pytest.fixture(scope="session")
def helpers(build):
    """The shared library of tests/programs/syscalls.c, for programs that call it through ctypes."""
    return build("syscalls.c", "-shared", "-fPIC", "-pthread")


@pytest.fixture
def as_root():
    if os.geteuid() != 0:
        pytest.skip("needs root")


def programs_under_test():
    """The pysample under test, and the one that was built with sanitizers where there is one."""
    found = [pytest.param(None, id="as-built")]
    if os.environ.get("PYSAMPLE_ASAN"):
        found.append(pytest.param(os.environ["PYSAMPLE_ASAN"], id="asan"))
    return found


@pytest.fixture(params=programs_under_test())
def built(request, monkeypatch):
    if request.param:
        monkeypatch.setenv("PYSAMPLE", request.param)
        monkeypatch.setenv("ASAN_OPTIONS", "abort_on_error=1:detect_leaks=0")
        monkeypatch.setenv("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")
    return request.param
