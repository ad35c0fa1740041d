# SPDX-License-Identifier: MIT
"""What the kinds startup, memory, scale and rate of bench/ make of figures; no process is measured."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

from harness import helpers, own  # noqa: E402
from harness.kinds import memory, rate, scale, startup  # noqa: E402
from harness.stacks import Frame  # noqa: E402


def curve(axis, points, name="pysample"):
    return [scale.record(name, axis, load, [{scale.COST: cost, scale.HOLD: 20.0}]) for load, cost in points]


def verdicts(goals):
    return {text: (measured, verdict) for text, measured, verdict in goals}


def test_exponents_of_written_out_curves():
    """Given costs that double with a tenfold load at first and grow tenfold at last, both exponents say so."""
    records = curve("depth", [(10, 5.0), (100, 10.0), (1000, 100.0)])
    found = scale.points(records, "pysample", "depth", scale.COST)
    assert scale.window.exponent(found) == pytest.approx(0.6505, abs=1e-4)
    assert scale.last_exponent(found) == pytest.approx(1.0)
    assert scale.window.exponent([(10, 7.0), (1000, 7.0)]) == pytest.approx(0)
    assert scale.last_exponent(found[:1]) is None


def test_cost_of_a_sleeping_thread():
    """100 µs and 1.25 µs for each thread: loads without sleepers do not count."""
    records = curve("threads", [(1, 900.0), (10, 112.5), (100, 225.0), (1000, 1350.0)])
    assert scale.a_sleeper_us(records, "pysample") == pytest.approx(1.25)
    assert verdicts(scale.goals(records))["a sleeping thread and tick, pysample: ≤ 1.5 µs"] == ("1.25 µs", "met")
    assert scale.a_sleeper_us(curve("threads", [(1, 90.0), (10, 99.0)]), "pysample") is None


def test_worse_than_linear_is_missed():
    records = curve("depth", [(10, 1.0), (100, 10.0), (1000, 1000.0)])
    assert verdicts(scale.goals(records))["exponent of depth, pysample: ≤ 1.1"] == ("2.00", "missed")


def test_first_sample_is_told_by_the_slots():
    """Given slots 9,998 and 3 of 10,000 and a start at 9.9965 s, the first sample came in the second millisecond after it."""
    stacks = [([Frame("main"), Frame("slot_00003")], 1), ([Frame("main"), Frame("slot_09998")], 4)]
    assert startup.first_ms(stacks, 9.9965) == pytest.approx(2.0)
    assert startup.first_ms(stacks, 29.9965) == pytest.approx(2.0)
    assert startup.first_ms([([Frame("main")], 1)], 9.9965) is None


def document(ticks, late, skipped):
    histogram = {"count": ticks, "p50": 12000, "p99": 40000}
    stats = {"ticks": ticks, "late": late, "skipped": skipped, "rate_hz": ticks / 2, "hold_ns": histogram}
    stats.update(samples=ticks, complete=ticks)
    samples = [{"thread": 0, "stack": 4}, {"thread": 0, "stack": 4}, {"thread": 1, "stack": 4}]
    options = {"interval_ns": 1_000_000}
    return dict(
        duration_ns=2_000_000_000, options=options, stats=stats, losses={"a": 2, "b": 1}, stacks=[0] * 5, samples=samples
    )


def test_figures_of_a_profile():
    """Given 2 s at 1000 Hz with 1,990 ticks of which 10 are late, 99 % were on time; equal samples are one stack."""
    found = own.figures(document(1990, 10, 7))
    assert (found["asked"], found["on_time_share"], found["hold_p50_us"]) == (2000, 0.99, 12.0)
    assert (found["lost"], found["stacks"], found["nodes"]) == (3, 2, 5)
    assert own.us_a_tick(0.01, 100.0) == pytest.approx(100.0)


def rates(shares):
    return [
        {"profiler": "pysample", "rate": hz, "threads": 1, "repeats": [{"on_time_percent": share}]}
        for hz, share in shares.items()
    ]


def test_highest_rate_that_was_kept():
    assert rate.highest_kept(rates({1000: 99.9, 2000: 99.0, 5000: 98.9}), "pysample") == 2000
    assert rate.highest_kept(rates({1000: 50.0}), "pysample") == 0
    assert rate.highest_kept([], "pysample") is None


def test_lines_of_bench_stacks():
    output = """   stacks   samples     nodes      lost    CPU s  ns each    RSS MB   peak MB
       10         9       258         0     0.00     3805       2.0       2.1  fed
  1000000   1000000   7995852         3     6.06     6057     433.2     545.2  collapsed
"""
    first, last = helpers.parse_stacks(output)
    assert (first["stacks"], first["samples"], first["what"]) == (10, 9, "fed")
    assert (last["lost"], last["ns_each"], last["peak_mb"], last["what"]) == (3, 6057, 545.2, "collapsed")


def test_goals_of_nothing_are_not_measured():
    """A target that failed has a record without repeats, and without the fields of its kind."""
    failed = [{"kind": "any", "profiler": "–", "repeats": [], "failed": "it did not start"}]
    for kind in (memory, rate, scale, startup):
        assert {verdict for _, _, verdict in kind.goals(failed)} == {"not measured"}
        assert kind.tables(failed).startswith("## ")
