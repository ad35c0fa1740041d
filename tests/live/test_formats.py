# SPDX-License-Identifier: MIT
"""What docs/formats.md says of each format is so in files that pysample wrote."""

import json
import re

import pytest

import runs
import targets

COUNTERS = runs.pathlib.Path(__file__).resolve().parents[2] / "src" / "aggregate" / "counters.def"
REASONS = COUNTERS.parents[1] / "base" / "reason.def"

number = int
text = str
text_or_none = (str, type(None))
HISTOGRAM = {"count": number, "sum": number, "p50": number, "p90": number, "p99": number, "max": number, "buckets": [(number, number)]}
SCHEMA = {
    "format": text,
    "version": number,
    "tool": {"name": text, "version": text, "argv": [text]},
    "processes": [
        {
            "pid": number,
            "parent": (int, type(None)),
            "name": text,
            "argv": [text],
            "executable": text,
            "python_version": text,
            "runtime": text,
            "found_by": text,
            "layout": text,
            "thread_source": text,
        }
    ],
    "start_time": text,
    "duration_ns": number,
    "options": {"mode": text, "interval_ns": number, "full_paths": bool},
    "stats": {
        "ticks": number,
        "late": number,
        "skipped": number,
        "rate_hz": float,
        "samples": number,
        "complete": number,
        "cut": dict,
        "stop_ns": HISTOGRAM,
        "hold_ns": HISTOGRAM,
        "lateness_ns": HISTOGRAM,
        "notes": [text],
    },
    "losses": dict,
    "threads": [{"process": number, "tid": number, "kernel_name": text_or_none, "python_name": text_or_none}],
    "functions": [{"name": text, "file": text_or_none, "short_file": text_or_none, "line": number, "kind": text}],
    "frames": [(number, number)],
    "stacks": [((int, type(None)), number)],
    "samples": [
        {
            "thread": number,
            "stack": (int, type(None)),
            "state": text,
            "gil": bool,
            "end": text,
            "count": number,
            "wall_ns": number,
            "cpu_ns": number,
        }
    ],
}


def names_in(path):
    return set(re.findall(r'^(?:COUNTER|REASON)\(\w+, "(\w+)"', path.read_text(), re.M))


def is_types(schema):
    return isinstance(schema, type) or all(isinstance(item, type) for item in schema)


def check(value, schema, where, more=()):
    """Fails where a value is not what the schema says: types, objects by member, [item], (item of a pair, …)."""
    if isinstance(schema, dict):
        assert isinstance(value, dict), where
        assert set(value) == set(schema) | set(more), where
        for name in schema:
            check(value[name], schema[name], "%s.%s" % (where, name), names_in(COUNTERS) if name == "stats" else ())
    elif isinstance(schema, list):
        assert isinstance(value, list), where
        for index, item in enumerate(value):
            check(item, schema[0], "%s[%d]" % (where, index))
    elif isinstance(value, list):
        assert len(value) == len(schema), where
        for index, item in enumerate(schema):
            check(value[index], item, "%s[%d]" % (where, index))
    else:
        assert is_types(schema) and isinstance(value, schema), (where, value)
        assert not isinstance(value, bool) or schema is bool, (where, value)


def unescape(escaped):
    """The example of docs/formats.md."""

    def one(match):
        half, odd = divmod(len(match[1]), 2)
        return b"\\" * half + (bytes.fromhex(match[2].decode()) if odd else b"x" + match[2])

    return re.sub(rb"(\\+)x([0-9a-f]{2})", one, escaped)


@pytest.fixture(scope="module")
def recorded(usual_python):
    """A JSON profile of named.py, its idle threads included, and the outcome that it came from."""
    with targets.python(usual_python, "named.py") as target:
        outcome = runs.record(target, 1, "-F", 100, "--idle", "-f", "json")
        target.finish()
    return json.loads(outcome.out), outcome


def test_json_has_the_members_of_the_document_and_no_others(recorded):
    """Every member is there with its type; all but names of threads and marks are known."""
    document, _ = recorded
    check(document, SCHEMA, "profile")
    assert document["format"] == "pysample" and document["version"] == 2
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)", document["start_time"])
    assert 0.9e9 < document["duration_ns"] < 2e9 and document["options"]["interval_ns"] == 10_000_000


def test_json_words_are_those_of_the_document(recorded):
    """Modes, states, kinds and reasons are names that are written down somewhere."""
    document, _ = recorded
    reasons = names_in(REASONS)
    assert document["options"]["mode"] == "wall"
    assert {sample["state"] for sample in document["samples"]} == {"active", "idle"}
    assert {function["kind"] for function in document["functions"]} <= {"python", "native", "marker"}
    assert {sample["end"] for sample in document["samples"]} <= reasons
    assert set(document["losses"]) <= reasons and set(document["stats"]["cut"]) <= reasons - {"ok"}


