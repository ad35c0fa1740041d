# SPDX-License-Identifier: MIT
"""bench/run gives a report, and the figures in it are what their names say. No test here is about speed."""

import os
import pathlib
import subprocess
import sys

import pytest

import runs

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

from harness import check, report, settings, stacks, tables, window  # noqa: E402
from harness.kinds import pause, syscalls  # noqa: E402

STOP = window.Gap(end_ns=9_000, length_ns=40_000, waited_ns=10_000, voluntary=1)
PREEMPTION = window.Gap(end_ns=99_000, length_ns=500_000, waited_ns=500_000, voluntary=0)


def test_percentiles_are_values_that_were_measured():
    hundred = list(range(100, 0, -1))
    assert window.percentile(hundred, 0.50) == 50
    assert window.percentile(hundred, 0.99) == 99
    assert window.percentile([7, 3, 5], 0.50) == 5
    assert window.percentile([7, 3], 0.99) == 7
    assert window.percentile([], 0.50) is None


def test_a_median_leaves_out_what_was_not_measured():
    assert window.median([3, None, 1, 2]) == 2
    assert window.median([1, 2]) == 1.5
    assert window.median([None]) is None


def test_a_ratio_needs_both_values():
    assert window.ratio(30, 20) == 1.5
    assert window.ratio(None, 20) is None
    assert window.ratio(30, 0) is None
    assert window.ratio(0, 20) == 0


def test_the_exponent_is_that_of_the_growth():
    assert window.exponent([(1, 5), (10, 50), (100, 500)]) == pytest.approx(1)
    assert window.exponent([(1, 3), (10, 300)]) == pytest.approx(2)
    assert window.exponent([(1, 4), (1000, 4)]) == pytest.approx(0)
    assert window.exponent([(1, 4), (1, 5)]) is None


def test_a_gap_with_a_voluntary_switch_is_a_stop_and_another_is_preemption():
    assert STOP.is_stop
    assert not PREEMPTION.is_stop


def test_net_leaves_out_the_wait_for_a_cpu():
    assert STOP.net_ns == 30_000
    assert PREEMPTION.net_ns == 0
    assert window.Gap(0, 10, 20, 1).net_ns == 0


def test_only_stops_count_as_held():
    figures = window.stop_figures([STOP, PREEMPTION, STOP], seconds=0.5)
    assert figures["stops"] == 2
    assert figures["stops_a_second"] == 4
    assert figures["net_p50_us"] == 30
    assert figures["held_percent"] == pytest.approx(0.012)
    assert figures["raw_held_percent"] == pytest.approx(0.016)
    assert figures["preempted_percent"] == pytest.approx(0.1)


def test_each_profiler_is_first_in_turn():
    assert [window.in_turn("abc", repeat)[0] for repeat in range(4)] == ["a", "b", "c", "a"]
    assert window.in_turn("abc", 1) == ["b", "c", "a"]


def frames(*names):
    return [stacks.Frame(name, "chains.py") for name in names]


def test_a_stack_with_parts_of_both_chains_is_torn():
    found = check.chains([(frames("main", "a1", "a2"), 5), (frames("main", "a1", "b2"), 2), (frames("main", "spin"), 1)])
    assert found == {"samples": 8, "in_chain": 7, "torn": 2}


def test_a_stack_with_a_link_missing_is_torn():
    assert check.chains([(frames("b1", "b3"), 1)])["torn"] == 1


def test_shares_of_phases_are_compared_with_the_time_they_took():
    found = {"phase_spin": 60, "phase_zlib": 40}
    assert check.phase_error(found, [50, 50, 0, 0, 0, 0, 0, 0]) == pytest.approx(10)


def test_bytes_are_counted_between_the_request_and_the_release():
    trace = """\
process_vm_readv(7, [{iov_base="x"}], 1, [{}], 1, 0) = 999
ptrace(PTRACE_INTERRUPT, 7) = 0
process_vm_readv(7, [{iov_base="x"}], 1, [{}], 1, 0) = 100
process_vm_readv(7, [{iov_base="x"}], 1, [{}], 1, 0) = 20
ptrace(PTRACE_DETACH, 7, NULL, 0) = 0
process_vm_readv(7, [{iov_base="x"}], 1, [{}], 1, 0) = 999
"""
    assert pause.median_copied(trace) == 120
    assert pause.median_copied("") is None


