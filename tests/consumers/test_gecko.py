# SPDX-License-Identifier: MIT
"""
Our files for the Firefox Profiler are what its published description says, version 56 of the processed format.

No program that reads them can be had as a package: this holds them against the description, which is the types in
src/types/profile.ts of github.com/firefox-devtools/profiler.
"""

import json

import pytest

import formats
import runs
import targets

number = (int, float)
number_or_none = (int, float, type(None))
index_or_none = (int, type(None))
text_or_none = (str, type(None))

META = {
    "interval": number,
    "startTime": number,
    "processType": int,
    "product": str,
    "stackwalk": int,
    "version": int,
    "preprocessedProfileVersion": int,
    "symbolicated": bool,
    "importedFrom": str,
}
THREAD = {
    "processType": str,
    "processStartupTime": number,
    "processShutdownTime": number_or_none,
    "registerTime": number,
    "unregisterTime": number_or_none,
    "pausedRanges": list,
    "name": str,
    "isMainThread": bool,
    "processName": str,
    "pid": str,
    "tid": int,
}
# Columns and what is in them; "=TABLE" is an index into a table or None.
TABLES = {
    "samples": {"stack": "=stackTable", "time": number, "weight": number},
    "markers": dict.fromkeys(("data", "name", "startTime", "endTime", "phase", "category"), object),
    "stackTable": {"frame": "=frameTable", "prefix": "=stackTable"},
    "frameTable": {
        "address": int,
        "inlineDepth": int,
        "category": "=categories",
        "subcategory": int,
        "func": "=funcTable",
        "nativeSymbol": "=nativeSymbols",
        "innerWindowID": index_or_none,
        "line": index_or_none,
        "column": index_or_none,
    },
    "funcTable": {
        "name": "=strings",
        "isJS": bool,
        "relevantForJS": bool,
        "resource": int,
        "fileName": "=strings",
        "lineNumber": index_or_none,
        "columnNumber": index_or_none,
    },
    "resourceTable": {"lib": index_or_none, "name": "=strings", "host": index_or_none, "type": int},
    "nativeSymbols": dict.fromkeys(("libIndex", "address", "name", "functionSize"), object),
}
NEVER_NONE = {("samples", "stack"), ("stackTable", "frame"), ("frameTable", "func"), ("funcTable", "name"), ("resourceTable", "name")}


def check_thread(document, thread):
    for member, kind in THREAD.items():
        assert isinstance(thread[member], kind), member
    lengths = {table: thread[table]["length"] for table in TABLES}
    lengths.update(strings=len(document["shared"]["stringArray"]), categories=len(document["meta"]["categories"]))
    for table, columns in TABLES.items():
        assert set(thread[table]) - {"weightType"} == set(columns) | {"length"}, table
        for column, kind in columns.items():
            cells = thread[table][column]
            assert len(cells) == lengths[table], (table, column)
            for cell in cells:
                if not isinstance(kind, str):
                    assert isinstance(cell, kind), (table, column, cell)
                elif cell is None:
                    assert (table, column) not in NEVER_NONE
                else:
                    assert 0 <= cell < lengths[kind[1:]], (table, column, cell)
    assert set(thread) == set(THREAD) | set(TABLES)
    assert all(prefix is None or prefix < own for own, prefix in enumerate(thread["stackTable"]["prefix"]))
    assert all(-1 <= resource < lengths["resourceTable"] for resource in thread["funcTable"]["resource"])
    assert thread["samples"]["time"] == sorted(thread["samples"]["time"])
    assert thread["samples"]["weightType"] in ("samples", "tracing-ms")


def check_document(document):
    assert set(document) == {"meta", "libs", "threads", "shared"}
    for member, kind in META.items():
        assert isinstance(document["meta"][member], kind), member
    assert document["meta"]["preprocessedProfileVersion"] == 56
    assert document["meta"]["categories"][0] == {"name": "Other", "color": "grey", "subcategories": ["Other"]}
    strings = document["shared"]["stringArray"]
    assert len(set(strings)) == len(strings) and all(isinstance(text, str) for text in strings)
    for thread in document["threads"]:
        check_thread(document, thread)


@pytest.mark.parametrize("words", [("samples",), ("ns",), ("ns", "no-line", "cpu"), ("one-process",)], ids=" ".join)
def test_every_table_is_as_described(write_formats, words):
    """Members, columns, lengths, types, and indices inside their tables."""
    document = json.loads(write_formats(*words)["gecko"].read_text("utf-8"))
    check_document(document)
    assert [thread["tid"] for thread in document["threads"]] == ([100, 101] if "one-process" in words else [100, 101, 200])


def test_threads_have_only_what_is_used_in_them(write_formats):
    """No row of a table that no sample leads to."""
    document = json.loads(write_formats("ns")["gecko"].read_text("utf-8"))
    for thread in document["threads"]:
        used = set(thread["samples"]["stack"]) | set(thread["stackTable"]["prefix"]) - {None}
        assert len(used) == thread["stackTable"]["length"]
        assert set(thread["stackTable"]["frame"]) == set(range(thread["frameTable"]["length"]))
        assert set(thread["frameTable"]["func"]) == set(range(thread["funcTable"]["length"]))


def test_lines_files_and_modules_are_there(write_formats):
    """A Python frame has its line and file, a native one its library."""
    path = write_formats("samples", "one-process")["gecko"]
    stacks = formats.of_gecko(path)
    assert {frame for stack in stacks for frame in stack.frames} >= {formats.Frame(b"work", b"util.py", line) for line in (11, 12)}
    document = json.loads(path.read_text())
    strings, thread = document["shared"]["stringArray"], document["threads"][0]
    poll = thread["funcTable"]["name"].index(strings.index("poll"))
    assert strings[thread["resourceTable"]["name"][thread["funcTable"]["resource"][poll]]] == "libc.so.6"
    assert thread["funcTable"]["fileName"][poll] is None


def test_a_real_recording(usual_python, tmp_path):
    """Two threads by name, each with its own function, and as many samples as the summary says."""
    path = tmp_path / "named.gecko.json"
    with targets.python(usual_python, "named.py") as target:
        outcome = runs.record(target, 1, "--native", "--weights", "samples", "-o", path)
        target.finish()
    document = json.loads(path.read_text("utf-8"))
    check_document(document)
    assert {"worker-a", "worker-b"} <= {thread["name"] for thread in document["threads"]}
    assert sum(stack.weight for stack in formats.of_gecko(path)) == outcome.samples
