# SPDX-License-Identifier: MIT
"""The system calls of pysample, a stop."""

import re
import shutil

from harness.profilers import PROFILERS, Profiler, Run
from harness.tables import find, goal, number, section, table
from harness.target import Target
from harness.window import watch

KIND = "syscalls"
WANTED = ["pysample", "pysample --native"]
RATE = 1000
WINDOW_S = 2.0
FRAMES = 15
END_S = 10

STRACE_LINE = re.compile(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", re.M)
SAMPLES = re.compile(r"(\d+) threads stopped")


def counted(text):
    """System call → calls, of the table that strace -c prints."""
    return {name: int(calls) for calls, name in STRACE_LINE.findall(text) if name != "total"}


def traced(settings, target, name, seconds):
    """(calls, stops) of one run; it ends by itself, since strace keeps Ctrl-C from it."""
    command = "strace -c -f " + PROFILERS[name].command
    with Run(settings, Profiler(command), target, RATE, seconds=seconds) as run:
        watch(target, seconds, None)
        run.wait(END_S)
        text = run.said()
    stops = SAMPLES.search(text)
    return counted(text), int(stops.group(1)) if stops else 0


def difference(long, short):
    """What a longer run did more: the start and the end are in both."""
    return {name: calls - short.get(name, 0) for name, calls in long.items() if calls > short.get(name, 0)}


def run(settings):
    if not shutil.which("strace"):
        return
    window_s = settings.window_s if settings.quick else WINDOW_S
    for name in settings.chosen(WANTED):
        record = {"kind": KIND, "profiler": name, "rate": RATE, "repeats": []}
        with Target(settings, "gap.py", FRAMES, 0) as target:
            short, few = traced(settings, target, name, 0.2)
            long, many = traced(settings, target, name, 0.2 + window_s)
        record["repeats"].append({"stops": many - few, "calls": difference(long, short)})
        yield record


# ---- report ----


def per_1000(record, calls):
    stops = record["repeats"][0]["stops"]
    return 1000 * calls / stops if stops > 0 else None


def tables(records):
    names = {name: calls for record in records for name, calls in record["repeats"][0]["calls"].items()}
    ordered = sorted(names, key=lambda name: -names[name])
    head = ["system call", *(record["profiler"] for record in records)]
    rows = [[name, *(number(per_1000(r, r["repeats"][0]["calls"].get(name, 0))) for r in records)] for name in ordered]
    rows.append(["all", *(number(per_1000(r, sum(r["repeats"][0]["calls"].values()))) for r in records)])
    rows.append(["stops", *(r["repeats"][0]["stops"] for r in records)])
    text = (
        "Calls per 1000 stops, by strace -c, of a run without what a shorter one did too: start and end are left out. strace makes stops "
        "long, so that ticks are lost and waits for a stop look more often (wait4) and sleep (rt_sigtimedwait); the other counts hold."
    )
    return section("System calls", text, table(head, rows))


def goals(records):
    found = []
    for name in WANTED:
        read = None
        for record in find(records, profiler=name):
            read = per_1000(record, record["repeats"][0]["calls"].get("process_vm_readv", 0))
        text = "reads of the target's memory a stop, %s: ≤ 2.5" % name
        found.append(goal(text, number(read / 1000, 2) if read is not None else None, read <= 2500 if read is not None else None))
    return found
