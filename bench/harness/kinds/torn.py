# SPDX-License-Identifier: MIT
"""Stacks that never were: two alternating chains of calls, so that any mixture shows."""

import json

from harness import check
from harness.profilers import PROFILERS, Run, groups
from harness.tables import find, goal, number, section, table, values
from harness.target import Target
from harness.window import in_turn, watch

KIND = "torn"
WANTED = [
    "pysample",
    "pysample --native",
    "pysample --nonblocking",
    "py-spy",
    "py-spy --nonblocking",
    "austin",
    "tachyon",
    "tachyon --blocking",
]
QUICK = ["pysample", "pysample --native", "pysample --nonblocking"]
RATE = 1000
WINDOW_S = 2.0


def losses(path):
    """What pysample's JSON says of samples that it threw away, and of its ticks."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    stats = document["stats"]
    lost = sum(document["losses"].values()) if document["losses"] else 0
    return {"own_ticks": stats["ticks"], "own_late": stats["late"], "own_samples": stats["samples"], "own_lost": lost}


def once(settings, target, name, seconds):
    with Run(settings, PROFILERS[name], target, RATE) as run:
        window = watch(target, seconds + PROFILERS[name].warm_s, run)
        run.interrupt()
        figures = run.figures()
        figures["seconds"] = window.seconds
        figures.update(check.chains(run.stacks() or []))
    return figures


def own_counts(settings, target, name, seconds):
    """pysample again, for what it says itself: its other formats do not have it."""
    row = PROFILERS[name]
    command = row.command.replace("-f collapsed", "-f json")
    with Run(settings, type(row)(command), target, RATE) as run:
        watch(target, seconds, run)
        run.interrupt()
        return losses(run.out)


def measure(settings, version, names, seconds):
    records = {
        name: {"kind": KIND, "profiler": name, "version": version, "rate": RATE, "repeats": []} for name in names
    }
    with Target(settings, "chains.py", version=version) as target:
        for repeat in range(settings.repeats):
            for name in in_turn(names, repeat):
                figures = once(settings, target, name, seconds)
                if name.startswith("pysample"):
                    figures.update(own_counts(settings, target, name, seconds))
                records[name]["repeats"].append(figures)
    return records.values()


def run(settings):
    seconds = settings.window_s if settings.quick else WINDOW_S
    for version, members in groups(settings.chosen(QUICK if settings.quick else WANTED, PROFILERS)):
        if version:
            members = [name for name in members if PROFILERS[name].version]
        yield from measure(settings, version, members, seconds)


# ---- report ----


def total(record, key):
    found = values(record, key)
    return sum(found) if found else None


def share(part, whole):
    return 100 * part / whole if part is not None and whole else None


def lost_percent(record):
    """Of the samples that were tried."""
    taken, lost = total(record, "own_samples"), total(record, "own_lost")
    return share(lost, (taken or 0) + (lost or 0))


def late_percent(record):
    return share(total(record, "own_late"), total(record, "own_ticks"))


def tables(records):
    head = ["profiler", "target", "samples/s", "torn", "torn %", "thrown away, by its own count %", "late ticks %"]
    rows = [
        [
            record["profiler"],
            record["version"] or "usual",
            number(share(total(record, "samples"), 100 * total(record, "seconds"))),
            total(record, "torn"),
            number(share(total(record, "torn"), total(record, "in_chain")), 2),
            number(lost_percent(record), 2),
            number(late_percent(record), 2),
        ]
        for record in records
        if record["repeats"]
    ]
    text = "Two chains of 15 functions that alternate, each turn some µs long, at %d Hz. A stack with parts of both is torn." % RATE
    return section("Torn stacks", text, table(head, rows))


def count_goal(records, name, text, figure, limit, unit):
    found = [figure(record) for record in find(records, profiler=name) if record["repeats"]]
    known = [value for value in found if value is not None]
    return goal(text, "%s%s" % (number(known[0], 2 if unit else 0), unit) if known else None, known[0] <= limit if known else None)


def goals(records):
    def torn(record):
        return total(record, "torn") if total(record, "in_chain") else None

    found = [
        count_goal(records, name, "torn stacks, %s: 0" % name, torn, 0, "")
        for name in ("pysample", "pysample --native", "pysample --nonblocking")
    ]
    found.append(
        count_goal(records, "pysample --nonblocking", "thrown away by --nonblocking: ≤ 5 %", lost_percent, 5, " %")
    )
    found.append(count_goal(records, "pysample", "late ticks, 1000 Hz, one busy thread: ≤ 1 %", late_percent, 1, " %"))
    return found
