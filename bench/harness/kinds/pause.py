# SPDX-License-Identifier: MIT
"""How long a running thread is held, by the gap meter."""

import re
import shutil
import statistics
import subprocess

from harness.profilers import PROFILERS, Run, groups
from harness.tables import find, goal, middle, number, section, spread, table, values
from harness.target import Target
from harness.window import exponent, gaps_since, in_turn, ratio, stop_figures, watch

KIND = "pause"
WANTED = [
    "empty",
    "floor",
    "pysample",
    "pysample --native",
    "py-spy",
    "py-spy --native",
    "austinp",
    "tachyon --blocking",
]
QUICK = ["empty", "floor", "pysample", "pysample --native"]
OURS = ("pysample", "pysample --native")

# Frames × idle threads. The first three are for all; what grows with depth and with threads is ours and the floor's.
SHAPES = [(15, 0), (200, 0), (15, 48)]
SLOPE_SHAPES = [(1, 0), (1000, 0), (15, 400)]
SLOPE_PROFILERS = ("floor", *OURS)
RATES = [100, 1000]
SLOPE_RATES = [1000]
QUICK_RATES = [200]

COPIED_DEFAULT = 16384
COPY_S = 0.5


def shape_name(shape):
    return "%d×%d" % shape


def copied_bytes(settings, target, native):
    """What pysample copies from a thread while it holds it: the median of some stops under strace."""
    if not shutil.which("strace"):
        return COPIED_DEFAULT
    command = ["strace", "-f", "-e", "trace=process_vm_readv,ptrace", settings.pysample, "-p", str(target.pid)]
    command += ["-d", "%gs" % COPY_S, "-F", "50", "-q", "-o", "/dev/null", "-f", "collapsed"]
    command += ["--native"] if native else []
    said = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stderr
    return median_copied(said) or COPIED_DEFAULT


def median_copied(trace):
    """The median over the stops in a trace of the bytes read between INTERRUPT and DETACH; None of no stop."""
    stops, held = [], None
    for line in trace.splitlines():
        if "PTRACE_INTERRUPT" in line:
            held = 0
        elif "PTRACE_DETACH" in line and held is not None:
            stops.append(held)
            held = None
        elif held is not None and (read := re.search(r"process_vm_readv\(.*\) = (\d+)", line)):
            held += int(read.group(1))
    return int(statistics.median(stops)) if stops else None


def once(settings, target, name, rate, copied):
    """One profiler for one window."""
    before = target.gap_count()
    with Run(settings, PROFILERS[name], target, rate, copied=copied) as run:
        warm_s = min(PROFILERS[name].warm_s, settings.window_s)
        warm = watch(target, warm_s, run)
        window = watch(target, settings.window_s, run)
        run.interrupt()
        figures = run.figures()
    stops = [gap for gap in warm.gaps if gap.is_stop]
    figures.update(stop_figures(window.gaps, window.seconds))
    figures["first_hold_us"] = stops[0].net_ns / 1000 if stops else None
    figures["attach_max_us"] = max((gap.net_ns / 1000 for gap in gaps_since(target, before) if gap.is_stop), default=None)
    figures["target"] = target.state()
    if not window.whole:
        figures["ended_early"] = True
    return figures


def measure(settings, shape, version, names, rates):
    """All profilers that can look at one target, in turn."""
    records = {}
    with Target(settings, "gap.py", *shape, version=version) as target:
        copied = copied_bytes(settings, target, native="pysample --native" in names)
        for repeat in range(settings.repeats):
            for rate in rates:
                for name in in_turn(names, repeat):
                    if not target.alive():
                        break
                    key = (name, rate)
                    records.setdefault(
                        key,
                        {
                            "kind": KIND,
                            "profiler": name,
                            "shape": shape_name(shape),
                            "frames": shape[0],
                            "threads": shape[1] + 2,
                            "rate": rate,
                            "version": version,
                            "copied": copied,
                            "repeats": [],
                        },
                    )
                    records[key]["repeats"].append(once(settings, target, name, rate, copied))
    return records.values()


def run(settings):
    names = settings.chosen(QUICK if settings.quick else WANTED, PROFILERS)
    rates = QUICK_RATES if settings.quick else RATES
    for shape in SHAPES[:1] if settings.quick else SHAPES:
        for version, members in groups(names):
            yield from measure(settings, shape, version, members, rates)
    if settings.quick:
        return
    slope = [name for name in names if name in SLOPE_PROFILERS]
    for shape in SLOPE_SHAPES if slope else []:
        yield from measure(settings, shape, None, slope, SLOPE_RATES)


# ---- report ----

