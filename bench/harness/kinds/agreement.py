# SPDX-License-Identifier: MIT
"""Whether pysample's own account of its stops is what the thread that was stopped has seen."""

from harness.profilers import Run, in_json, installed
from harness.tables import goal, middle, number, section, table
from harness.target import Target
from harness.window import NS_PER_US, each_in_turn, gaps_since, percentile, ratio, watch

KIND = "agreement"
WANTED = ["pysample", "pysample --native"]
RATE = 500
WINDOW_S = 3.0
SHARES = (("p50", 0.50), ("p90", 0.90), ("p99", 0.99))
NEAR = 1.25  # one median over the other
COUNT_PERCENT = 2


def own_figures(stats):
    """Stops and percentiles, in µs, of pysample's histograms: of the whole stop, and of the part without waiting for a CPU."""
    figures = {"own_stops": stats["hold_ns"]["count"]}
    for key, _ in SHARES:
        figures["own_stop_%s_us" % key] = stats["stop_ns"][key] / NS_PER_US
        figures["own_hold_%s_us" % key] = stats["hold_ns"][key] / NS_PER_US
    return figures


def meter_figures(gaps):
    """The same by the gap meter."""
    stops = [gap for gap in gaps if gap.is_stop]
    figures = {"stops": len(stops)}
    for key, share in SHARES:
        whole = percentile([gap.length_ns / NS_PER_US for gap in stops], share)
        net = percentile([gap.net_ns / NS_PER_US for gap in stops], share)
        figures["stop_%s_us" % key], figures["hold_%s_us" % key] = whole, net
    return figures


def once(settings, target, name, seconds):
    before = target.gap_count()
    with Run(settings, in_json(name), target, RATE) as run:
        watch(target, seconds, run)
        run.interrupt()
        figures = run.figures()
        document = run.document()
    figures.update(meter_figures(gaps_since(target, before)))
    if document:
        figures.update(own_figures(document["stats"]))
    return figures


def run(settings):
    seconds = settings.window_s if settings.quick else WINDOW_S
    names = installed(settings.chosen(WANTED))
    with Target(settings, "gap.py", 15, 0) as target:
        found = each_in_turn(settings.repeats, names, lambda name: once(settings, target, name, seconds))
    for name, repeats in found.items():
        yield {"kind": KIND, "profiler": name, "rate": RATE, "repeats": repeats}


# ---- report ----


def rows(record):
    for whose, prefix in (("its own", "own_"), ("gap meter", "")):
        figures = [number(middle(record, "%sstop_%s_us" % (prefix, key))) for key, _ in SHARES]
        figures += [number(middle(record, "%shold_%s_us" % (prefix, key))) for key, _ in SHARES]
        yield [record["profiler"], whose, number(middle(record, prefix + "stops"), 0), *figures]


def tables(records):
    head = ["profiler", "by", "stops", *("stop %s µs" % key for key, _ in SHARES), *("held %s µs" % key for key, _ in SHARES)]
    text = (
        "Stop: all of it. Held: without the thread's wait for a CPU; pysample begins to count when the thread has stopped, the meter "
        "when it no longer runs."
    )
    return section("Agreement with the gap meter", text, table(head, [row for record in records for row in rows(record)]))


def is_near(value, other):
    relation = ratio(value, other)
    return relation is not None and 1 / NEAR <= relation <= NEAR


def count_goal(record):
    own, seen = middle(record, "own_stops"), middle(record, "stops")
    text = "stops counted by %s and by the gap meter: within %d %%" % (record["profiler"], COUNT_PERCENT)
    if not own or not seen:
        return goal(text, None, None)
    return goal(text, "%.0f and %.0f" % (own, seen), abs(own - seen) <= max(2, seen * COUNT_PERCENT / 100))


def length_goal(record):
    own, seen = middle(record, "own_stop_p50_us"), middle(record, "stop_p50_us")
    text = "length of a stop by %s and by the gap meter, medians: within %.2f ×" % (record["profiler"], NEAR)
    if not own or not seen:
        return goal(text, None, None)
    return goal(text, "%s and %s µs" % (number(own), number(seen)), is_near(own, seen))


def goals(records):
    by_name = {record["profiler"]: record for record in records}
    for name in WANTED:
        record = by_name.get(name, {"profiler": name, "repeats": []})
        yield count_goal(record)
        yield length_goal(record)