def test_system_calls_are_held_from_the_stop_to_the_release():
    """Given one stop in a trace, the wait that shows it is before it and the detach is in it."""
    trace = """\
7 ppoll([], 0, NULL, NULL, 0) = 0
7 ptrace(PTRACE_INTERRUPT, 9) = 0
7 wait4(9, 0x7ffc, WNOHANG|__WALL, NULL) = 0
7 wait4(9, [{WIFSTOPPED(s)}], WNOHANG|__WALL, NULL) = 9
7 process_vm_readv(9, [], 1, [], 1, 0) = 100
7 ptrace(PTRACE_DETACH, 9, NULL, 0) = 0
7 pread64(3, "running", 64, 0) = 8
"""
    found = syscalls.counted(trace.splitlines())
    assert found["stops"] == 1
    assert found["calls"]["wait4"] == 2
    assert found["held"] == {"process_vm_readv": 1, "PTRACE_DETACH": 1}


def test_the_profilers_that_are_asked_for_are_each_run_once():
    asked = settings.Settings("pysample", pathlib.Path("scratch"), profilers=["py-spy", "floor"])
    assert asked.chosen(["floor", "pysample"], ["floor", "pysample", "py-spy"]) == ["floor", "py-spy"]


def pauses(holds_us):
    """Records of one cell, 15 frames at 100 Hz."""
    cell = {"kind": "pause", "shape": "15×0", "frames": 15, "threads": 2, "rate": 100, "version": None, "copied": 1}
    return [dict(cell, profiler=name, repeats=[{"net_p50_us": us}]) for name, us in holds_us.items()]


def test_goals_are_met_missed_or_not_measured():
    records = pauses({"pysample --native": 26, "floor": 20})
    answers = {text: answer for text, *answer in pause.goals(records)}
    assert answers["hold of a running thread, net p50, against the floor: ≤ 1.3 ×"] == ["1.30 ×", tables.MET]
    records[0]["repeats"][0]["net_p50_us"] = 27
    answers = {text: answer for text, *answer in pause.goals(records)}
    assert answers["hold of a running thread, net p50, against the floor: ≤ 1.3 ×"] == ["1.35 ×", tables.MISSED]
    assert answers["pysample holds shorter than py-spy, in every cell"] == ["–", tables.NOT_MEASURED]


def test_the_goals_of_kinds_that_did_not_run_are_in_the_report():
    text = report.markdown({"machine": {}, "records": []})
    assert "| first hold at attach: ≤ 1 ms | – | not measured |" in text


@pytest.mark.parametrize("kind", sorted(report.kinds.every()))
def test_a_target_that_did_not_start_is_a_failure_and_not_the_end_of_the_report(kind):
    record = {"kind": kind, "profiler": "–", "repeats": [], "failed": "gap.py did not start"}
    text = report.markdown({"machine": {}, "records": [record]})
    assert "| %s, – | gap.py did not start |" % kind in text
    assert "| met |" not in text


def run(*arguments):
    return subprocess.run([sys.executable, str(BENCH / "run"), *arguments], capture_output=True, text=True, check=False)


def goals_of(text):
    """goal → state, of a report."""
    part = text.partition("## Goals")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("|")]
    return {row[0]: row[2] for row in rows[2:]}


# Of peers, of rates and of workloads that a quick run leaves out. A busy machine has no slow-down to show: windows in which the target
# mostly waited for a CPU say nothing.
LEFT_OUT = ("py-spy", "tachyon", "every peer", "at 100 Hz: ≤", "at 1000 Hz: ≤", "200 threads", "slow-down at 100 Hz")


@pytest.mark.slow
def test_a_quick_run_gives_a_row_a_profiler_and_answers_the_goals_of_its_kinds(tmp_path, as_root):
    """Given a quick run, each table has its profilers, each goal an answer, and nothing has failed."""
    kinds = ["pause", "slow", "eintr", "torn", "dump", "agreement"]
    outcome = run(*kinds, "--quick", "--window", "0.2", "--pysample", os.path.abspath(runs.program()), "-o", str(tmp_path))
    assert outcome.returncode == 0, outcome.stderr
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    for profiler in ("empty", "floor", "pysample", "pysample --native", "pysample dump", "pysample --nonblocking"):
        assert "\n| %s |" % profiler in text
    assert "## Failures" not in text
    ours = {text for name in kinds for text, _, _ in report.kinds.every()[name].goals([])}
    states = goals_of(text)
    assert ours <= set(states)
    unanswered = [goal for goal in ours if states[goal] == tables.NOT_MEASURED]
    assert [goal for goal in unanswered if not any(word in goal for word in LEFT_OUT)] == []

    (tmp_path / "report.md").unlink()
    assert run("--report", str(tmp_path)).returncode == 0
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == text


def test_an_unknown_kind_or_profiler_is_wrong_usage():
    assert "no such kind: speed" in run("speed").stderr
    assert run("pause", "-p", "nobody").returncode == 2
