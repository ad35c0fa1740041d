# SPDX-License-Identifier: MIT
"""Whatever happens to pysample or to the target, nobody is left stopped and nobody waits for ever."""

import os
import random
import signal
import subprocess
import time

import pytest

import procfs
import runs
import targets

KILLS = 200


@pytest.mark.slow
def test_case_6_sigkill_of_pysample_200_times(usual_python, helpers):
    """Given pysample at 1 kHz, killed 200 times 0 to 40 ms into its sampling, the target is never left stopped."""
    chance = random.Random(6)
    with targets.python(usual_python, "sleepers.py", helpers) as target:
        for _ in range(KILLS):
            with runs.recording("-p", target.pid, "-F", 1000) as run:
                run.wait_sampling(3)
                time.sleep(chance.uniform(0, 0.040))
                run.kill()
            target.check_untouched()
        busy = int(target.words[0])
        used = procfs.schedule(target.pid, busy)[0]
        procfs.wait_until(lambda: procfs.schedule(target.pid, busy)[0] > used + 20e6, "the target running on")
        target.finish()


@pytest.mark.slow
def test_case_6_a_stopped_pysample_does_not_stop_the_target(usual_python):
    """Given pysample in SIGSTOP for 3 s in the middle, ten busy threads run on, at most one of them is held."""
    with targets.python(usual_python, "hashers.py", 10) as target:
        with runs.recording("-p", target.pid, "-F", 1000) as run:
            run.wait_sampling()
            run.tell(signal.SIGSTOP)
            procfs.wait_until(lambda: procfs.state(run.pid) == "T", "pysample stopped")
            before = {tid: procfs.schedule(target.pid, tid)[0] for tid in procfs.threads(target.pid)}
            time.sleep(3)
            held = [tid for tid in target.words if procfs.schedule(target.pid, int(tid))[0] == before[int(tid)]]
            assert len(held) <= 1
            run.tell(signal.SIGCONT)
            run.tell(signal.SIGTERM)
            run.result().ok()
        target.check_untouched()
        target.finish()


def test_case_3_the_main_thread_has_exited(usual_python, helpers):
    """Given a zombie leader beside a thread that runs, the running thread is profiled with its names and lines."""
    with targets.python(usual_python, "leaderless.py", helpers) as target:
        procfs.wait_until(lambda: procfs.state(target.pid, target.pid) == "Z", "the leader a zombie")
        outcome = runs.record(target, 2)
        stacks = outcome.stacks()
        assert runs.share(stacks, "lonely") > 99
        assert outcome.complete_percent >= 99
        assert all(frame.line for frames in stacks for frame in frames)
        dumped = runs.dump(target)
        assert "lonely" in [frame.name for thread in dumped.values() for frame in runs.frames_of(thread)]
        target.finish(by="stdin")


@pytest.mark.slow
def test_case_5_a_thread_in_uninterruptible_sleep(usual_python, helpers):
    """Given a vfork parent in D, the others are sampled as ever, the recording ends in time, the thread wakes up clean."""
    with targets.python(usual_python, "vforks.py", helpers, 6) as target:
        sleeper = int(target.words[0])
        procfs.wait_until(lambda: procfs.state(target.pid, sleeper) == "D", "a thread in D")
        begin = time.monotonic()
        outcome = runs.record(target, 3, "-F", 200, "--idle")
        assert time.monotonic() - begin < 4.5
        assert procfs.state(target.pid, sleeper) == "D"
        assert sum(weight for frames, weight in outcome.stacks().items() if frames[-1].name == "busy") > 0
        assert target.read_line() == "vforked 1"
        target.check_untouched()
        target.finish()


def test_case_5_dump_beside_a_thread_in_uninterruptible_sleep(usual_python, helpers):
    """Given a vfork parent in D, dump does not wait for it and shows the others."""
    with targets.python(usual_python, "vforks.py", helpers, 4) as target:
        sleeper = int(target.words[0])
        procfs.wait_until(lambda: procfs.state(target.pid, sleeper) == "D", "a thread in D")
        procfs.wait_until(lambda: "busy" in runs.names(runs.record(target, 0.1).stacks()), "the main thread at work")
        dumped = runs.dump(target, patience_s=3)
        assert sleeper in dumped
        assert "busy" in [frame.name for frame in runs.frames_of(dumped[target.pid])]
        target.finish()


