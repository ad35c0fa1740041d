# SPDX-License-Identifier: MIT
"""Only threads that run are stopped; sleepers are seen without being disturbed."""

import re
import time

import pytest

import interpreters
import procfs
import runs
import targets
import tracing

CALLS = ["epoll_wait", "semtimedop", "sigtimedwait", "inotify", "recv"]
FOR_EVER_MS = "600000"


def interrupted(counters, calls=CALLS):
    return {call: counters[call][1] for call in calls if counters[call][1]}


@pytest.mark.slow
def test_of_16_threads_only_the_2_that_run_are_stopped(usual_python, helpers):
    """Given 14 threads that sleep in four ways, none of them is switched to even once while 2 others are sampled."""
    with targets.python(usual_python, "sleepers.py", helpers) as target:
        running = {int(tid) for tid in target.words}
        asleep = [tid for tid in procfs.threads(target.pid) if tid not in running]
        assert len(running) == 2 and len(asleep) == 14
        procfs.wait_settled(target.pid, asleep)
        before = {tid: procfs.switches(target.pid, tid) for tid in asleep}
        outcome = runs.record(target, 5, "-F", 200, "--idle")
        assert {tid: procfs.switches(target.pid, tid) for tid in asleep} == before
        found = runs.names(outcome.stacks())
        assert {"busy_python", "busy_native", "wait_sleep", "wait_lock", "wait_event", "wait_pipe"} <= found
        target.finish()


def test_a_bare_stop_would_be_noticed(usual_python, helpers):
    """
    The premise of case 10: each of the calls comes back with EINTR when its thread is stopped once (but for the read from
    inotify, which newer kernels restart).
    """
    calls = [call for call in CALLS if call != "inotify"]
    with targets.python(usual_python, "parked.py", helpers, 1, 0, FOR_EVER_MS, *calls) as target:
        for tid in target.words:
            procfs.wait_until(lambda tid=int(tid): procfs.state(target.pid, tid) == "S", "a sleeping thread")
            tracing.stop_once(int(tid))
        procfs.wait_until(lambda: len(interrupted(target.count(), calls)) == len(calls), "EINTR in every call")


@pytest.mark.slow
def test_case_10_system_calls_that_stay_asleep_see_no_eintr(usual_python, helpers):
    """Given raw epoll_wait, semtimedop, sigtimedwait, inotify read and recv with SO_RCVTIMEO, none returns EINTR."""
    with targets.python(usual_python, "parked.py", helpers, 2, 2, FOR_EVER_MS, *CALLS) as target:
        outcome = runs.record(target, 5, "-F", 100, "--idle")
        assert "wait_in" in runs.names(outcome.stacks())
        assert interrupted(target.count()) == {}
        target.finish()


@pytest.mark.slow
def test_case_10_a_thread_that_falls_asleep_under_the_stop_is_rare(usual_python, helpers):
    """Given 24 threads that wake every 30 ms, 100 Hz over 3 s makes at most a few EINTR (all stopped: thousands)."""
    with targets.python(usual_python, "parked.py", helpers, 12, 12, 30, "epoll_wait") as target:
        before = target.count()["epoll_wait"]
        runs.record(target, 3, "-F", 100)
        after = target.count()["epoll_wait"]
        assert after[0] - before[0] > 1000
        assert after[1] - before[1] <= 15
        target.finish()


@pytest.mark.slow
def test_case_10_with_native_frames_a_sleeper_is_held_once(usual_python, helpers):
    """
    Given 24 threads that wake every 30 ms and sleep again in the same place, their native stacks at 100 Hz over 3 s cost a stop
    a thread, where unwinding needs a register that only a stop tells, and few more. The main thread is busy.
    """
    with targets.python(usual_python, "parked.py", helpers, 12, 12, 30, "epoll_wait") as target:
        before = target.count()["epoll_wait"]
        outcome = runs.record(target, 3, "-F", 100, "--native", "--idle")
        after = target.count()["epoll_wait"]
        assert after[0] - before[0] > 1000
        assert after[1] - before[1] <= 24 + 15
        of_main, stopped = outcome.ticks[0], int(re.search(r"(\d+) threads stopped", outcome.err).group(1))
        assert stopped <= of_main + 24 + 50, outcome
        assert outcome.samples > 24 * 250 and outcome.complete_percent >= 99, outcome
        target.finish()


@pytest.mark.slow
def test_case_10_epoll_of_python_2_does_not_raise():
    """Given Python 2.7, whose epoll.poll raises on EINTR, a sleeping poller and one that wakes often go on."""
    python = interpreters.one("2.7")
    if not python:
        pytest.skip("no CPython 2.7 on this machine")
    with targets.python(python, "poller.py") as target:
        before = target.count()
        runs.record(target, 3, "-F", 100)
        after = target.count()
        assert after["failures"] == 0
        assert after["waits"] - before["waits"] > 50
        target.finish()


