# SPDX-License-Identifier: MIT
"""The Pythons of the emulated machine: Debian's, in the root folder of each suite below /r, as executable and as libpython."""

import os
import pathlib
import re

import interpreters

ROOTS = pathlib.Path("/r")
# Suites whose compilers sign return addresses, if the CPU can.
SIGNED = ("trixie", "forky")
EXPECTED = ["3.11-bookworm", "3.13-forky", "3.13-trixie", "3.14-forky", "3.15-forky"]


class Python(interpreters.Interpreter):
    def __init__(self, name, program, root, kind):
        super().__init__(name, program, str(root))
        self.suite = root.name
        self.kind = kind

    @property
    def signs(self):
        return self.suite in SIGNED


def built(name):
    """A program of tests/aarch64/build-programs; its path is the same in each root."""
    return str(pathlib.Path(os.environ["PYSAMPLE"]).parent / "programs" / name)


def every():
    found = []
    for program in sorted(ROOTS.glob("*/usr/bin/python3.*")):
        if not re.fullmatch(r"python3\.\d+", program.name):
            continue
        root = program.parents[2]
        name = "%s-%s" % (program.name[len("python") :], root.name)
        found.append(Python(name, "/usr/bin/" + program.name, root, "executable"))
        found.append(Python(name + "-library", built("embedded-" + name), root, "library"))
    return found


def named_by_cpu():
    """The same under the names that their capsules have among those of other CPUs."""
    found = every()
    for python in found:
        python.name = python.name.replace("-library", "") + "-aarch64" + ("-lib" if python.kind == "library" else "-exe")
    return found