def test_json_numbers_agree_with_each_other_and_with_the_summary(recorded):
    """Samples are as many as the statistics say; histograms have as many values as there were ticks and stops."""
    document, outcome = recorded
    stats = document["stats"]
    counts = [sample["count"] for sample in document["samples"]]
    assert sum(counts) == stats["samples"] == outcome.samples
    complete = sum(sample["count"] for sample in document["samples"] if sample["end"] == "ok")
    assert complete == stats["complete"] == stats["samples"] - sum(stats["cut"].values())
    assert stats["lateness_ns"]["count"] == stats["ticks"] > 50
    assert stats["stop_ns"]["count"] == stats["stops"] > 0
    for histogram in (stats["stop_ns"], stats["lateness_ns"]):
        assert sum(count for _, count in histogram["buckets"]) == histogram["count"]
        assert histogram["p50"] <= histogram["p90"] <= histogram["p99"] <= histogram["max"]
    assert abs(stats["rate_hz"] - stats["ticks"] * 1e9 / document["duration_ns"]) < 0.01


def test_json_tables_hold_together(recorded):
    """Indices are inside their tables, a parent comes before its child, nothing is there twice."""
    document, _ = recorded
    assert all(0 <= function < len(document["functions"]) for function, _ in document["frames"])
    for index, (parent, frame) in enumerate(document["stacks"]):
        assert (parent is None or 0 <= parent < index) and 0 <= frame < len(document["frames"])
    for sample in document["samples"]:
        assert 0 <= sample["thread"] < len(document["threads"])
        assert sample["stack"] is None or 0 <= sample["stack"] < len(document["stacks"])
    for table in ("functions", "frames", "stacks"):
        rows = [json.dumps(row) for row in document[table]]
        assert len(rows) == len(set(rows)), table
    keys = [(s["thread"], s["stack"], s["state"], s["gil"], s["end"]) for s in document["samples"]]
    assert len(keys) == len(set(keys))


def test_short_files_are_unique_ends_of_the_full_ones(recorded):
    """Two files never have the same short text, and a short text is the end of the file."""
    document, _ = recorded
    files = {}
    for function in document["functions"]:
        if function["file"] is not None:
            assert function["file"].endswith(function["short_file"])
            assert files.setdefault(function["short_file"], function["file"]) == function["file"]
    assert "threading.py" in files and "named.py" in files


def test_collapsed_frames_have_full_paths_if_asked_for(usual_python):
    """--full-paths: files are what the target says; without it they are shorter."""
    with targets.python(usual_python, "busy.py") as target:
        short = runs.record(target, 0.3).stacks()
        full = runs.record(target, 0.3, "--full-paths").stacks()
        target.finish()
    assert {frame.file for frames in short for frame in frames} >= {"busy.py"}
    assert all(frame.file.startswith("/") for frames in full for frame in frames if frame.file)


def test_collapsed_without_lines_has_each_function_stack_once(usual_python):
    """--no-line: no frame has a line, and stacks that differed only by line are one."""
    with targets.python(usual_python, "busy.py") as target:
        stacks = runs.record(target, 0.5, "--no-line").stacks()
        target.finish()
    assert all(frame.line is None for frames in stacks for frame in frames)
    assert any([frame.name for frame in frames] == ["<module>", "outer", "inner", "leaf"] for frames in stacks)


def test_collapsed_by_thread(usual_python):
    """--threads: the outermost frame is "thread TID (NAME)", NAME being Python's."""
    with targets.python(usual_python, "named.py") as target:
        stacks = runs.record(target, 0.5, "--threads").stacks()
        target.finish()
    roots = {(frames[0].name, frames[0].file) for frames in stacks}
    assert all(re.fullmatch(r"thread \d+", name) for name, _ in roots)
    assert {name for _, name in roots} >= {"worker-a", "worker-b"}


def test_weights_are_samples_or_nanoseconds(usual_python):
    """--weights: one busy thread has as many samples as the summary says, or as many nanoseconds as have gone by."""
    with targets.python(usual_python, "busy.py") as target:
        samples = runs.record(target, 1, "--weights", "samples")
        ns = runs.record(target, 1, "--weights", "ns")
        target.finish()
    assert sum(samples.stacks().values()) == samples.samples
    assert 0.9e9 < sum(ns.stacks().values()) < 1.1e9


def test_names_can_be_had_back(usual_python):
    """Given strange names, what the document says of escapes gives each of them back, undecodable bytes too."""
    with targets.python(usual_python, "strange.py") as target:
        said = json.loads(target.read_line())
        outcome = runs.record(target, 1, "-F", 200, "--full-paths")
        target.finish()
    lines = outcome.out.encode("utf-8").splitlines()
    frames = {frame for line in lines for frame in line.rpartition(b" ")[0].split(b";")}
    assert len(lines) == len(set(lines)) and all(frame.endswith(b")") for frame in frames)
    names = {unescape(frame.rpartition(b" (")[0]) for frame in frames}
    files = {unescape(frame.rpartition(b" (")[2].partition(b":")[0]) for frame in frames}
    assert {name.encode() for name in said["names"]} <= names
    assert {file.encode() for file in said["files"]} <= files
    # A surrogate that stands for an undecodable byte, in the three bytes of its code point.
    assert "bytes_\udcff\udcfe.py".encode("utf-8", "surrogatepass") in files


def test_the_stacks_heaviest_first(usual_python):
    """Lines of a collapsed file are sorted by their number."""
    with targets.python(usual_python, "busy.py") as target:
        outcome = runs.record(target, 0.5)
        target.finish()
    numbers = [int(line.rpartition(" ")[2]) for line in outcome.out.splitlines()]
    assert numbers and numbers == sorted(numbers, reverse=True)
