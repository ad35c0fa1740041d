# SPDX-License-Identifier: MIT
"""A target that executes another program is followed into it."""

import signal

import pytest

import interpreters
import runs
import targets

SLEEP = ["/bin/sleep", "2"]


def follow(python, how, command, *arguments):
    """Records across an exec, started by SIGUSR2 in the middle; returns what was recorded."""
    with targets.python(python, "exec_away.py", how, *command) as target:
        with runs.recording("-p", target.pid, "-F", 200, *arguments) as run:
            run.wait_sampling()
            target.tell(signal.SIGUSR2)
            if command == SLEEP:
                outcome = run.result().ok()
                target.wait_end(0)
                return outcome
            target.wait_ready()
            run.wait_sampling(run_ticks(run) + 200)
            run.tell(signal.SIGTERM)
            outcome = run.result().ok()
        target.check_untouched()
        target.finish()
        return outcome


def run_ticks(run):
    return int(runs.procfs.switches(run.pid))


@pytest.mark.parametrize("how", ["leader", "thread"])
def test_case_1_exec_of_another_program_in_the_same_python(usual_python, how):
    """Given an exec of the same Python, from the main thread or another, both programs are in the profile."""
    outcome = follow(usual_python, how, usual_python.command(targets.PROGRAMS / "busy.py"))
    found = runs.names(outcome.stacks())
    assert {"before_exec", "outer", "inner"} <= found, outcome


@pytest.mark.parametrize("how", ["leader", "thread"])
@pytest.mark.parametrize("first, second", [("3.8", "3.12"), ("3.13", "2.7"), ("system", "3.9"), ("3.12", "system")])
def test_case_1_exec_of_another_version(first, second, how):
    """Given an exec of another version of Python, maps, version and symbols are read anew."""
    one, other = interpreters.one(first + ".", first), interpreters.one(second + ".", second)
    if not one or not other or one.in_chroot or other.in_chroot:
        pytest.skip("needs CPython %s and %s" % (first, second))
    outcome = follow(one, how, other.command(targets.PROGRAMS / "busy.py"))
    assert {"before_exec", "outer", "inner"} <= runs.names(outcome.stacks()), outcome
    assert outcome.complete_percent > 95


@pytest.mark.parametrize("how", ["leader", "thread"])
def test_case_1_exec_of_a_program_without_python(usual_python, how):
    """Given an exec of /bin/sleep, what was recorded before is written and the exit code is 0."""
    outcome = follow(usual_python, how, SLEEP)
    assert "before_exec" in runs.names(outcome.stacks())


@pytest.mark.slow
@pytest.mark.parametrize("how, rounds", [("leader", 500), ("thread", 200)])
def test_case_2_exec_many_times_under_1_khz(usual_python, how, rounds):
    """
    Given a target that executes itself 500 times as fast as it can, or 200 times from a thread that the kernel renames to
    the leader: all rounds are done, the last one is sampled (1 s; the rate may have been lowered), and the target ends as it should.
    """
    with targets.python(usual_python, "exec_again.py", how, rounds, options=["-I", "-S", "-E"]) as target:
        with runs.recording("-p", target.pid, "-F", 1000, "-d", "60s") as run:
            assert target.wait_end(patience_s=60)[-1] == "done %d" % rounds
            stacks = run.result().ok().stacks()
    assert sum(weight for frames, weight in stacks.items() if any(frame.name == "last_round" for frame in frames)) > 50
