# SPDX-License-Identifier: MIT
"""Whether the stop times that pysample prints are those that the gap meter sees."""

import dataclasses
import json

from harness.profilers import PROFILERS, Run
from harness.tables import goal, middle, number, section, table
from harness.target import Target
from harness.window import in_turn, median, ratio, stop_figures, watch

KIND = "agreement"
WANTED = ["pysample", "pysample --native"]
RATES = [100, 1000]
FRAMES = 15

# The meter also sees how the thread is put to sleep and woken, and pysample's clock how the request is made: a few µs apart.
APART_RATIO = 1.5
APART_US = 20


def once(settings, target, name, rate):
    row = dataclasses.replace(PROFILERS[name], command=PROFILERS[name].command.replace("-f collapsed", "-f json"))
    with Run(settings, row, target, rate) as run:
        # All of its life: its histogram has every stop.
        window = watch(target, settings.window_s + row.warm_s, run)
        run.interrupt()
        figures = run.figures()
        with open(run.out, encoding="utf-8") as file:
            own = json.load(file)["stats"]
    figures.update(stop_figures(window.gaps, window.seconds))
    for key in ("p50", "p90", "p99", "max"):
        figures["own_%s_us" % key] = own["stop_ns"][key] / 1000
        figures["own_held_%s_us" % key] = own["hold_ns"][key] / 1000
    figures["own_stops"] = own["stops"]
    return figures


def run(settings):
    names = settings.chosen(WANTED)
    if not names:
        return
    rates = [200] if settings.quick else RATES
    records = {
        (name, rate): {"kind": KIND, "profiler": name, "rate": rate, "repeats": []} for name in names for rate in rates
    }
    with Target(settings, "gap.py", FRAMES, 0) as target:
        for repeat in range(settings.repeats):
            for name, rate in in_turn(list(records), repeat):
                records[name, rate]["repeats"].append(once(settings, target, name, rate))
    yield from records.values()


# ---- report ----


def row(record, key):
    shown = [middle(record, form % key) for form in ("net_%s_us", "own_%s_us", "own_held_%s_us")]
    return [record["profiler"], record["rate"], key, *(number(value) for value in shown), number(ratio(shown[1], shown[0]), 2)]


def tables(records):
    head = ["profiler", "Hz", "", "gap meter, net µs", "pysample, stop time µs", "thereof held µs", "stop time / meter"]
    rows = [row(record, key) for record in records for key in ("p50", "p90", "p99", "max")]
    counts = [
        [record["profiler"], record["rate"], number(middle(record, "stops"), 0), number(middle(record, "own_stops"), 0)]
        for record in records
    ]
    text = (
        "pysample's stop time goes from its request until the thread is let go; the thread runs on for the first part of it. "
        "Held goes from when pysample sees the stop. The meter's net time has neither the time before the thread stopped nor the wait for "
        "a CPU afterwards."
    )
    return section(
        "pysample's own histogram and the gap meter",
        text,
        table(head, rows),
        table(["profiler", "Hz", "stops, gap meter", "stops, pysample"], counts),
    )


def agrees(record):
    """The medians are near each other; None if there are none."""
    meter, own = middle(record, "net_p50_us"), middle(record, "own_p50_us")
    if meter is None or own is None:
        return None
    low, high = sorted([meter, own])
    return high <= APART_RATIO * low or high - low <= APART_US


def goals(records):
    answers = [answer for answer in map(agrees, records) if answer is not None]
    ratios = [ratio(middle(record, "own_p50_us"), middle(record, "net_p50_us")) for record in records]
    text = "median stop time by pysample's own clock and by the gap meter: within %.1f × or %d µs" % (APART_RATIO, APART_US)
    return [goal(text, "%s ×" % number(median(ratios), 2) if answers else None, all(answers) if answers else None)]
