# SPDX-License-Identifier: MIT
"""The same profile through any format is the same stacks with the same weights."""

import pytest

import formats

# By format: how its file is read. A format that is not here fails the first test.
READERS = {
    "collapsed": lambda path, unit, processes: formats.of_collapsed(path, processes > 1),
    "json": lambda path, unit, processes: formats.of_json(path, unit),
    "speedscope": lambda path, unit, processes: formats.of_speedscope(path),
    "pprof": lambda path, unit, processes: formats.of_pprof(path, unit),
    "flamegraph": lambda path, unit, processes: formats.of_flamegraph(path, unit),
    "gecko": lambda path, unit, processes: formats.of_gecko(path),
}
# Pictures, whose numbers are looked at in a browser.
PAGES = {"svg", "heatmap"}


def test_every_format_is_compared(write_formats):
    """No format is left out here."""
    assert set(write_formats()) <= set(READERS) | PAGES


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
