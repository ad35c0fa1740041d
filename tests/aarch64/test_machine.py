# SPDX-License-Identifier: MIT
"""The premises: this is the machine that the other tests are about."""

import pathlib
import re

import pytest

import pythons
import runs
import targets

pytestmark = pytest.mark.every_cpu


def features():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    return set(re.search(r"^Features\s*: (.*)$", text, re.M)[1].split())


def test_the_cpu_is_what_was_asked_for(is_signed):
    assert ("paca" in features()) == is_signed


def mask_bits(text):
    """How many bits a signature has, by what doctor says; 0: none."""
    line = re.search(r"signed addresses +(.*)", text)[1]
    return int(re.search(r"has (\d+) bits", line)[1]) if line.startswith("keys in use: IA, IB, DA, DB;") else 0


def test_signatures_have_the_bits_of_the_cpu(cpu):
    """Addresses of 48 bits leave 7 to a signature, of 52 bits 3."""
    with targets.command("sleep", 60, ready=False) as target:
        text = runs.pysample("doctor", "-p", target.pid).out
    assert mask_bits(text) == {"pac": 7, "pac52": 3, "nopac": 0}[cpu], text


def test_all_pythons_are_there():
    found = {str(python) for python in pythons.every()}
    assert found == {name + kind for name in pythons.EXPECTED for kind in ("", "-library")}


def code_ranges(pid):
    found = []
    for line in pathlib.Path("/proc/%d/maps" % pid).read_text().splitlines():
        addresses, permissions = line.split()[:2]
        if "x" in permissions:
            found.append(tuple(int(address, 16) for address in addresses.split("-")))
    return found


def signed_words(pid):
    """The words on the main thread's stack that are the address of code below bits that no address of a process has."""
    maps = pathlib.Path("/proc/%d/maps" % pid).read_text()
    begin, end = (int(address, 16) for address in re.search(r"^(\S+)-(\S+) .*\[stack\]$", maps, re.M).groups())
    code = code_ranges(pid)
    with open("/proc/%d/mem" % pid, "rb") as memory:
        memory.seek(begin)
        words = memoryview(memory.read(end - begin)).cast("Q")
    high = [word for word in words if word >> 48 and not word >> 55]
    return [word for word in high if any(first <= word & ((1 << 48) - 1) < last for first, last in code)]


def test_return_addresses_are_signed_where_they_are_said_to_be(python, is_signed):
    """
    The stack of an interpreter built with pac-ret has return addresses with bits of authentication in them, on a CPU that
    has it; no other stack has.
    """
    with targets.command(*python.command(targets.PROGRAMS / "sleeping.py")) as target:
        found = signed_words(target.pid)
    if is_signed and python.signs:
        assert len(found) >= 3, [hex(word) for word in found]
    else:
        assert not found, [hex(word) for word in found]
