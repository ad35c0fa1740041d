# SPDX-License-Identifier: MIT
"""What a sample allocates: nothing, once its stack has been seen."""

import bisect
import pathlib
import subprocess

import pytest

import runs
import targets

SECONDS = 2
RATES = (20, 400)
# What does not depend on the number of samples: with native frames the mappings are read every 100 ms, and on a busy machine it is
# noted at the end that the rate was not kept.
BESIDES = {"modules_update", "stats_note"}
# Enough to tell an allocation a sample; a busy machine does not keep the higher rate.
MORE_SAMPLES = 20


def read_symbols(program):
    """[(address, name)] of the functions of @program, ascending."""
    text = subprocess.run(["nm", "--defined-only", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    words = [line.split() for line in text.splitlines()]
    return sorted((int(address, 16), name) for address, kind, name in words if kind in "tT")


def name_of(symbols, program, frame):
    """@frame is FILE+OFFSET of a return address."""
    file, _, offset = frame.rpartition("+")
    if pathlib.Path(file).name != pathlib.Path(program).name:
        return frame
    return symbols[bisect.bisect_right(symbols, (int(offset, 16) - 1, "\x7f")) - 1][1]


def read_places(path):
    """{functions, innermost first: how often}"""
    symbols = read_symbols(runs.program())
    places = {}
    for line in path.read_text().splitlines():
        count, *frames = line.split()
        place = tuple(name_of(symbols, runs.program(), frame) for frame in frames)
        places[place] = places.get(place, 0) + int(count)
    return places


def count_allocations(target, counter, path, rate, options):
    preload = {"LD_PRELOAD": counter, "ALLOCATIONS": str(path)}
    outcome = runs.record(target, SECONDS, "-F", rate, "--no-jitter", *options, environment=preload)
    return outcome.samples, read_places(path)


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--native"]], ids=["python", "native"])
def test_a_known_stack_allocates_nothing(usual_python, build, tmp_path, options):
    """Given a thread whose stack never changes, many more samples in the same time make no allocation more."""
    if b"__asan_init" in pathlib.Path(runs.program()).read_bytes():
        pytest.skip("AddressSanitizer allocates by itself")
    counter = build("allocations.c", "-shared", "-fPIC")
    with targets.python(usual_python, "stays.py", build("stays.c", "-shared", "-fPIC")) as target:
        few, before = count_allocations(target, counter, tmp_path / "few", RATES[0], options)
        many, after = count_allocations(target, counter, tmp_path / "many", RATES[1], options)
    assert many >= few + MORE_SAMPLES
    assert sum(before.values()) > 100, "nothing was counted"
    more = {place: after.get(place, 0) - before.get(place, 0) for place in {*before, *after} if BESIDES.isdisjoint(place)}
    assert not any(more.values()), [(number, place) for place, number in more.items() if number]
