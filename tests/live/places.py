# SPDX-License-Identifier: MIT
"""Root folders and prefixes of commands that put a program into another place: namespaces, roots, rights."""

import os
import pathlib
import shutil
import subprocess

import pytest

import interpreters

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def words(*command):
    return [str(word) for word in command]


def can_run(*command):
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        return subprocess.run(words(*command), check=False, **quiet).returncode == 0
    except FileNotFoundError:
        return False


def need(*command):
    """Skips the test where a command that makes its place does not run."""
    if not can_run(*command, "true"):
        pytest.skip("this does not run here: %s" % " ".join(words(*command)))
    return list(command)


def shell(script, *arguments):
    """A prefix: the script, then the command in its place. $1 … are the arguments."""
    used = "shift %d; " % len(arguments) if arguments else ""
    return ["sh", "-c", "set -e; " + script + "; " + used + 'exec "$@"', "sh", *arguments]


def in_root(root, script="true"):
    """A prefix that runs a command with this root folder and a /proc in it, in a mount namespace of its own."""
    return ["unshare", "--mount", *shell('mount -t proc proc "$1/proc"; ' + script + '; root=$1', root), "chroot", root]


def static_program():
    path = os.environ.get("PYSAMPLE_STATIC") or SOURCE / "build-static" / "pysample"
    if not os.path.exists(path):
        pytest.skip("no static build: ./dev static")
    return str(path)


def musl_python():
    """CPython of the musl root, which contrib/musl-root makes."""
    script = SOURCE / "contrib" / "musl-root"
    root = subprocess.run([script, "path"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    if os.geteuid() != 0 or not os.path.exists(root + ".done"):
        pytest.skip("no root folder with musl: contrib/musl-root build, as root")
    return interpreters.Interpreter("3.11.2-musl", "/usr/bin/python3.11", root)


def with_programs(root, *names):
    """Copies of tests/programs in the root's /programs."""
    folder = pathlib.Path(root) / "programs"
    folder.mkdir(exist_ok=True)
    for name in names:
        shutil.copy(SOURCE / "tests" / "programs" / name, folder)
    return folder
