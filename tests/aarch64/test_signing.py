# SPDX-License-Identifier: MIT
"""Where the rules say that a return address is signed is where the code has signed it."""

import pathlib

import pytest

import pythons
import signing

LIBRARIES = "/r/trixie/usr/lib/aarch64-linux-gnu"


def check(path):
    found = signing.Check(path)
    assert not found.wrong, "%d in %s: %s" % (len(found.wrong), path, "; ".join(found.wrong[:5]))
    return found.count


@pytest.mark.slow
@pytest.mark.parametrize("name, signs", [("libc.so.6", 2000), ("ld-linux-aarch64.so.1", 150)])
def test_libraries_that_sign(name, signs):
    """Given all code of a library: before and after each instruction that signs or authenticates, each branch and each return."""
    count = check(pathlib.Path(LIBRARIES, name))
    assert count["before signing"] >= signs and count["before authenticating"] >= signs, count


@pytest.mark.parametrize("kind", ["pac", "b-key", "standard"])
def test_programs_that_sign_with_either_key(kind):
    count = check(pythons.built("handlers-" + kind))
    assert count["before signing"] >= 6 and count["before authenticating"] >= 4, count


@pytest.mark.parametrize("kind", ["none", "bti"])
def test_programs_that_do_not_sign(kind):
    count = check(pythons.built("handlers-" + kind))
    assert count["before signing"] == 0 and count["before returning"] >= 6, count
