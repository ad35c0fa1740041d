# SPDX-License-Identifier: MIT
"""pysample's own figures: what its JSON says of a run, and what /proc says of its process meanwhile."""

import json
import os
import subprocess
import tempfile
import time

from harness.tables import goal, number
from harness.target import TargetFailed

US = 1e3
EXTRA_S = 60


def cpu_ns(pid):
    """Nanoseconds on a CPU of all threads of @pid; None when it is gone."""
    total = 0
    try:
        for tid in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/schedstat" % (pid, tid), encoding="ascii") as file:
                total += int(file.read().split()[0])
    except OSError:
        return None
    return total


def resident_peak(pid):
    """VmHWM of @pid in bytes; 0 when it is gone."""
    try:
        with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as file:
            lines = [line.split() for line in file]
    except OSError:
        return 0
    return sum(int(words[1]) << 10 for words in lines if words[0] == "VmHWM:")


def steady_cpu(process, warm_s, seconds):
    """The share of a core that @process used in @seconds, @warm_s after its start; None if it ended before."""
    time.sleep(warm_s)
    start_ns, start = cpu_ns(process.pid), time.monotonic()
    time.sleep(seconds)
    end_ns, end = cpu_ns(process.pid), time.monotonic()
    if start_ns is None or end_ns is None:
        return None
    return (end_ns - start_ns) / 1e9 / (end - start)


def profile(pysample, pid, rate, seconds, options=(), warm_s=0.5):
    """Runs pysample on @pid for @seconds after a warm-up: the figures of figures(), its CPU and its memory before it wrote."""
    with tempfile.TemporaryDirectory(prefix="bench.") as folder:
        path = os.path.join(folder, "profile.json")
        words = [pysample, "-q", "-p", pid, "-F", rate, "-d", "%.3fs" % (warm_s + seconds + 0.3), "-o", path, *options]
        process = subprocess.Popen([str(word) for word in words], stderr=subprocess.PIPE, text=True)
        try:
            share = steady_cpu(process, warm_s, seconds)
            peak = resident_peak(process.pid)
            errors = process.communicate(timeout=EXTRA_S)[1]
        finally:
            process.kill()
            process.wait()
        if process.returncode:
            raise TargetFailed("pysample failed: %s" % errors.strip())
        with open(path, encoding="utf-8") as file:
            found = figures(json.load(file))
    return dict(found, cpu_share=share, peak_bytes=peak, cpu_us_a_tick=us_a_tick(share, found["rate_hz"]))


def us_a_tick(share, rate_hz):
    return share / rate_hz * 1e6 if share is not None and rate_hz else None


def figures(document):
    """What the tables here need of a profile."""
    stats = document["stats"]
    asked = document["duration_ns"] / document["options"]["interval_ns"]
    return {
        "asked": round(asked),
        "ticks": stats["ticks"],
        "late": stats["late"],
        "skipped": stats["skipped"],
        "on_time_share": min(1.0, (stats["ticks"] - stats["late"]) / asked) if asked else 0.0,
        "late_share": stats["late"] / stats["ticks"] if stats["ticks"] else 0.0,
        "rate_hz": stats["rate_hz"],
        "samples": stats["samples"],
        "complete": stats["complete"],
        "lost": sum(document["losses"].values()),
        "stacks": len({(sample["thread"], sample["stack"]) for sample in document["samples"]}),
        "nodes": len(document["stacks"]),
        "hold_p50_us": stats["hold_ns"]["p50"] / US if stats["hold_ns"]["count"] else None,
        "hold_p99_us": stats["hold_ns"]["p99"] / US if stats["hold_ns"]["count"] else None,
    }


def bounded(name, value, limit, unit, at_least=False, digits=1):
    """A row of the table of goals: @value is to be at most @limit, or at least."""
    text = "%s: %s %g%s" % (name, "≥" if at_least else "≤", limit, unit)
    if value is None:
        return goal(text, None, None)
    return goal(text, number(value, digits) + unit, value >= limit if at_least else value <= limit)


def measured(records):
    """Those of a target that did not fail: they have their kind's fields."""
    return [record for record in records if record["repeats"]]
