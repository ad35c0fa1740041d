# SPDX-License-Identifier: MIT
"""Windows of time over a target, with and without a profiler, and what the gap meter says of them.

A gap of the meter is a hole in the time of a thread that spins. If the thread gave its CPU up in it, something put it to sleep: a
stop. If not, it was preempted, by another process or by the hypervisor. "Net" is a stop without the time in which the thread could
have run again and waited for a CPU.
"""

import dataclasses
import math
import statistics
import time

NS_PER_US = 1000
NS_PER_S = 1_000_000_000


@dataclasses.dataclass(frozen=True)
class Gap:
    """One hole; all times in nanoseconds of the monotonic clock."""

    end_ns: int
    length_ns: int
    waited_ns: int  # for a CPU
    voluntary: int  # switches

    @property
    def is_stop(self):
        return self.voluntary > 0

    @property
    def net_ns(self):
        return max(0, self.length_ns - self.waited_ns)


def percentile(values, share):
    """The smallest value that at least @share of all are not above; None of none."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def median(values):
    """The median of what is not None; None of nothing."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def ratio(value, reference):
    """None where there is nothing to compare."""
    return value / reference if value is not None and reference else None


def exponent(points):
    """The slope of log y over log x, by least squares: how cost grows with load. None of fewer than two loads."""
    logs = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y and y > 0]
    if len({x for x, _ in logs}) < 2:
        return None
    return statistics.linear_regression([x for x, _ in logs], [y for _, y in logs]).slope


def stop_figures(gaps, seconds):
    """What the stops among @gaps come to, in microseconds and percent of the time."""
    stops = [gap for gap in gaps if gap.is_stop]
    net = [gap.net_ns / NS_PER_US for gap in stops]
    preempted = sum(gap.length_ns for gap in gaps if not gap.is_stop)
    return {
        "stops": len(stops),
        "stops_a_second": len(stops) / seconds,
        "net_p50_us": percentile(net, 0.50),
        "net_p90_us": percentile(net, 0.90),
        "net_p99_us": percentile(net, 0.99),
        "net_max_us": max(net, default=None),
        "held_percent": 100 * sum(gap.net_ns for gap in stops) / NS_PER_S / seconds,
        "raw_held_percent": 100 * sum(gap.length_ns for gap in stops) / NS_PER_S / seconds,
        "preempted_percent": 100 * preempted / NS_PER_S / seconds,
    }


def gaps_since(target, count):
    return [Gap(*fields) for fields in target.gaps_since(count)]


def waited_s(pid, tid=None):
    """How long a thread has waited for a CPU, in seconds."""
    try:
        with open("/proc/%d/task/%d/schedstat" % (pid, tid or pid), encoding="ascii") as file:
            return int(file.read().split()[1]) / NS_PER_S
    except (OSError, IndexError, ValueError):
        return 0.0


@dataclasses.dataclass
class Window:
    """What a target has done in one window."""

    seconds: float
    waited_s: float
    words: list[int]  # by how much each shared counter grew
    gaps: list[Gap]
    whole: bool  # false: the profiler ended before the window did

    @property
    def rate(self):
        """Work a second."""
        return self.words[0] / self.seconds

    @property
    def net_rate(self):
        """Work a second in which the main thread did not wait for a CPU: other load on the machine does not change it.

        None where it waited for most of the window.
        """
        ran_s = self.seconds - self.waited_s
        return self.words[0] / ran_s if ran_s > self.seconds / 2 else None


def watch(target, seconds, run=None):
    """Waits so long and says what the target did; ends early when the profiler does."""
    words, gaps, waited, begun = target.words(), target.gap_count(), waited_s(target.pid), time.monotonic()
    whole = True
    while (left := begun + seconds - time.monotonic()) > 0:
        if run and run.done():
            whole = False
            break
        time.sleep(min(0.02, left))
    return Window(
        seconds=time.monotonic() - begun,
        waited_s=waited_s(target.pid) - waited,
        words=[after - before for before, after in zip(words, target.words())],
        gaps=gaps_since(target, gaps),
        whole=whole,
    )


def in_turn(names, repeat):
    """The order of one repeat: each begins one further, so that nobody is always first."""
    shift = repeat % len(names) if names else 0
    return [*names[shift:], *names[:shift]]


def each_in_turn(repeats, names, once):
    """{name: what once(name) gave, a value a repeat}"""
    found = {name: [] for name in names}
    for repeat in range(repeats):
        for name in in_turn(names, repeat):
            found[name].append(once(name))
    return found
