# SPDX-License-Identifier: MIT
"""Every CPython on this machine, under names such as 3.9.18-pyenv, 3.11-system, 3.11-debug and 3.9-bullseye."""

import functools
import os
import pathlib
import re
import shutil
import subprocess

EXPECTED = ["2.7", "3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15"]
SOURCE = pathlib.Path(__file__).resolve().parents[2]


class Interpreter:
    """One interpreter: how to start it, and which files it needs copied where."""

    def __init__(self, name, program, root="/", environment=None):
        self.name = name
        self.program = program  # as seen inside root
        self.root = root
        self.environment = environment or {}
        self.version = tuple(int(part) for part in re.match(r"(\d+)\.(\d+)", name).groups())

    @property
    def in_chroot(self):
        return self.root != "/"

    def command(self, *arguments):
        prefix = ["chroot", self.root] if self.in_chroot else []
        return prefix + [self.program] + [str(argument) for argument in arguments]

    def outside(self, path):
        """The name in our own file system of a path inside the interpreter's root."""
        return self.root.rstrip("/") + str(path)

    def __repr__(self):
        return self.name


def from_pyenv():
    for prefix in sorted(pathlib.Path.home().glob(".pyenv/versions/*")):
        program = prefix / "bin" / "python"
        if re.fullmatch(r"\d+\.\d+\.\d+", prefix.name) and program.exists():
            yield Interpreter(prefix.name + "-pyenv", str(program))


def from_system():
    for suffix, kind in (("", "system"), ("d", "debug")):
        for program in sorted(pathlib.Path("/usr/bin").glob("python3.*")):
            match = re.fullmatch(r"python(3\.\d+)" + suffix, program.name)
            if match:
                yield Interpreter("%s-%s" % (match.group(1), kind), str(program))


def from_roots():
    script = SOURCE / "contrib" / "python-roots"
    if not script.exists() or os.geteuid() != 0 or not shutil.which("bash"):
        return
    listing = subprocess.run(["bash", str(script), "list"], stdout=subprocess.PIPE, text=True).stdout
    for line in listing.splitlines():
        version, root, program = line.split()
        yield Interpreter("%s-%s" % (version, os.path.basename(root)), program, root)


def order(interpreter):
    return interpreter.version, interpreter.name


@functools.lru_cache(maxsize=None)
def every():
    found = list(from_pyenv()) + list(from_system()) + list(from_roots())
    return sorted(found, key=order)


def missing():
    have = {"%d.%d" % interpreter.version for interpreter in every()}
    return [version for version in EXPECTED if version not in have]


def one(*wanted):
    """The first interpreter whose name starts with one of the given words, or None."""
    for word in wanted:
        for interpreter in every():
            if interpreter.name.startswith(word) or interpreter.name.endswith("-" + word):
                return interpreter
    return None


def usual():
    """The interpreter of tests that need only one: the system's, else the newest."""
    return one("system") or (every()[-1] if every() else None)


def is_copyable(interpreter):
    """True for a shared build in a prefix of its own, as pyenv makes them."""
    return interpreter.name.endswith("-pyenv")


def copied(interpreter, directory, strip=False):
    """
    A private copy of executable and libpython, for tests that strip, replace or delete them. The standard library
    stays where it is: bin/pythonX.Y, lib/libpython*.so.1.0 and lib/pythonX.Y -> the original.
    """
    prefix = pathlib.Path(interpreter.program).resolve().parents[1]
    version = "python%d.%d" % interpreter.version
    (directory / "bin").mkdir(parents=True)
    (directory / "lib").mkdir()
    program = directory / "bin" / version
    shutil.copy2(prefix / "bin" / version, program)
    libraries = [path for path in (prefix / "lib").glob("libpython%d.%d*.so.1.0" % interpreter.version)]
    for library in libraries:
        shutil.copy2(library, directory / "lib")
    (directory / "lib" / version).symlink_to(prefix / "lib" / version)
    if strip:
        for path in [program] + [directory / "lib" / library.name for library in libraries]:
            path.chmod(0o755)
            subprocess.run(["strip", "--strip-all", str(path)], check=True)
    environment = {"PYTHONHOME": str(directory), "LD_LIBRARY_PATH": str(directory / "lib")}
    kind = "stripped" if strip else "copy"
    return Interpreter("%s-%s" % (interpreter.name, kind), str(program), environment=environment)
