# SPDX-License-Identifier: MIT
"""The most memory that a profiler had resident at once, what it needs for writing included."""

import dataclasses

from harness import own
from harness.helpers import big_libraries, peak_program, run_stacks
from harness.profilers import PROFILERS, Run, groups
from harness.tables import middle, number, section, table
from harness.target import Target
from harness.window import each_in_turn

WANTED = ("pysample", "pysample --native", "py-spy", "py-spy --native", "austin", "tachyon", "tachyon --blocking")
QUICK = ("pysample", "pysample --native")
RATE = 1000
SECONDS = 2
PATIENCE_S = 30
LIBRARIES = 40
DEPTH = 200
MILLION = 1_000_000
KB = 1024
MB = 1e6


def once(settings, name, target):
    profiler = PROFILERS[name]
    measured = "%s {out}.used %s" % (peak_program(settings), profiler.command)
    with Run(settings, dataclasses.replace(profiler, command=measured), target, RATE, SECONDS) as run:
        run.wait(PATIENCE_S)
        try:
            with open(run.out + ".used", encoding="ascii") as file:
                return {"peak_mb": int(file.read().split()[0]) * KB / MB, "code": run.code}
        except OSError:
            return {"peak_mb": None, "code": run.code}


def measure(settings, names, version, count):
    libraries = big_libraries(settings, count)
    with Target(settings, "clock.py", *libraries, version=version) as target:
        repeats = each_in_turn(settings.repeats, names, lambda name: once(settings, name, target))
    for name in names:
        yield record(name, version, "%d libraries" % count, repeats[name])


def record(name, version, case, repeats):
    return {"kind": "memory", "profiler": name, "version": version, "case": case, "repeats": repeats}


def live_stacks(settings):
    """A run in which nearly every sample is a new stack, and the bytes that each took beyond those of the first second."""
    with Target(settings, "stacks.py", DEPTH) as target:
        short = own.profile(settings.pysample, target.pid, 5000, 0.5)
        whole = own.profile(settings.pysample, target.pid, 5000, max(2.0, 5 * settings.window_s))
    more = whole["stacks"] - short["stacks"]
    found = {"peak_mb": whole["peak_bytes"] / MB, "stacks": whole["stacks"], "nodes": whole["nodes"]}
    if more > 0:
        found["bytes_a_stack"] = (whole["peak_bytes"] - short["peak_bytes"]) / more
    return record("pysample", None, "live, new stacks of depth %d at 5 kHz" % DEPTH, [found])


def fed_stacks(settings):
    """bench/stacks: a million stacks given to pysample's profile, and written."""
    count = MILLION // 100 if settings.quick else MILLION
    for shape in ("leaves", "walk"):
        lines = run_stacks(settings, shape, count, "collapsed")
        if lines:
            last = max(lines, key=lambda line: line["peak_mb"])
            found = {"peak_mb": last["peak_mb"], "stacks": last["samples"], "nodes": last["nodes"]}
            yield record("bench/stacks", None, "%s, %d stacks" % (shape, count), [found])


def run(settings):
    for count in (0, LIBRARIES):
        for version, names in groups(settings.chosen(QUICK if settings.quick else WANTED, WANTED)):
            yield from measure(settings, [name for name in names if name != "empty"], version, count)
    yield live_stacks(settings)
    yield from fed_stacks(settings)


def tables(records):
    """Megabytes, a row a profiler and case."""
    head = ["profiler", "target", "case", "peak MB", "stacks", "nodes", "bytes a stack"]
    rows = []
    for found in own.measured(records):
        numbers = [number(middle(found, key), digits=0) for key in ("stacks", "nodes", "bytes_a_stack")]
        peak = number(middle(found, "peak_mb"))
        rows.append([found["profiler"], found["version"] or "usual", found["case"], peak, *numbers])
    text = "The most that was resident at once, in 10⁶ bytes. bench/stacks fills pysample's profile and writes it."
    return section("Memory", text, table(head, rows))


def goals(records):
    records = own.measured(records)
    for profiler, case, limit in (
        ("pysample", "0 libraries", 8),
        ("pysample", "%d libraries" % LIBRARIES, 30),
        ("pysample --native", "%d libraries" % LIBRARIES, 30),
        ("bench/stacks", "leaves, %d stacks" % MILLION, 200),
        ("bench/stacks", "walk, %d stacks" % MILLION, 200),
    ):
        found = [r for r in records if (r["profiler"], r["case"]) == (profiler, case) and not r["version"]]
        value = middle(found[0], "peak_mb") if found else None
        yield own.bounded("peak resident, %s, %s" % (profiler, case), value, limit, " MB")
