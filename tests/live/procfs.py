# SPDX-License-Identifier: MIT
"""What /proc says about a process, and waiting until it says something else."""

import os
import time

PATIENCE_S = 20.0


def wait_until(condition, what, patience_s=PATIENCE_S):
    """Waits until condition() is true and returns its value; fails with the text after patience_s."""
    deadline = time.monotonic() + patience_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError("waited %.0f s in vain: %s" % (patience_s, what))
        time.sleep(0.002)


def threads(pid):
    return sorted(int(tid) for tid in os.listdir("/proc/%d/task" % pid))


def read(pid, tid, name):
    with open("/proc/%d/task/%d/%s" % (pid, tid, name), errors="replace") as file:
        return file.read()


def status(pid, tid=None):
    """The fields of /proc/PID/task/TID/status as a dictionary of strings."""
    lines = read(pid, tid or pid, "status").splitlines()
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


def state(pid, tid=None):
    """One letter: R, S, D, T, t, Z …"""
    return status(pid, tid)["State"][0]


def states(pid):
    """A letter a thread; a thread that ends meanwhile is left out."""
    found = {}
    for tid in threads(pid):
        try:
            found[tid] = state(pid, tid)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def tracers(pid):
    return {tid: int(status(pid, tid)["TracerPid"]) for tid in threads(pid)}


def switches(pid, tid=None):
    """How often the thread gave up the CPU of itself; being stopped by a tracer counts as such."""
    return int(status(pid, tid)["voluntary_ctxt_switches"])


def wait_settled(pid, tids):
    """Waits until these threads have all been asleep, without waking up, for 20 looks of 5 ms."""
    looks, before = 0, None
    deadline = time.monotonic() + PATIENCE_S
    while looks < 20:
        assert time.monotonic() < deadline, "the threads do not come to rest: %s" % states(pid)
        now = [(state(pid, tid), switches(pid, tid)) for tid in tids]
        looks = looks + 1 if now == before and all(letter == "S" for letter, _ in now) else 0
        before = now
        time.sleep(0.005)


def schedule(pid, tid=None):
    """(ns on a CPU, ns waiting for a CPU)"""
    fields = read(pid, tid or pid, "schedstat").split()
    return int(fields[0]), int(fields[1])


def is_alive(pid):
    try:
        return state(pid) not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(pid):
    found = []
    for tid in threads(pid):
        found += [int(child) for child in read(pid, tid, "children").split()]
    return found


def mapped_files(pid):
    with open("/proc/%d/maps" % pid) as file:
        return {line.split(None, 5)[5].strip() for line in file if len(line.split(None, 5)) == 6}
