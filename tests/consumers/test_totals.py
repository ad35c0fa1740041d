# SPDX-License-Identifier: MIT
"""The same profile through any format is the same stacks with the same weights."""

import re

import pytest

import formats
import runs
import targets

# By format: how its file is read. A format that is not here fails the first test.
READERS = {
    "collapsed": lambda path, unit, processes: formats.of_collapsed(path, processes > 1),
    "json": lambda path, unit, processes: formats.of_json(path, unit),
    "speedscope": lambda path, unit, processes: formats.of_speedscope(path),
    "pprof": lambda path, unit, processes: formats.of_pprof(path, unit),
    "gecko": lambda path, unit, processes: formats.of_gecko(path),
    "flamegraph": lambda path, unit, processes: formats.of_flamegraph(path, unit),
}
# No stacks are in these: test_heatmap.py compares lines, and a picture has boxes.
WITHOUT_STACKS = {"svg", "heatmap"}


def test_every_format_is_compared(write_formats):
    """No format is left out here."""
    assert set(write_formats()) <= set(READERS) | WITHOUT_STACKS


@pytest.mark.parametrize("name", sorted(set(READERS) - {"json"}))
@pytest.mark.parametrize("words", [(), ("cpu",), ("no-line",), ("one-process",)], ids=" ".join)
@pytest.mark.parametrize("unit", ["samples", "ns"])
def test_every_stack_weighs_the_same_in_every_format(write_formats, name, words, unit):
    """Stacks by names, each with the weight that the JSON gives it; so all sums over them are the same too."""
    files = write_formats(unit, *words)
    processes = 1 if "one-process" in words else 2
    expected = formats.by_names(formats.of_json(files["json"], unit))
    assert len(expected) > 25 and sum(expected.values()) > 400
    assert formats.by_names(READERS[name](files[name], unit, processes)) == expected


@pytest.mark.parametrize("words", [(), ("no-line",), ("one-process",)], ids=" ".join)
def test_the_picture_has_the_sum_of_all_stacks(write_formats, words):
    """The frame below all others."""
    files = write_formats("samples", *words)
    weight = sum(stack.weight for stack in formats.of_json(files["json"], "samples"))
    shown = re.search(r"<title>all\ntotal ([\d,]+) samples, 100\.0", files["svg"].read_text("utf-8")).group(1)
    assert int(shown.replace(",", "")) == weight


@pytest.fixture(scope="module")
def recorded(usual_python, tmp_path_factory):
    """A real recording, of several threads and native frames, in JSON."""
    path = tmp_path_factory.mktemp("totals") / "named.json"
    with targets.python(usual_python, "named.py") as target:
        runs.record(target, 1, "-F", 200, "--native", "--idle", "-o", path)
        target.finish()
    return path


@pytest.mark.parametrize("name", sorted(set(READERS) - {"json"}))
@pytest.mark.parametrize("unit", ["samples", "ns"])
def test_a_recording_weighs_the_same_in_every_format(recorded, tmp_path, name, unit):
    """The same, of one recording that report has written in each format."""
    path = tmp_path / "out"
    runs.pysample("report", recorded, "-f", name, "--weights", unit, "-o", path).ok()
    expected = formats.by_names(formats.of_json(recorded, unit))
    assert len(expected) > 5
    assert formats.by_names(READERS[name](path, unit, 1)) == expected
