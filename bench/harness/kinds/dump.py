# SPDX-License-Identifier: MIT
"""The stacks of 50 threads, printed once: how long it takes, and how long a running thread is held."""

from harness.profilers import DUMPS, Run, groups
from harness.tables import find, goal, middle, number, section, spread, table, values
from harness.target import Target
from harness.window import gaps_since, in_turn

KIND = "dump"
OURS = ["pysample dump", "pysample dump --native"]
FRAMES, IDLE = 15, 48
THREADS = IDLE + 2
LIMIT_S = 20
GOAL_HOLD_US = 100


def once(settings, target, name):
    before = target.gap_count()
    with Run(settings, DUMPS[name], target) as run:
        if not run.wait(LIMIT_S):
            run.interrupt()
        figures = run.figures()
        # gap.py: this function calls itself in the thread that spins.
        figures["frames"] = run.said().count("descend")
    stops = [gap for gap in gaps_since(target, before) if gap.is_stop]
    figures["wall_ms"] = 1000 * figures["wall_s"]
    figures["stops"] = len(stops)
    figures["hold_us"] = sum(gap.net_ns for gap in stops) / 1000
    figures["longest_us"] = max((gap.net_ns / 1000 for gap in stops), default=0.0)
    return figures


def measure(settings, version, names):
    records = {name: {"kind": KIND, "profiler": name, "version": version, "repeats": []} for name in names}
    with Target(settings, "gap.py", FRAMES, IDLE, version=version) as target:
        for repeat in range(settings.repeats):
            for name in in_turn(names, repeat):
                if target.alive():
                    records[name]["repeats"].append(once(settings, target, name))
    return records.values()


def run(settings):
    names = settings.chosen(OURS if settings.quick else DUMPS, DUMPS)
    for version, members in groups(names, DUMPS):
        yield from measure(settings, version, members)


# ---- report ----


def tables(records):
    head = ["command", "target", "wall ms", "held µs, in all", "longest hold µs", "stops", "Python frames of 15"]
    rows = [
        [
            record["profiler"],
            record["version"] or "usual",
            spread(values(record, "wall_ms")),
            spread(values(record, "hold_us")),
            number(max(values(record, "longest_us"), default=None)),
            number(middle(record, "stops"), 0),
            number(middle(record, "frames"), 0),
        ]
        for record in records
    ]
    text = "The whole command on %d threads, one of which runs; how long that one was held, by the gap meter, net." % THREADS
    return section("Dump", text, table(head, rows))


def fastest_peer(records):
    """(wall ms, name); None if there is no peer."""
    peers = [(middle(record, "wall_ms"), record["profiler"]) for record in records if record["profiler"] not in OURS]
    return min((peer for peer in peers if peer[0] is not None), default=None)


def goals(records):
    text = "dump --native, %d threads: " % THREADS
    ours = find(records, profiler="pysample dump --native", version=None)
    peer = fastest_peer(records)
    found = [goal(text + "faster than every peer's", None, None), goal(text + "hold ≤ 0.1 ms", None, None)]
    if ours and peer:
        wall = middle(ours[0], "wall_ms")
        found[0] = goal(found[0][0], "%s ms; %s %s ms" % (number(wall), peer[1], number(peer[0])), wall < peer[0])
    if ours:
        hold = middle(ours[0], "longest_us")
        found[1] = goal(found[1][0], "%s ms" % number(hold / 1000, 3), hold <= GOAL_HOLD_US)
    return found
