# SPDX-License-Identifier: MIT
"""The system calls of pysample in the steady state: each of them a 1000 stops, and those while a thread is held."""

import collections
import re
import shutil
import subprocess

from harness.profilers import installed
from harness.tables import goal, middle, number, section, table
from harness.target import Target, TargetFailed

KIND = "syscalls"
OPTIONS = {"pysample": [], "pysample --native": ["--native"]}
SHAPES = [(15, 0), (15, 48)]
RATE = 1000
SECONDS = 2.0
FIRST_STOPS = 50  # in which everything is met for the first time
GOAL_HELD = 3

# "PID name(…", and not the second half of a call that another thread interrupted.
CALL = re.compile(r"\d+ +(\w+)\(")
REQUEST = re.compile(r"ptrace\((PTRACE_\w+)")
STOPPED = re.compile(r"wait4\(.*\) = [1-9]")


def call_name(line):
    """ptrace by its request; None of a line that is no call."""
    found = CALL.match(line)
    if not found:
        return None
    request = REQUEST.search(line)
    return request.group(1) if request else found.group(1)


def steady(lines):
    """From the first stop that counts to before the last one; nothing if there are not as many."""
    stops = [number for number, line in enumerate(lines) if "PTRACE_INTERRUPT" in line]
    return lines[stops[FIRST_STOPS] : stops[-1]] if len(stops) > FIRST_STOPS + 1 else []


def counted(lines):
    """{"stops", "calls": name → count, "held": name → count from when the thread has stopped until it is let go}."""
    calls, held, stops, is_held = collections.Counter(), collections.Counter(), 0, False
    for line in lines:
        name = call_name(line)
        if not name:
            continue
        calls[name] += 1
        if is_held:
            held[name] += 1
        stops += name == "PTRACE_INTERRUPT"
        if name == "PTRACE_DETACH":
            is_held = False
        elif STOPPED.search(line):
            is_held = True
    return {"stops": stops, "calls": calls, "held": held}


def a_thousand(counts, stops):
    return {name: 1000 * count / stops for name, count in counts.most_common()}


def once(settings, target, options, seconds):
    trace = settings.scratch / "trace"
    command = ["strace", "-f", "-o", str(trace), settings.pysample, "-q", "-p", str(target.pid), "-F", str(RATE)]
    command += ["-d", "%gs" % seconds, "-o", "/dev/null", "-f", "json", *options]
    subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    found = counted(steady(trace.read_text(encoding="utf-8", errors="replace").splitlines()))
    trace.unlink()
    stops = found["stops"]
    if not stops:
        return {"stops": 0, "calls": {}, "held": {}}
    held = a_thousand(found["held"], stops)
    return {
        "stops": stops,
        "calls": a_thousand(found["calls"], stops),
        "held": held,
        "all_a_stop": sum(found["calls"].values()) / stops,
        "held_a_stop": sum(held.values()) / 1000,
    }


def run(settings):
    if not shutil.which("strace"):
        raise TargetFailed("strace is not installed")
    seconds = 0.5 if settings.quick else SECONDS
    names = installed(settings.chosen(list(OPTIONS)))
    for shape in SHAPES[:1] if settings.quick else SHAPES:
        with Target(settings, "gap.py", *shape) as target:
            for name in names:
                # Counts, no times: they are the same each time.
                repeats = [once(settings, target, OPTIONS[name], seconds)]
                yield {"kind": KIND, "profiler": name, "shape": "%d×%d" % shape, "repeats": repeats}


# ---- report ----


def cell(record, name):
    found = record["repeats"][0]
    held = found["held"].get(name, 0)
    text = number(found["calls"].get(name, 0), 0)
    return "%s (%s)" % (text, number(held, 0)) if held else text


def tables(records):
    records = [record for record in records if record["repeats"]]
    names = collections.Counter()
    for record in records:
        names.update(record["repeats"][0]["calls"])
    head = ["system call", *("%s, %s" % (record["profiler"], record["shape"]) for record in records)]
    rows = [[name, *(cell(record, name) for record in records)] for name, _ in names.most_common()]
    rows.append(["all, a stop", *(number(middle(record, "all_a_stop"), 2) for record in records)])
    rows.append(["while held, a stop", *(number(middle(record, "held_a_stop"), 2) for record in records)])
    text = (
        "A 1000 stops under strace, asked for at %d Hz, after the first %d; in brackets those between the end of the wait for the stop and "
        "the detach, which is one of them. Frames × idle threads." % (RATE, FIRST_STOPS)
    )
    return section("System calls", text, table(head, rows))


def goals(records):
    for name in OPTIONS:
        text = "system calls while a thread is held, %s: ≤ %d" % (name, GOAL_HELD)
        held = [middle(record, "held_a_stop") for record in records if record["profiler"] == name]
        known = [value for value in held if value is not None]
        yield goal(text, number(max(known), 2) if known else None, max(known) <= GOAL_HELD + 0.05 if known else None)
