# SPDX-License-Identifier: MIT
"""EINTR that a program sees because of a profiler."""

from harness.profilers import PROFILERS, Run, groups
from harness.tables import find, goal, section, spread, table, values
from harness.target import COUNTS, Target
from harness.window import each_in_turn, median, watch

KIND = "eintr"
WANTED = ["empty", "floor", "pysample", "pysample --native", "py-spy", "py-spy --native", "tachyon --blocking"]
QUICK = ["empty", "floor", "pysample", "pysample --native"]
RATE = 100
WINDOW_S = 3.0

# In the order of workloads/bench.c.
CALLS = ["epoll_wait", "poll", "nanosleep", "futex", "select", "semtimedop", "sigtimedwait", "recv", "io_getevents"]
CALLS += ["inotify", "msgrcv", "pipe read"]
# What the goal is about: the kernel restarts the others.
SEEN = ["epoll_wait", "semtimedop", "sigtimedwait", "recv", "io_getevents"]
THREADS = 2 * len(CALLS)


def interrupted(words):
    """Call → EINTR in both of its threads."""
    counts = [words[COUNTS + 4 * thread + 1] for thread in range(THREADS)]
    return {call: counts[number] + counts[number + len(CALLS)] for number, call in enumerate(CALLS)}


def once(settings, target, name, seconds):
    profiler = PROFILERS[name]
    begun = target.words()
    with Run(settings, profiler, target, RATE) as run:
        watch(target, profiler.warm_s, run)
        window = watch(target, seconds, run)
        run.interrupt()
        figures = run.figures()
    figures["calls"] = interrupted(window.words)
    figures["sum"] = sum(figures["calls"][call] for call in SEEN)
    whole = interrupted([after - before for before, after in zip(begun, target.words())])
    figures["sum_with_start"] = sum(whole[call] for call in SEEN)
    figures["seconds"] = window.seconds
    return figures


def run(settings):
    seconds = settings.window_s if settings.quick else WINDOW_S
    names = settings.chosen(QUICK if settings.quick else WANTED, PROFILERS)
    for version, members in groups(names):
        if version:
            members = [name for name in members if name == "empty" or PROFILERS[name].version]
        yield from measure(settings, version, members, seconds)


def measure(settings, version, names, seconds):
    with Target(settings, "eintr.py", version=version) as target:
        found = each_in_turn(settings.repeats, names, lambda name: once(settings, target, name, seconds))
    for name, repeats in found.items():
        yield {"kind": KIND, "profiler": name, "version": version, "rate": RATE, "repeats": repeats}


# ---- report ----


def tables(records):
    head = ["profiler", "target", *CALLS, "sum", "with its start"]
    rows = []
    for record in records:
        by_call = [median([repeat["calls"][call] for repeat in record["repeats"]]) for call in CALLS]
        rows.append(
            [
                record["profiler"],
                record["version"] or "usual",
                *("%.0f" % (count or 0) for count in by_call),
                spread(values(record, "sum"), 0),
                spread(values(record, "sum_with_start"), 0),
            ]
        )
    text = (
        "EINTR in a window, of calls that are not restarted, each in a Python thread and in one that Python does not know; beside them a "
        "busy thread; %d Hz. The sum is of %s." % (RATE, ", ".join(SEEN))
    )
    return section("EINTR", text, table(head, rows))


def count_goal(records, name, text, limit):
    sums = [value for record in find(records, profiler=name) for value in values(record, "sum_with_start")]
    return goal(text, spread(sums, 0) if sums else None, median(sums) <= limit if sums else None)


def goals(records):
    return [
        count_goal(records, "pysample", "EINTR because of pysample, 24 threads, 100 Hz, 3 s: ≤ 10", 10),
        count_goal(
            records, "pysample --native", "EINTR because of pysample --native, the same: ≤ 1 a thread (%d)" % THREADS, THREADS
        ),
    ]
