# SPDX-License-Identifier: MIT
"""go tool pprof reads our pprof files and says what the collapsed file says."""

import collections
import re
import subprocess

import pytest

import formats
import runs
import targets


@pytest.fixture
def pprof(consumer):
    """pprof("-top", …) is the report, on a profile that go's pprof has no complaint of."""
    go = consumer("pprof")

    def report(*arguments):
        command = [go, "tool", "pprof", "-symbolize=none", *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        assert done.returncode == 0 and b"rror" not in done.stderr, done.stderr
        return done.stdout.decode()

    return report


def raw_stacks(report):
    """The samples of -raw, outermost first, as names, and both values. A name with a line end in it is None."""
    samples, locations = report.split("\nLocations\n")
    names = dict(re.findall(r"^ *(\d+): 0x0 M=\d+ (.*) \S*:\d+:\d+ s=\d+\(\)$", locations.split("\nMappings\n")[0], re.M))
    for count, ns, stack in re.findall(r"^ *(\d+) +(\d+): ([\d ]+)$", samples, re.M):
        yield [names.get(location) for location in reversed(stack.split())], int(count), int(ns)


def top_rows(report):
    """name → (own, total) of -top."""
    rows = re.findall(r"^ *(\S+) +\S+ +\S+ +(\S+) +\S+  (.*)$", report, re.M)
    return {name: (value(flat), value(cum)) for flat, cum, name in rows if flat != "flat"}


def value(text):
    return int(re.fullmatch(r"(-?\d+)(ns)?", text).group(1))


def everything(pprof, path, unit):
    units = ["-unit", "ns"] if unit == "ns" else ["-sample_index", "samples"]
    return pprof("-top", "-nodecount", "100000", "-nodefraction", "0", *units, path)


@pytest.fixture(scope="module")
def recorded(usual_python, tmp_path_factory):
    """A real recording."""
    path = tmp_path_factory.mktemp("pprof") / "busy.pb.gz"
    with targets.python(usual_python, "busy.py") as target:
        outcome = runs.record(target, 1, "--native", "-o", path)
        target.finish()
    return path, outcome


def test_raw_has_the_stacks_of_the_collapsed_file(pprof, write_formats):
    """Given a profile in both formats: the same stacks of plain names, with the same numbers."""
    files = write_formats("samples")
    expected, found = collections.Counter(), collections.Counter()
    for stack in formats.of_collapsed(files["collapsed"], True):
        expected[tuple(frame.name.decode("utf-8", "replace") for frame in stack.frames)] += stack.weight
    for names, count, _ in raw_stacks(pprof("-raw", files["pprof"])):
        found[tuple(names)] += count
    plain = [stack for stack in expected if stack and all(re.fullmatch(r"[\w<>(){}:;]+", name) for name in stack)]
    assert len(plain) >= 8
    assert {stack: found[stack] for stack in plain} == {stack: expected[stack] for stack in plain}
    assert sum(found.values()) == sum(expected.values())


@pytest.mark.parametrize("unit", ["samples", "ns"])
@pytest.mark.parametrize("words", [(), ("no-line",), ("cpu",)], ids=" ".join)
def test_top_has_the_numbers_of_the_collapsed_file(pprof, write_formats, unit, words):
    """Own and total weight of each function, and the sum of all."""
    files = write_formats(unit, *words)
    stacks = formats.of_collapsed(files["collapsed"], True)
    own, total = formats.own(stacks), formats.total(stacks)
    report = everything(pprof, files["pprof"], unit)
    rows = top_rows(report)
    names = [name for name in total if re.fullmatch(rb"[\w<>(){}]+", name)]
    assert {b"work", b"<module>", b"<lambda>", b"fib", b"{}", b"child"} <= set(names)
    for name in names:
        assert rows[name.decode()] == (own[name], total[name]), name
    in_all = int(re.search(r"of (\d+)(?:ns)? total", report).group(1))
    assert in_all == sum(stack.weight for stack in stacks)


def test_a_profile_without_itself_is_nothing(pprof, write_formats):
    """-diff_base with the same file: every number is 0."""
    path = write_formats("samples")["pprof"]
    rows = top_rows(pprof("-top", "-nodefraction", "0", "-sample_index", "samples", "-diff_base", path, path))
    assert all(numbers == (0, 0) for numbers in rows.values())


def test_a_difference_is_that_of_the_collapsed_files(pprof, write_formats):
    """-diff_base with a profile that lacks a process: what is left is that process."""
    both, one = write_formats("samples"), write_formats("samples", "one-process")
    report = pprof("-top", "-nodecount", "100000", "-nodefraction", "0", "-sample_index", "samples", "-diff_base", one["pprof"], both["pprof"])
    rows = top_rows(report)
    expected = formats.total(formats.of_collapsed(both["collapsed"], True))
    expected.subtract(formats.total(formats.of_collapsed(one["collapsed"], False)))
    assert expected[b"child"] == 13
    for name, number in expected.items():
        if number:
            assert rows[name.decode()][1] == number, name


def test_threads_and_processes_can_be_told_apart(pprof, write_formats):
    """Labels: by process, by thread, by state."""
    path = write_formats("samples")["pprof"]
    tags = pprof("-tags", "-sample_index", "samples", path)
    assert re.search(r"13 \( *[\d.]+%\): child;<b>", tags) and re.search(r"\): server\n", tags)
    assert re.search(r" 6 \( *[\d.]+%\): idle\n", tags), tags
    focused = everything_of(pprof, path, "process=child")
    assert focused["<module>"] == (0, 13) and focused["child"] == (13, 13)


def everything_of(pprof, path, focus):
    return top_rows(pprof("-top", "-nodefraction", "0", "-sample_index", "samples", "-tagfocus", focus, path))


def test_a_real_recording(pprof, recorded):
    """As many samples as the summary says; nobody looks for symbols, and the library is a mapping."""
    path, outcome = recorded
    report = pprof("-raw", path)
    assert sum(count for _, count, _ in raw_stacks(report)) == outcome.samples
    assert "[dflt]" in report.split("wall/nanoseconds")[1][:10]
    assert re.search(r"^\d+: 0x0/0x0/0x0 \S*(python|libpython)\S* +\[FN\]\[FL\]\[LN\]$", report, re.M)
    rows = top_rows(everything(pprof, path, "samples"))
    assert rows["<module>"][1] == outcome.samples and rows["outer"][1] > 0.9 * outcome.samples
