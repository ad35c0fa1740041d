# SPDX-License-Identifier: MIT
"""One dump of all stacks of a program of 50 threads: how long it takes, and how long a running thread is held."""

import re

from harness.profilers import DUMPS, Run, groups
from harness.tables import find, goal, middle, number, section, spread, table, values
from harness.target import Target
from harness.window import Gap, in_turn, median

KIND = "dump"
QUICK = ["pysample dump", "pysample dump --native"]
FRAMES, IDLE = 15, 48
PATIENCE_S = 60
OURS = "pysample dump --native"

# A frame, and not the name of a thread: "Thread-1 (descend)".
FRAME = re.compile(r"(?<!\()\bdescend\b")


def wanted(settings):
    """Those that were asked for by name, or all."""
    if settings.quick:
        return QUICK
    if settings.profilers is None:
        return list(DUMPS)
    asked = [name for name in DUMPS if name in settings.profilers]
    return asked or [name for name in QUICK if name.replace(" dump", "") in settings.profilers]


def once(settings, target, name):
    before = target.gap_count()
    with Run(settings, DUMPS[name], target) as run:
        if not run.wait(PATIENCE_S):
            run.interrupt()
        figures = run.figures()
        text = run.said()
    stops = [gap for gap in (Gap(*fields) for fields in target.gaps_since(before)) if gap.is_stop]
    figures["stops"] = len(stops)
    figures["wall_ms"] = 1000 * figures["wall_s"]
    figures["longest_ms"] = max((gap.net_ns for gap in stops), default=0) / 1e6
    figures["held_ms"] = sum(gap.net_ns for gap in stops) / 1e6
    figures["frames_found"] = sum(bool(FRAME.search(line)) for line in text.splitlines())
    figures["shows_c"] = "gap_run" in text
    return figures


def measure(settings, version, names):
    records = {name: {"kind": KIND, "profiler": name, "version": version, "repeats": []} for name in names}
    with Target(settings, "gap.py", FRAMES, IDLE, version=version) as target:
        for repeat in range(settings.repeats):
            for name in in_turn(names, repeat):
                records[name]["repeats"].append(once(settings, target, name))
    return records.values()


def run(settings):
    for version, members in groups(wanted(settings), DUMPS):
        yield from measure(settings, version, members)


# ---- report ----


def row(record):
    return [
        record["profiler"],
        spread(values(record, "wall_ms")),
        spread(values(record, "longest_ms"), 3),
        number(middle(record, "held_ms"), 3),
        number(middle(record, "stops"), 0),
        "%s of %d" % (number(middle(record, "frames_found"), 0), FRAMES),
        "yes" if any(values(record, "shows_c")) else "no",
    ]


def tables(records):
    head = ["command", "wall ms", "longest hold ms", "held in all ms", "stops", "Python frames shown", "C function shown"]
    text = "%d threads, of which one spins in C below %d Python frames: that one has the gap meter." % (IDLE + 2, FRAMES)
    return section("Dump", text, table(head, [row(record) for record in records]))


def goals(records):
    ours = find(records, profiler=OURS)
    wall = middle(ours[0], "wall_ms") if ours else None
    peers = [middle(record, "wall_ms") for record in records if not record["profiler"].startswith("pysample")]
    peers = [value for value in peers if value is not None]
    measured = "%s ms; fastest peer %s ms" % (number(wall), number(min(peers))) if wall and peers else None
    hold = median(values(ours[0], "longest_ms")) if ours else None
    return [
        goal("dump --native, 50 threads: faster than every peer's", measured, wall < min(peers) if measured else None),
        goal(
            "dump --native holds a thread: ≤ 0.1 ms",
            "%s ms" % number(hold, 3) if hold is not None else None,
            hold <= 0.1 if hold is not None else None,
        ),
    ]