@pytest.mark.slow
def test_case_11_two_hundred_parked_threads_cost_nothing(usual_python, helpers):
    """Given 200 threads in epoll_wait, sampling takes less than 1 % of a CPU from them; they are shown as waiting."""
    with targets.python(usual_python, "parked.py", helpers, 200, 0, FOR_EVER_MS, "epoll_wait") as target:
        parked = [int(tid) for tid in target.words]
        procfs.wait_settled(target.pid, parked)
        before = sum(procfs.schedule(target.pid, tid)[0] for tid in parked)
        runs.record(target, 8, "-F", 100)
        assert sum(procfs.schedule(target.pid, tid)[0] for tid in parked) - before < 0.01 * 8e9
        dumped = runs.dump(target)
        assert {dumped[tid]["state"] for tid in parked} == {"waiting"}
        assert {dumped[tid]["syscall"] for tid in parked} == {"epoll_wait"}
        target.finish()


@pytest.mark.slow
def test_case_12_one_busy_thread_among_160_is_hardly_held(usual_python, helpers):
    """
    Given 160 native threads and a busy Python one at 100 Hz, the busy one is held for less than 5 % of the time (it never
    sleeps: what is neither running nor waiting for a CPU is being held), and no native thread is stopped.
    """
    with targets.python(usual_python, "parked.py", helpers, 0, 160, FOR_EVER_MS, "epoll_wait") as target:
        parked = [int(tid) for tid in target.words]
        procfs.wait_settled(target.pid, parked)
        before = {tid: procfs.switches(target.pid, tid) for tid in parked}

        def held_percent(seconds):
            used, begin = sum(procfs.schedule(target.pid)), time.monotonic()
            time.sleep(seconds)
            return 100 * (1 - (sum(procfs.schedule(target.pid)) - used) / 1e9 / (time.monotonic() - begin))

        alone = held_percent(2)
        with runs.recording("-p", target.pid, "-F", 100) as run:
            run.wait_sampling()
            sampled = min(held_percent(2) for _ in range(3))  # on a busy machine pysample itself waits for a CPU
            run.tell(15)
            run.result().ok()
        assert sampled - alone < 5, (alone, sampled)
        assert {tid: procfs.switches(target.pid, tid) for tid in parked} == before
        target.check_untouched()
        target.finish()


@pytest.mark.parametrize("rate", [20, 1000])
def test_case_12_one_busy_thread_among_160_is_seen_at_other_rates(usual_python, helpers, rate):
    """Given the same program, 20 and 1000 Hz give the samples they should, or the summary says at which rate it went."""
    with targets.python(usual_python, "parked.py", helpers, 0, 160, FOR_EVER_MS, "epoll_wait") as target:
        outcome = runs.record(target, 2, "-F", rate)
        assert runs.share(outcome.stacks(), "busy") > 99
        ticks, _, skipped = outcome.ticks
        assert abs(ticks + skipped - 2 * rate) <= 0.05 * 2 * rate or "lowered to" in outcome.err
        assert outcome.samples >= 0.95 * ticks
        target.finish()


def test_threads_are_told_apart(usual_python):
    """-t puts a root frame for each thread above its stacks."""
    with targets.python(usual_python, "named.py") as target:
        stacks = runs.record(target, 1, "-t").stacks()
        for tid, name, function in zip(target.words, ("worker-a", "worker-b"), ("work_a", "work_b")):
            mine = [frames for frames in stacks if frames[0] == runs.Frame("thread " + tid, name, None)]
            assert mine and all(function in [frame.name for frame in frames] for frames in mine)
        target.finish()


def test_one_thread_by_its_id(usual_python):
    """-T TID keeps that thread only."""
    with targets.python(usual_python, "named.py") as target:
        found = runs.names(runs.record(target, 1, "-T", target.words[0]).stacks())
        assert "work_a" in found and "work_b" not in found
        target.finish()


def test_one_thread_by_its_name(usual_python):
    """--thread-name keeps the threads of that name only."""
    with targets.python(usual_python, "named.py") as target:
        found = runs.names(runs.record(target, 1, "--thread-name", "worker-b").stacks())
        assert "work_b" in found and "work_a" not in found
        target.finish()


def test_gil_keeps_the_thread_that_holds_it(every_python):
    """--gil counts a thread while it holds the GIL: of one that computes in Python and one in a system call, the first."""
    with targets.python(every_python, "gil.py") as target:
        both = runs.record(target, 1).stacks()
        assert runs.share(both, "compute") > 20 and runs.share(both, "read_without_gil") > 20
        stacks = runs.record(target, 1, "--gil").stacks()
        assert runs.share(stacks, "compute") > 85
        target.finish()


def test_idle_threads_are_left_out_unless_asked_for(usual_python, helpers):
    """Threads that wait in the kernel are counted with --idle only."""
    with targets.python(usual_python, "sleepers.py", helpers) as target:
        waiting = {"wait_sleep", "wait_lock", "wait_event", "wait_pipe"}
        assert not waiting & runs.names(runs.record(target, 1).stacks())
        assert not waiting & runs.names(runs.record(target, 1, "--no-idle").stacks())
        assert waiting <= runs.names(runs.record(target, 1, "--idle").stacks())
        target.finish()


def test_cpu_and_offcpu_modes_see_the_two_halves(usual_python):
    """--mode cpu has the function that computes, --mode offcpu the one that sleeps."""
    with targets.python(usual_python, "naps.py", 0.2, 0.02) as target:
        on = runs.record(target, 3, "--mode", "cpu", "-F", 500).stacks()
        off = runs.record(target, 3, "--mode", "offcpu", "-F", 500).stacks()
        assert runs.share(on, "compute") > 90
        assert runs.share(off, "nap") > 80  # a busy machine keeps compute off its CPU, too
        target.finish()
