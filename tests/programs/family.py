# SPDX-License-Identifier: MIT
"""family.py KIND [ARGUMENT]: a program that starts others, in one of the ways below. "ready" comes when all of them run."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import handshake

SPIN = "import time\nname = '%s'\ndef %s(end):\n    while time.time() < end: pass\n%s(time.time() + %s)\n"


def spin(seconds):
    end = time.time() + seconds
    while time.time() < end:
        pass


def worker_work(seconds):
    spin(seconds)
    return os.getpid()


def master_work(seconds):
    spin(seconds)


def code(name, seconds):
    return SPIN % (name, name, name, seconds)


def fork(work):
    pid = os.fork()
    if not pid:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        work()
        os._exit(0)
    return pid


def wait_all():
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def prefork():
    for _ in range(3):
        fork(lambda: worker_work(60))


def pool(method):
    context = multiprocessing.get_context(method)
    with context.Pool(2) as workers:
        workers.map(worker_work, [1.5] * 2)


def shell():
    subprocess.Popen(["sh", "-c", "\"$0\" -c \"$1\"; true", sys.executable, code("below_shell", 60)])


def executes():
    """A child that is a Python, executes sleep, and one that executes another Python."""

    def work():
        worker_work(0.5)
        os.execv(sys.executable, [sys.executable, "-c", code("after_exec", 60)])

    def away():
        worker_work(0.3)
        os.execvp("sleep", ["sleep", "60"])

    fork(work)
    fork(away)


def orphan():
    """A grandchild whose parent ends when both are known."""

    def work():
        fork(lambda: worker_work(60))
        spin(0.3)

    fork(work)


def outlives():
    """The parent ends, its child runs on for a while."""
    subprocess.Popen([sys.executable, "-c", code("runs_on", 1.5)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    master_work(0.5)
    os._exit(handshake.ENDED)


def others():
    """Programs that are no Python, again and again."""
    while True:
        subprocess.call(["true"])
        subprocess.call(["sh", "-c", "sleep 0.02; true"])


def short_lived(milliseconds):
    """Children that live for so long each, one after the other; at the end it prints their ids."""
    found = []
    for _ in range(25):
        pid = fork(lambda: worker_work(milliseconds / 1000.0))
        os.waitpid(pid, 0)
        found.append(pid)
        time.sleep(0.02)
    return found


def storm():
    """As many forks as there can be of children that do next to nothing."""
    while True:
        fork(lambda: None)
        os.wait()


def main():
    kind = sys.argv[1]
    if kind in ("fork", "spawn", "forkserver"):
        handshake.ready()
        pool(kind)
        os._exit(handshake.ENDED)
    if kind == "short":
        handshake.ready()
        os.read(0, 1)
        handshake.say_json(short_lived(int(sys.argv[2])))
        handshake.end_with_input()
    if kind in ("others", "storm", "outlives"):
        handshake.ready()
        {"others": others, "storm": storm, "outlives": outlives}[kind]()
    {"prefork": prefork, "shell": shell, "exec": executes, "orphan": orphan}[kind]()
    handshake.ready()
    while True:
        master_work(1)


if __name__ == "__main__":
    main()
