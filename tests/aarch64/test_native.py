# SPDX-License-Identifier: MIT
"""Native stacks of C programs, with every kind of branch protection; case 29."""

import pytest

import gather
import pythons
import stacks
import targets

pytestmark = pytest.mark.every_cpu

PROTECTIONS = ["none", "pac", "b-key", "bti", "standard"]
HANDLERS = {
    "alternate": ["work", "raise", "[signal]", "on_first", "spin"],
    "nested": ["work", "raise", "[signal]", "on_first", "raise", "[signal]", "on_second", "spin"],
    "plain": ["work", "raise", "[signal]", "on_first", "spin"],
    "bad": ["work", "call_nowhere", "[signal]", "on_fault", "spin"],
}


def profile(target, samples=10):
    return gather.stacks(target, samples, "-F", 100, "--native=full", seconds=0.5)


def below_main(frames):
    assert frames[0].name == "_start", stacks.names(frames)
    names = stacks.names(frames)
    return names[names.index("main") + 1 :]


@pytest.mark.parametrize("way", sorted(HANDLERS))
@pytest.mark.parametrize("protection", PROTECTIONS)
def test_case_29_through_a_signal_frame(protection, way):
    """Every stack leads through the handler and the signal to main, and to _start."""
    with targets.command(pythons.built("handlers-" + protection), way) as target:
        for frames in profile(target):
            below_main(frames)
            assert stacks.order(frames, set(HANDLERS[way])) == HANDLERS[way], stacks.names(frames)


@pytest.mark.parametrize("protection", PROTECTIONS)
def test_case_29_from_inside_the_vdso(protection):
    """The kernel's code that tells the time is the leaf of main → ask → clock_gettime; every stack reaches _start."""
    with targets.command(pythons.built("vdso-" + protection)) as target:
        found = profile(target, 60)
    for frames in found:
        names = below_main(frames)
        assert names[:1] in ([], ["ask"]), names
    assert stacks.percent(found, lambda frames: frames[-1].file == "[vdso]") >= 20, found


@pytest.mark.parametrize("protection", PROTECTIONS)
def test_deep_stacks(protection):
    """Given 500 nested frames, none is missing."""
    with targets.command(pythons.built("nested-" + protection), 500) as target:
        for frames in profile(target):
            assert below_main(frames) == ["nested"] * 500 + ["spin"]
