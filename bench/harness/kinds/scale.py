# SPDX-License-Identifier: MIT
"""How pysample's cost a tick and the hold of a thread grow with threads, depth, libraries and stacks seen."""

import statistics

from harness import own, window
from harness.helpers import run_stacks, small_libraries
from harness.tables import middle, number, section, table
from harness.target import Target

OPTIONS = {"pysample": (), "pysample --native": ("--native",)}
RATE = 100
THREADS = (1, 10, 100, 1000)
DEPTHS = (10, 100, 1000, 10000)
LIBRARIES = (10, 100, 1000)
STACKS = 1_000_000
NOT_LINEAR = 1.1  # a measured exponent of what is linear
NEAR_ZERO = 0.2
SLEEPER_US = 1.5
COST, HOLD = "cpu_us_a_tick", "hold_p50_us"


def few(settings, loads):
    return loads[:2] if settings.quick else loads


def axes(settings):
    """(what grows, how much, workload, arguments)."""
    for count in few(settings, THREADS):
        yield "threads", count, "threads.py", (count, min(count, 2))
    for depth in few(settings, DEPTHS):
        yield "depth", depth, "gap.py", (depth, 0)
    for count in few(settings, LIBRARIES):
        yield "libraries", count, "clock.py", small_libraries(settings, count)


def live(settings, axis, load, workload, arguments):
    seconds = 0.3 if settings.quick else settings.window_s
    repeats = {name: [] for name in OPTIONS}
    with Target(settings, workload, *arguments) as target:
        for _ in range(settings.repeats):
            for name, options in OPTIONS.items():
                repeats[name].append(own.profile(settings.pysample, target.pid, RATE, seconds, options))
    for name in OPTIONS:
        yield record(name, axis, load, repeats[name])


def record(name, axis, load, repeats):
    return {"kind": "scale", "profiler": name, "axis": axis, "load": load, "repeats": repeats}


def fed(settings):
    """The cost of adding the next stack, once so many are known: between the lines of bench/stacks."""
    lines = run_stacks(settings, "walk", STACKS // 100 if settings.quick else STACKS)
    for before, after in zip(lines, lines[1:]):
        ns = after["ns_each"] * after["stacks"] - before["ns_each"] * before["stacks"]
        added = ns / 1e3 / (after["stacks"] - before["stacks"])
        yield record("bench/stacks", "stacks seen", after["stacks"], [{COST: added}])


def run(settings):
    for axis in axes(settings):
        yield from live(settings, *axis)
    yield from fed(settings)


def points(records, name, axis, key):
    """[(load, median of @key)] of one curve, lightest first."""
    found = [
        (record["load"], middle(record, key))
        for record in records
        if (record["profiler"], record["axis"]) == (name, axis)
    ]
    return sorted((load, value) for load, value in found if value is not None)


def curves(records):
    return list(dict.fromkeys((record["profiler"], record["axis"]) for record in records))


def last_exponent(found):
    """Between the two heaviest loads, where a constant part of the cost hides least; None for fewer than two."""
    return window.exponent(found[-2:])


def a_sleeper_us(records, name):
    """Microseconds a tick that one more sleeping thread costs; None for fewer than two loads with sleepers."""
    found = [(load, cost) for load, cost in points(records, name, "threads", COST) if load > 2]
    if len(found) < 2:
        return None
    return statistics.linear_regression([load for load, _ in found], [cost for _, cost in found]).slope


def tables(records):
    """The costs, a row a load, and the exponents, a row a curve."""
    records, rows, exponents = own.measured(records), [], []
    for name, axis in curves(records):
        costs, holds = points(records, name, axis, COST), dict(points(records, name, axis, HOLD))
        rows += [[name, axis, "%d" % load, number(cost), number(holds.get(load))] for load, cost in costs]
        kinds = (window.exponent(costs), last_exponent(costs), window.exponent(list(holds.items())))
        exponents.append([name, axis, *(number(kind, digits=2) for kind in kinds)])
    costs = table(["profiler", "of", "load", "CPU µs a tick", "hold p50 µs"], rows)
    head = ["profiler", "of", "CPU, all loads", "CPU, the two heaviest", "hold, all loads"]
    sleepers = ["%s: %s" % (name, number(a_sleeper_us(records, name), 2) + " µs") for name in OPTIONS]
    text = "At %d Hz. One sleeping thread more costs a tick: %s." % (RATE, ", ".join(sleepers))
    return section("Cost against load", text, costs, table(head, exponents))


def goals(records):
    records = own.measured(records)
    for name in OPTIONS:
        yield own.bounded("a sleeping thread and tick, %s" % name, a_sleeper_us(records, name), SLEEPER_US, " µs", digits=2)
        libraries = window.exponent(points(records, name, "libraries", COST))
        yield own.bounded("exponent of libraries, %s" % name, libraries, NEAR_ZERO, "", digits=2)
    for name, axis in curves(records):
        steepest = last_exponent(points(records, name, axis, COST))
        yield own.bounded("exponent of %s, %s" % (axis, name), steepest, NOT_LINEAR, "", digits=2)
