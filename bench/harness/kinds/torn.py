# SPDX-License-Identifier: MIT
"""Stacks that never were: two alternating chains of calls, so that any mixture shows."""

import dataclasses

from harness import check
from harness.profilers import PROFILERS, Run, groups, in_json
from harness.tables import find, goal, number, section, table, values
from harness.target import Target
from harness.window import each_in_turn, watch

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


def own_counts(document):
    """What pysample says of samples that it threw away, and of its ticks."""
    stats = document["stats"]
    lost = sum(document["losses"].values())
    return {"own_ticks": stats["ticks"], "own_late": stats["late"], "own_samples": stats["samples"], "own_lost": lost}


def row_of(name):
    """With --idle each tick is to give a sample or a loss: one that is missing was dropped without a count."""
    profiler = in_json(name)
    if not name.startswith("pysample"):
        return profiler
    return dataclasses.replace(profiler, command=profiler.command + " --idle")


def once(settings, target, name, seconds):
    profiler = row_of(name)
    with Run(settings, profiler, target, RATE) as run:
        window = watch(target, seconds + profiler.warm_s, run)
        run.interrupt()
        figures = run.figures()
        figures["seconds"] = window.seconds
        figures.update(check.chains(run.stacks() or []))
        document = run.document() if name.startswith("pysample") else None
    if document:
        figures.update(own_counts(document))
        figures["uncounted"] = uncounted(document)
    return figures


def uncounted(document):
    """Ticks of which neither a sample nor a loss is left."""
    stats = document["stats"]
    return max(0, stats["ticks"] - stats["samples"] - sum(document["losses"].values()))


def measure(settings, version, names, seconds):
    with Target(settings, "chains.py", version=version) as target:
        found = each_in_turn(settings.repeats, names, lambda name: once(settings, target, name, seconds))
    for name, repeats in found.items():
        yield {"kind": KIND, "profiler": name, "version": version, "rate": RATE, "repeats": repeats}


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
    head = ["profiler", "target", "samples/s", "torn", "torn %"]
    head += ["thrown away, by its own count %", "neither sample nor loss", "late ticks %"]
    rows = [
        [
            record["profiler"],
            record["version"] or "usual",
            number(share(total(record, "samples"), 100 * total(record, "seconds"))),
            total(record, "torn"),
            number(share(total(record, "torn"), total(record, "in_chain")), 2),
            number(lost_percent(record), 2),
            number(total(record, "uncounted"), 0),
            number(late_percent(record), 2),
        ]
        for record in records
        if record["repeats"]
    ]
    text = "Two chains of 15 functions that alternate, each turn some µs long, at %d Hz. A stack with parts of both is torn." % RATE
    return section("Torn stacks", text, table(head, rows))


def known(records, name, figure):
    """The figure of the record of this profiler on the usual target; None if it has none."""
    found = [figure(record) for record in find(records, profiler=name, version=None) if record["repeats"]]
    return found[0] if found else None


def zero_goal(records, name, text, figure):
    value = known(records, name, figure)
    return goal("%s, %s: 0" % (text, name), None if value is None else str(value), None if value is None else value == 0)


def share_goal(records, name, text, figure, limit):
    value = known(records, name, figure)
    measured = None if value is None else "%s %%" % number(value, 2)
    return goal("%s, %s: ≤ %d %%" % (text, name, limit), measured, None if value is None else value <= limit)


def torn(record):
    return total(record, "torn") if total(record, "in_chain") else None


def goals(records):
    found = []
    for name in ("pysample", "pysample --native", "pysample --nonblocking"):
        found.append(zero_goal(records, name, "torn stacks", torn))
        found.append(zero_goal(records, name, "samples dropped without a count", lambda record: total(record, "uncounted")))
    found.append(share_goal(records, "pysample --nonblocking", "thrown away", lost_percent, 5))
    return found