HEAD = [
    "profiler",
    "frames × idle threads",
    "Hz",
    "target",
    "stops/s",
    "net p50 µs",
    "net p99 µs",
    "max µs",
    "held %",
    "first hold µs",
    "longest at attach µs",
]


def row(record):
    longest = max(values(record, "net_max_us"), default=None)
    return [
        record["profiler"],
        record["shape"],
        record["rate"],
        record["version"] or "usual",
        number(middle(record, "stops_a_second")),
        spread(values(record, "net_p50_us")),
        spread(values(record, "net_p99_us")),
        number(longest),
        spread(values(record, "held_percent"), 2),
        number(middle(record, "first_hold_us")),
        number(middle(record, "attach_max_us")),
    ]


def slopes(records):
    """The exponent of the hold over depth, and over threads, of each profiler and rate."""
    rows = []
    for name in SLOPE_PROFILERS:
        for rate in SLOPE_RATES:
            mine = find(records, profiler=name, rate=rate, version=None)
            depth = [(r["frames"], middle(r, "net_p50_us")) for r in mine if r["threads"] == 2]
            threads = [(r["threads"], middle(r, "net_p50_us")) for r in mine if r["frames"] == 15]
            rows.append([name, rate, number(exponent(depth), 2), number(exponent(threads), 2)])
    return rows


def tables(records):
    copied = sorted({record["copied"] for record in records})
    text = (
        "A thread spins in C below so many Python frames; the other threads sleep. Net: without the time in which it waited for a CPU. "
        "Held: the share of wall time, net. The floor copied what pysample was seen to copy in a stop: %s bytes."
        % ", ".join(str(number_) for number_ in copied)
    )
    growth = table(["profiler", "Hz", "exponent over depth", "exponent over threads"], slopes(records))
    return section("Pause of a running thread", text, table(HEAD, [row(record) for record in records]), growth)


def cells(records, name, reference, key):
    """[(value, value of the reference)] of all cells in which both were measured."""
    found = []
    for record in find(records, profiler=name):
        for other in find(records, profiler=reference, shape=record["shape"], rate=record["rate"], version=record["version"]):
            pair = (middle(record, key), middle(other, key))
            if None not in pair:
                found.append(pair)
    return found


def ratio_goal(records, key, limit):
    """Against the floor: the worst cell counts."""
    text = "hold of a running thread, net %s, against the floor: ≤ %.1f ×" % (key, limit)
    shapes = {shape_name(shape) for shape in SHAPES}
    records = [record for record in records if record["shape"] in shapes]
    ratios = [ratio(*pair) for pair in cells(records, "pysample --native", "floor", "net_%s_us" % key)]
    ratios = [value for value in ratios if value is not None]
    measured = "%s ×" % spread(ratios, 2)
    return goal(text, measured if ratios else None, max(ratios) <= limit if ratios else None)


def shorter_goal(records, name, peer):
    text = "%s holds shorter than %s, in every cell" % (name, peer)
    pairs = cells(records, name, peer, "net_p50_us")
    better = sum(ours < theirs for ours, theirs in pairs)
    return goal(text, "%d of %d cells" % (better, len(pairs)) if pairs else None, better == len(pairs) if pairs else None)


def share_goal(records, rate, limit):
    text = "share of wall time a busy thread is held at %d Hz: ≤ %.1f %%" % (rate, limit)
    shapes = {shape_name(shape) for shape in SHAPES}
    ours = [r for r in find(records, profiler="pysample --native", rate=rate) if r["shape"] in shapes]
    shares = [share for record in ours if (share := middle(record, "held_percent")) is not None]
    floor = [middle(r, "held_percent") for r in find(records, profiler="floor", rate=rate) if r["shape"] in shapes]
    measured = "%s %%; floor %s %%" % (spread(shares, 2), spread(floor, 2)) if shares else None
    return goal(text, measured, max(shares) <= limit if shares else None)


def first_goal(records):
    holds = [value for record in find(records, profiler="pysample --native") for value in values(record, "first_hold_us")]
    measured = "%s ms" % spread([value / 1000 for value in holds], 3) if holds else None
    return goal("first hold at attach: ≤ 1 ms", measured, statistics.median(holds) <= 1000 if holds else None)


def goals(records):
    found = [ratio_goal(records, "p50", 1.3), ratio_goal(records, "p99", 1.5)]
    found.append(shorter_goal(records, "pysample", "tachyon --blocking"))
    found += [shorter_goal(records, name, "py-spy") for name in OURS]
    found += [share_goal(records, 100, 0.4), share_goal(records, 1000, 3.0)]
    return [*found, first_goal(records)]
