# SPDX-License-Identifier: MIT
"""
The layout tables against the interpreters of this machine: their headers measured again, the debug offsets of those that have
them, and living objects looked at through the tables. $PYTHON_HEADERS names more folders with a Python.h, separated by colons.
"""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import subprocess

import pytest

import interpreters
import targets

TOP = interpreters.SOURCE
WITNESS = targets.PROGRAMS / "layout_witness.py"

# What no living object can confirm: bounds, and what only free-threaded builds have.
UNSEEN = {
    "runtime_size", "interp_size", "tstate_size", "code_size", "owner_cstack",
    "gil_enabled", "iframe_tlbc_index", "code_tlbc", "tlbc_count", "tlbc_entries",
}  # fmt: skip


def load_generator():
    loader = importlib.machinery.SourceFileLoader("gen_py_layout", str(TOP / "contrib" / "gen-py-layout"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


generator = load_generator()


def version_of(python):
    text = subprocess.run(
        python.command("-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"), stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    return tuple(map(int, text.strip().split(".")))


def row_of(version, free_threaded=False):
    for row in generator.read_rows(os.uname().machine):
        fits = row["minor"] == version[:2] and row["first"] <= version[2] <= row["last"]
        if fits and row["free_threaded"] == free_threaded:
            return row
    pytest.fail("no row for %s%s" % (".".join(map(str, version)), "t" if free_threaded else ""))


def headers_of(python):
    code = "import sysconfig; print(sysconfig.get_config_var('INCLUDEPY'))"
    text = subprocess.run(python.command("-c", code), stdout=subprocess.PIPE, text=True, check=True).stdout
    include = pathlib.Path(python.outside(text.strip()))
    if not (include / "Python.h").exists():
        pytest.skip("no headers of %s" % python)
    return str(include)


def having(what):
    """The interpreters that pass @what, as parameters."""
    return [pytest.param(python, id=python.name) for python in interpreters.every() if what(python)]


HAVE_DEBUG_OFFSETS = having(lambda python: python.version >= (3, 13))
# Up to 3.12 the macro changes objects. The headers of Debian's debug build refuse it.
HAVE_TRACE_REFS = having(lambda python: python.version < (3, 13) and not python.name.endswith("-debug"))
MORE_HEADERS = [folder for folder in os.environ.get("PYTHON_HEADERS", "").split(":") if folder]


def differences(measured, table):
    lines = []
    for name, value in measured.items():
        smaller = name in generator.GROWING and value is not None and value < table[name]
        if smaller or (name not in generator.GROWING and value != table[name]):
            lines.append("%s: measured %s, the table has %s" % (name, value, table[name]))
    return lines


def check_headers(include):
    for build in generator.measure_all(include):
        assert differences(build["fields"], row_of(build["version"], build["free_threaded"])["fields"]) == []
        if build["debug"]:
            assert generator.shape_of(build) == generator.read_shapes()[build["version"][:2]]


def test_headers_give_the_row(every_python):
    check_headers(headers_of(every_python))


@pytest.mark.parametrize("include", MORE_HEADERS)
def test_other_headers_give_the_row(include):
    check_headers(os.path.realpath(include))


@pytest.mark.parametrize("python", HAVE_TRACE_REFS)
def test_trace_refs_move_the_object_fields_by_16(python):
    """What the selector adds for Py_TRACE_REFS, against headers that are told to have them."""
    build = generator.measure(headers_of(python), ["Py_TRACE_REFS"])
    text = (TOP / "src" / "python" / "layout" / "fields.def").read_text()
    moved = re.findall(r"^PY_OBJECT_FIELD\((\w+),", text, re.M)
    expected = dict(row_of(build["version"])["fields"])
    for name in moved:
        if expected[name] is not None:
            expected[name] += 16
    assert differences(build["fields"], expected) == []


READ_DEBUG_OFFSETS = """
import ctypes, sys
runtime = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
print(ctypes.string_at(runtime, int(sys.argv[1])).hex())
"""


@pytest.mark.parametrize("python", HAVE_DEBUG_OFFSETS)
def test_living_debug_offsets_agree_with_the_row(python):
    shape = generator.read_shapes()[python.version]
    command = python.command("-c", READ_DEBUG_OFFSETS, shape["size"])
    table = bytes.fromhex(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    version = version_of(python)
    assert table[:8] == b"xdebugpy"
    assert tuple(table[11:8:-1]) == version

    def member(name):
        return int.from_bytes(table[shape["at"][name] :][:8], "little")

    row = row_of(version)["fields"]
    answers = {name: member(name) for name, at in shape["at"].items() if at and row.get(name) is not None}
    for name in ("gil_locked", "gil_last_holder"):
        answers[name] -= member("gil_state")
    assert len(answers) > 40
    assert differences(answers, row) == []


def test_living_objects_agree_with_the_row(every_python):
    row = row_of(version_of(every_python))["fields"]
    script = pathlib.Path(every_python.outside("/tmp")) / ("layout_witness-%d.py" % os.getpid())
    script.write_text(WITNESS.read_text())
    try:
        command = every_python.command("/tmp/" + script.name, json.dumps(row))
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    finally:
        script.unlink()
    answer = json.loads(done.stdout)
    assert answer["wrong"] == []
    unseen = {name for name, value in row.items() if value is not None} - set(answer["seen"]) - UNSEEN
    assert unseen == set()