@pytest.mark.parametrize("tracer", [["gdb", "-q", "-nx", "-batch", "-ex", "continue", "-p"], ["strace", "-qq", "-o", "/dev/null", "-f", "-p"]])
def test_case_7_another_tracer_is_named(usual_python, tracer):
    """Given a target that gdb or strace holds, the message names that program and its pid, and the target goes on."""
    with targets.python(usual_python, "busy.py") as target:
        other = subprocess.Popen(
            [*tracer, str(target.pid)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            procfs.wait_until(lambda: procfs.tracers(target.pid)[target.pid] == other.pid, "the other tracer")
            # Traced and on a CPU again: a tracer holds the target while it reads symbols.
            before = procfs.schedule(target.pid)[0]
            procfs.wait_until(lambda: procfs.schedule(target.pid)[0] > before, "the target running under it")
            outcome = runs.pysample("-p", target.pid, "-d", "1s", patience_s=10)
            assert outcome.code == 1
            outcome.one_error(tracer[0], other.pid)
            assert "--nonblocking" in outcome.err
            without = runs.pysample("-p", target.pid, "-d", "1s", "--nonblocking", patience_s=10).ok()
            assert runs.share(without.stacks(), "outer") > 90
            assert procfs.tracers(target.pid)[target.pid] == other.pid
        finally:
            other.send_signal(signal.SIGTERM)
            other.wait()
        target.check_untouched()
        target.finish()


@pytest.mark.slow
def test_case_8_a_fork_storm_goes_on(usual_python, helpers):
    """Given fork and vfork as fast as can be, no child is left stopped and the storm slows by less than 20 %."""
    with targets.python(usual_python, "storm.py", helpers) as target:
        alone, sampled = [], []
        for _ in range(5):
            alone.append(target.count_rate(0.8))
            with runs.recording("-p", target.pid, "-F", 100) as run:
                run.wait_sampling()
                sampled.append(target.count_rate(0.8))
                run.tell(signal.SIGTERM)
                run.result().ok()
        # Whatever else the machine does can only lower a rate: the highest ones are compared.
        assert max(sampled) > 0.8 * max(alone), (alone, sampled)
        assert len(procfs.children(target.pid)) <= 1
        target.check_untouched()
        target.finish()


@pytest.mark.slow
def test_threads_that_come_and_go(usual_python):
    """Given threads that live for a few milliseconds each, the recording goes on and the target too."""
    with targets.python(usual_python, "churn.py") as target:
        outcome = runs.record(target, 3, "-F", 500)
        assert "short_life" in runs.names(outcome.stacks())
        assert outcome.samples > 300
        target.finish()


def test_nothing_is_written_to_the_target_and_it_is_never_at_risk(usual_python, tmp_path, as_root):
    """Under strace, pysample makes no call that changes the target: no POKE, no SETREGS, no EXITKILL, no write to mem."""
    log = tmp_path / "calls"
    with targets.python(usual_python, "busy.py") as target:
        traced = ["strace", "-f", "-qq", "-o", str(log), "-e", "trace=ptrace,process_vm_writev,openat,open,kill,tgkill,tkill"]
        runs.pysample("-p", target.pid, "-d", "1s", prefix=traced).ok()
        target.check_untouched()
        target.finish()
    calls = log.read_text()
    assert "PTRACE_SEIZE" in calls and "PTRACE_DETACH" in calls
    for harm in ("PTRACE_POKE", "PTRACE_SETREG", "PTRACE_ATTACH", "PTRACE_KILL", "EXITKILL", "process_vm_writev", "tgkill"):
        assert harm not in calls, [line for line in calls.splitlines() if harm in line][:3]
    memory = [line for line in calls.splitlines() if "/mem\"" in line]
    assert not [line for line in memory if "O_RDWR" in line or "O_WRONLY" in line]
