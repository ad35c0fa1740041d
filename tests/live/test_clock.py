# SPDX-License-Identifier: MIT
"""Time is real: a recording lasts as long as was asked, and its weights add up to the time that passed."""

import json
import re
import time

import pytest

import runs
import targets


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 40])
def test_case_34_five_seconds_are_five_seconds(usual_python, threads):
    """Given 1 and 40 threads, -d 5s lasts 5.0 s within 2 %, start and end of pysample aside."""
    with targets.python(usual_python, "naps.py", 0.001, 0.001, threads - 1) as target:
        begin = time.monotonic()
        document = json.loads(runs.record(target, 5, "-F", 200, "-f", "json").out)
        elapsed = time.monotonic() - begin
        assert 4.9e9 <= runs.JsonProfile(document).duration_ns <= 5.1e9
        assert 5.0 <= elapsed < 5.6
        target.finish()


@pytest.mark.slow
@pytest.mark.parametrize("rate", [7, 100, 997])
def test_case_34_weights_add_up_to_the_wall_time(usual_python, rate):
    """Given 0.9 s asleep and 0.1 s busy at 7, 100 and 997 Hz, the total is the wall time within 1 %."""
    with targets.python(usual_python, "naps.py", 0.9, 0.1) as target:
        document = json.loads(runs.record(target, 8, "-F", rate, "-f", "json", "--idle", "--mode", "wall").out)
        profile = runs.JsonProfile(document)
        assert abs(profile.total_ns() - 8e9) <= 0.08e9
        assert abs(profile.total_ns() - profile.duration_ns) <= 0.01 * profile.duration_ns
        if rate > 7:
            assert abs(runs.share(profile.stacks(), "compute") - 10) < 3
        target.finish()


@pytest.mark.slow
def test_cpu_time_adds_up_to_what_the_kernel_counted(usual_python):
    """--mode cpu: the weights are the CPU time that the target really used, within 5 %."""
    with targets.python(usual_python, "naps.py", 0.03, 0.02) as target:
        before = runs.procfs.schedule(target.pid)[0]
        document = json.loads(runs.record(target, 4, "-F", 500, "-f", "json", "--mode", "cpu").out)
        used = runs.procfs.schedule(target.pid)[0] - before
        assert abs(runs.JsonProfile(document).total_ns() - used) < 0.05 * used + 40e6
        target.finish()


@pytest.mark.parametrize("options", [[], ["--no-jitter"]])
def test_the_rate_is_kept(usual_python, options):
    """With jitter and without, 2 s at 250 Hz are 500 ticks, those counted that a busy machine skips, each with a sample."""
    with targets.python(usual_python, "busy.py") as target:
        outcome = runs.record(target, 2, "-F", 250, *options)
        ticks, _, skipped = outcome.ticks
        assert abs(ticks + skipped - 500) <= 10
        assert outcome.samples >= 0.98 * ticks
        target.finish()


def test_the_rate_is_lowered_to_keep_a_share(usual_python):
    """--max-overhead 0.5% at 1 kHz: a thread that is always busy is held for no more of its time, and far fewer ticks are made."""
    with targets.python(usual_python, "busy.py") as target:
        outcome = runs.record(target, 4, "-F", 1000, "-f", "json", "--max-overhead", "0.5%")
        document = json.loads(outcome.out)
        ticks, _, _ = outcome.ticks
        assert 5 <= ticks < 1400
        held = re.search(r"--max-overhead 0.5%: no thread was held for more than ([0-9.e+-]+) % of the time", outcome.err)
        assert 0 < float(held.group(1)) <= 0.6, outcome
        assert held.group(0) in " ".join(document["stats"]["notes"])
        target.finish()


@pytest.mark.slow
def test_jitter_does_not_beat_with_a_periodic_program(usual_python):
    """Given a program that is busy for 5 of every 10 ms, sampled at 100 Hz, the busy half is about half of the profile."""
    with targets.python(usual_python, "metronome.py", 0.010) as target:
        profile = runs.record(target, 4, "-F", 100).stacks()
        assert 35 < runs.share(profile, "even") < 65
        target.finish()
