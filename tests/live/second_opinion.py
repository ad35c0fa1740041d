# SPDX-License-Identifier: MIT
"""What eu-stack says of the threads of a stopped process, beside the capsules that pysample saves of them."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile

import procfs
import runs


@contextlib.contextmanager
def stopped(pid):
    """Stops a process as a shell would, lets it go on at the end."""
    os.kill(pid, signal.SIGSTOP)
    procfs.wait_until(lambda: all(state in "tT" for state in procfs.states(pid).values()), "it does not stop")
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def eu_stack(pid, root="/"):
    """{tid: pcs, innermost first}. eu-stack looks for the process's files in its own root."""
    command = ["chroot", root, "eu-stack"] if root != "/" else ["eu-stack"]
    run = subprocess.run([*command, "-p", str(pid)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    threads = re.split(r"^TID (\d+):$", run.stdout, flags=re.M)[1:]
    pcs = [[int(pc, 16) for pc in re.findall(r"^#\d+\s+0x([0-9a-f]+)", text, re.M)] for text in threads[1::2]]
    return dict(zip(map(int, threads[::2]), pcs))


def capsules(pid):
    """{tid: the text of a capsule}, of all threads of a stopped process."""
    with tempfile.TemporaryDirectory() as scratch:
        arguments = ["-q", "-p", pid, "-d", "60ms", "-F", 50, "--idle", "--native", "--save-capsules", scratch]
        runs.pysample(*arguments).ok()
        texts = [path.read_text() for path in sorted(pathlib.Path(scratch).iterdir())]
    return {json.loads(text)["thread"]["tid"]: text for text in reversed(texts)}


def functions_of(text):
    return [(int(function["start"], 16), int(function["end"], 16)) for function in json.loads(text)["code"]["functions"]]


def agrees(text, pcs):
    """Whether each pc lies in a function of the capsule, and each function was met."""
    functions = functions_of(text)
    met = set()
    for number, pc in enumerate(pcs):
        address = pc - (number > 0)
        inside = [f for f in functions if f[0] <= address < f[1]]
        if not inside:
            return False
        met.add(inside[0])
    return met == set(functions)
