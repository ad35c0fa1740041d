# SPDX-License-Identifier: MIT
"""From the start of a profiler's process to its first sample.

The program is workloads/clock.py: the function that runs says the millisecond. The clock starts before the profiler's process is made.
"""

import re

from harness import own
from harness.helpers import big_libraries
from harness.profilers import PROFILERS, Run, groups
from harness.tables import middle, section, spread, table, values
from harness.target import Target
from harness.window import each_in_turn

WANTED = ("pysample", "pysample --native", "py-spy", "py-spy --native", "austin", "tachyon", "tachyon --blocking")
QUICK = ("pysample", "pysample --native")
RATE = 1000
SECONDS = 1
PATIENCE_S = 30
SLOTS = 10000  # workloads/clock.py
SLOT = re.compile(r"\bslot_(\d{5})\b")
LIBRARIES = 40
GOALS = {0: 10, LIBRARIES: 100}


def first_ms(stacks, begun_s):
    """How long after @begun_s the earliest of the stacks was taken; the middle of its millisecond. None without one."""
    found = SLOT.findall(" ".join(frame.name for frames, _ in stacks for frame in frames))
    begun_ms = begun_s * 1000 - 0.5
    return min(((int(slot) - begun_ms) % SLOTS for slot in found), default=None)


def once(settings, name, target):
    with Run(settings, PROFILERS[name], target, rate=RATE, seconds=SECONDS) as run:
        run.wait(PATIENCE_S)
        run.interrupt()
        return {"first_ms": first_ms(run.stacks() or [], run.begun), "code": run.code}


def measure(settings, names, version, count):
    libraries = big_libraries(settings, count)
    with Target(settings, "clock.py", *libraries, version=version) as target:
        repeats = each_in_turn(settings.repeats, names, lambda name: once(settings, name, target))
    for name in names:
        yield {"kind": "startup", "profiler": name, "version": version, "libraries": count, "repeats": repeats[name]}


def run(settings):
    for count in GOALS:
        for version, names in groups(settings.chosen(QUICK if settings.quick else WANTED, WANTED)):
            yield from measure(settings, [name for name in names if name != "empty"], version, count)


def tables(records):
    """Milliseconds to the first sample, a row a profiler."""
    rows = []
    for record in own.measured(records):
        times = spread(values(record, "first_ms"))
        rows.append([record["profiler"], record["version"] or "usual", record["libraries"], times])
    text = "From the making of the profiler's process to its first sample, at %d Hz; exact to half a millisecond." % RATE
    return section("Start-up", text, table(["profiler", "target", "libraries of 100 MB", "first sample ms"], rows))


def goals(records):
    records = own.measured(records)
    for count, limit in GOALS.items():
        for name in ("pysample", "pysample --native"):
            found = [r for r in records if r["profiler"] == name and r["libraries"] == count and not r["version"]]
            value = middle(found[0], "first_ms") if found else None
            yield own.bounded("first sample, %s, %d libraries of 100 MB" % (name, count), value, limit, " ms")
