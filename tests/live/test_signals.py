# SPDX-License-Identifier: MIT
"""Signals of the target arrive as if nobody were looking; a stopped target stays stopped."""

import ctypes
import errno
import os
import signal
import time

import pytest

import procfs
import runs
import targets

QUEUED = 20000
libc = ctypes.CDLL(None, use_errno=True)


def queue(pid, value):
    """Sends SIGRTMIN + 5 with a value; waits while the queue of the target is full."""
    number = signal.SIGRTMIN + 5
    while libc.sigqueue(pid, number, ctypes.c_void_p(value)) != 0:
        assert ctypes.get_errno() == errno.EAGAIN, os.strerror(ctypes.get_errno())
        time.sleep(0.0005)


@pytest.mark.slow
def test_case_9_every_signal_arrives_once_and_in_order(usual_python, helpers):
    """
    Given a timer of 0.5 ms and 20,000 queued real-time signals, sampled at 1 kHz: each signal arrives once, in order,
    with its value and its sender, and the timer's expiries are those that fit into the time.
    """
    with targets.python(usual_python, "signals.py", helpers, os.getpid()) as target:
        with runs.recording("-p", target.pid, "-F", 1000) as run:
            run.wait_sampling()
            before, begin = target.count(), time.monotonic()
            for value in range(1, QUEUED + 1):
                queue(target.pid, value)
                if value % 20 == 0:
                    time.sleep(0.001)
            procfs.wait_until(lambda: target.count()["queued"] >= QUEUED, "20,000 signals")
            after, elapsed = target.count(), time.monotonic() - begin
            run.tell(signal.SIGINT)
            assert run.result().ok().samples > 100
        assert after["queued"] == QUEUED
        assert after["queued_sum"] == QUEUED * (QUEUED + 1) // 2
        assert after["out_of_order"] == 0
        assert after["strange"] == 0
        assert abs((after["expiries"] - before["expiries"]) - elapsed / 0.0005) < 0.02 * elapsed / 0.0005 + 40
        target.check_untouched()
        target.finish()


def progress(target):
    return procfs.schedule(target.pid)[0]


def stop(target):
    """Puts a busy target into job-control stop; returns the CPU time that it had used when it stood still."""
    used = progress(target)
    procfs.wait_until(lambda: progress(target) > used + 20e6, "the target busy")
    target.tell(signal.SIGSTOP)
    procfs.wait_until(lambda: procfs.state(target.pid) == "T", "the target stopped")
    while used != progress(target):
        used = progress(target)
        time.sleep(0.01)
    return used


def test_case_4_a_stopped_target_is_seen_and_stays_stopped(usual_python):
    """Given a target in job-control stop, its stack is taken, it stays stopped, and SIGCONT is not swallowed."""
    with targets.python(usual_python, "busy.py") as target:
        used = stop(target)
        stacks = runs.pysample("-p", target.pid, "-d", "1s", "--idle").ok().stacks()
        assert runs.share(stacks, "outer") == 100
        assert procfs.state(target.pid) == "T"
        assert progress(target) - used < 2e6  # the kernel itself runs it a little when a tracer comes and goes
        target.tell(signal.SIGCONT)
        procfs.wait_until(lambda: progress(target) > used + 50e6, "the target running on")
        target.check_untouched()
        target.finish()


def test_case_4_dump_of_a_stopped_target(usual_python):
    """Given a target in job-control stop, dump shows its stack and leaves it stopped."""
    with targets.python(usual_python, "busy.py") as target:
        stop(target)
        outcome = runs.pysample("dump", "-p", target.pid).ok()
        assert "outer" in outcome.out
        assert procfs.state(target.pid) == "T"
        target.tell(signal.SIGCONT)
        target.finish()


def test_case_4_stop_and_continue_in_the_middle(usual_python):
    """Given SIGSTOP and SIGCONT while it is sampled at 500 Hz, ten times, the target obeys both each time."""
    with targets.python(usual_python, "busy.py") as target, runs.recording("-p", target.pid, "-F", 500) as run:
        run.wait_sampling()
        for _ in range(10):
            target.tell(signal.SIGSTOP)
            procfs.wait_until(lambda: procfs.state(target.pid) in "Tt", "the target stopped")
            used = progress(target)
            time.sleep(0.05)
            assert procfs.state(target.pid) in "Tt"
            assert progress(target) - used < 5e6
            target.tell(signal.SIGCONT)
            procfs.wait_until(lambda: progress(target) > used + 20e6, "the target running on")
        run.tell(signal.SIGTERM)
        run.result().ok()
        target.check_untouched()
        target.finish()


def test_a_signal_that_kills_the_target_kills_it(usual_python):
    """Given a target that is killed by SIGUSR2 in the middle, it dies of that signal, and pysample is done."""
    with targets.python(usual_python, "busy.py") as target, runs.recording("-p", target.pid, "-F", 500) as run:
        run.wait_sampling()
        target.tell(signal.SIGUSR2)
        assert runs.share(run.result(10).ok().stacks(), "leaf") > 0
        target.wait_end(-signal.SIGUSR2)
