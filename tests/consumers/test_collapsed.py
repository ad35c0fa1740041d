# SPDX-License-Identifier: MIT
"""inferno takes our collapsed files, every line of them, whatever the names are."""

import collections
import html
import json
import re
import subprocess

import pytest

import runs
import targets


@pytest.fixture
def inferno(consumer):
    """inferno("flamegraph", file, …) is what the program prints; it says nothing on standard error."""
    folder = consumer("inferno")

    def run(name, *arguments):
        done = subprocess.run([folder / ("inferno-" + name), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        # It ends with 0 also where it has left lines out, and says so.
        assert done.returncode == 0 and done.stderr == b"", done.stderr
        return done.stdout.decode("utf-8")

    return run


def boxes(svg):
    """How often there is a frame of this text with so many samples."""
    titles = re.findall(r"<title>(.*?) \(([\d,]+) samples, [\d.]+%\)</title>", svg, re.S)
    return collections.Counter((html.unescape(text), int(number.replace(",", ""))) for text, number in titles)


def expected_boxes(text):
    """The same of a collapsed file: a box for each stack that lines begin with."""
    weights = collections.Counter()
    for line in text.split("\n")[:-1]:
        stack, _, weight = line.rpartition(" ")
        frames = stack.split(";")
        for depth in range(1, len(frames) + 1):
            weights[tuple(frames[:depth])] += int(weight)
    return collections.Counter((frames[-1], weight) for frames, weight in weights.items())


@pytest.mark.parametrize("words", [("samples",), ("ns",), ("samples", "no-line"), ("ns", "cpu"), ("samples", "one-process")], ids=" ".join)
def test_every_frame_is_a_box_of_its_weight(inferno, write_formats, words):
    """Hostile names included: each text is there as it is in the file, with the sum of its lines."""
    path = write_formats(*words)["collapsed"]
    expected = expected_boxes(path.read_text("utf-8"))
    assert len(expected) > 30
    assert boxes(inferno("flamegraph", "--minwidth", "0", path)) == expected | all_of(expected, path)


def all_of(expected, path):
    """The box below all of them."""
    weight = sum(int(line.rpartition(" ")[2]) for line in path.read_text("utf-8").split("\n")[:-1])
    return collections.Counter({("all", weight): 1})


def test_a_difference_can_be_made(inferno, write_formats):
    """inferno-diff-folded reads two of them."""
    both, one = write_formats("samples", "one-process")["collapsed"], write_formats("samples", "one-process", "no-line")["collapsed"]
    rows = inferno("diff-folded", both, one).splitlines()
    assert len(rows) > 40 and all(re.search(r" \d+ \d+$", row) for row in rows)


def test_a_real_recording_with_strange_names(inferno, usual_python, tmp_path):
    """Names that a program really has."""
    path = tmp_path / "strange.collapsed"
    with targets.python(usual_python, "strange.py") as target:
        json.loads(target.read_line())
        runs.record(target, 1, "-F", 200, "--threads", "-o", path)
        target.finish()
    found = boxes(inferno("flamegraph", "--minwidth", "0", path))
    expected = expected_boxes(path.read_text("utf-8"))
    assert expected and found == expected | all_of(expected, path)
