# SPDX-License-Identifier: MIT
"""A file that is read again gives the other formats as they were written at once, and a difference is inferno's."""

import re
import subprocess

import pytest

import runs



@pytest.mark.parametrize("name", ["collapsed", "json", "speedscope", "gecko", "flamegraph", "svg", "pprof"])
def test_a_file_converted_is_the_file_written_at_once(write_formats, tmp_path, name):
    """Hostile names, several processes, cut stacks: all that the JSON has."""
    files = write_formats("samples")
    made = tmp_path / files[name].name
    runs.pysample("report", "--weights", "samples", "-f", name, "-o", made, files["json"]).ok()
    assert made.read_bytes() == files[name].read_bytes()


@pytest.fixture
def inferno(consumer):
    folder = consumer("inferno")

    def run(name, *arguments):
        done = subprocess.run([folder / ("inferno-" + name), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        assert done.returncode == 0 and done.stderr == b"", done.stderr
        return done.stdout.decode("utf-8")

    return run


def rows_of(text):
    """{(stack, before, after)}"""
    found = set()
    for line in text.split("\n")[:-1]:
        stack, before, after = line.rsplit(" ", 2)
        assert (stack, int(before), int(after)) not in found
        found.add((stack, int(before), int(after)))
    return found


def test_a_difference_is_the_one_that_inferno_makes(inferno, write_formats, tmp_path):
    """Of the same stacks and of others, and with a flame graph of it that has every line."""
    both = write_formats("samples", "one-process")["collapsed"]
    other = tmp_path / "other.collapsed"
    lines = both.read_text("utf-8").split("\n")[:-1]
    other.write_text("".join("%s 7\n" % line.rpartition(" ")[0] for line in lines[::2]) + "only (there.py:1) 5\n")
    ours = tmp_path / "diff.collapsed"
    runs.pysample("diff", "--absolute", "-f", "collapsed", "-o", ours, both, other).ok()
    assert rows_of(ours.read_text("utf-8")) == rows_of(inferno("diff-folded", both, other))
    picture = inferno("flamegraph", "--minwidth", "0", ours)
    assert len(re.findall(r"<title>", picture)) > len(lines) // 2
