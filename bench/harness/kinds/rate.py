# SPDX-License-Identifier: MIT
"""Which rates pysample keeps, and what it costs itself: one busy thread, and one among two hundred."""

from harness import own
from harness.tables import middle, number, section, table
from harness.target import Target

RATES = (1000, 2000, 5000, 10000)
OPTIONS = {"pysample": (), "pysample --native": ("--native",)}
COSTS = {1: 1.0, 200: 3.0}  # threads → percent of a core at 100 Hz
COST_RATE = 100
KEPT = 99.0
KEYS = ("asked", "ticks", "late", "skipped")


def measure(settings, threads, rates):
    seconds = 0.5 if settings.quick else max(2.0, 2 * settings.window_s)
    repeats = {(name, rate): [] for name in OPTIONS for rate in rates}
    with Target(settings, "threads.py", threads, 1) as target:
        for _ in range(settings.repeats):
            for name, rate in repeats:
                found = own.profile(settings.pysample, target.pid, rate, seconds, OPTIONS[name])
                repeats[name, rate].append(percentages(found))
    for (name, rate), found in repeats.items():
        yield {"kind": "rate", "profiler": name, "rate": rate, "threads": threads, "repeats": found}


def percentages(found):
    """The same with the shares in percent."""
    share = found["cpu_share"]
    return dict(
        found,
        on_time_percent=100 * found["on_time_share"],
        late_percent=100 * found["late_share"],
        cpu_percent=None if share is None else 100 * share,
    )


def run(settings):
    yield from measure(settings, 1, (COST_RATE, *RATES))
    yield from measure(settings, 200, (COST_RATE,))


def tables(records):
    """Ticks as asked for and as they came, and pysample's CPU."""
    rows = []
    for record in own.measured(records):
        numbers = [number(middle(record, key), digits=0) for key in KEYS]
        shares = [number(middle(record, key), digits=2) for key in ("on_time_percent", "cpu_percent")]
        hold = number(middle(record, "hold_p50_us"))
        rows.append([record["profiler"], record["threads"], record["rate"], *numbers, *shares, hold])
    head = ["profiler", "threads", "Hz", *KEYS, "on time %", "CPU % of a core", "hold p50 µs"]
    text = "One thread is busy. Late: by more than half an interval. On time: of the ticks asked for, neither late nor skipped."
    return section("Rate and CPU of pysample", text, table(head, rows))


def find(records, name, rate, threads, key):
    for record in records:
        if (record["profiler"], record["rate"], record["threads"]) == (name, rate, threads):
            return middle(record, key)
    return None


def highest_kept(records, name):
    """The highest rate of which nearly all ticks were on time; 0 if none was, None if none was measured."""
    shares = {rate: find(records, name, rate, 1, "on_time_percent") for rate in RATES}
    if all(share is None for share in shares.values()):
        return None
    return max((rate for rate, share in shares.items() if share is not None and share >= KEPT), default=0)


def goals(records):
    records = own.measured(records)
    for name in OPTIONS:
        late = find(records, name, 1000, 1, "late_percent")
        yield own.bounded("late ticks at 1000 Hz, %s" % name, late, 1, " %", digits=2)
        kept = highest_kept(records, name)
        yield own.bounded("highest rate with 99 %% of the ticks on time, %s" % name, kept, 5000, " Hz", True, 0)
        for threads, limit in COSTS.items():
            cpu = find(records, name, COST_RATE, threads, "cpu_percent")
            yield own.bounded("CPU at 100 Hz, %s, %d threads, 1 busy" % (name, threads), cpu, limit, " %", digits=2)
