# SPDX-License-Identifier: MIT
"""Targets that lie, that may not be read, or that die of a system call that is not theirs."""

import os
import subprocess
import time

import pytest

import interpreters
import procfs
import runs
import targets

MODES = ["random", "cyclic", "huge", "changing", "zero"]
LIMIT_KB = 400 * 1024


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.9", "3.11", "3.12", "3.13", "3.14", "3.15", "3.99"])
@pytest.mark.parametrize("mode", MODES)
def test_case_36_a_fake_python(build, built, mode, version):
    """
    Given a program that exports the names of a runtime over memory that is random, cyclic, huge or changing: no crash, no
    hang, no growth; it is refused in one line or profiled with losses by name.
    """
    fake = build("fake_python.c", "-rdynamic", "-pthread")
    with targets.command(fake, mode, version) as target:
        for command in (["-d", "400ms", "-F", 500, "--idle"], ["--nonblocking", "-d", "300ms", "-F", 500], ["dump"]):
            words = [*command, "-p", target.pid] if command[0] == "dump" else ["-p", target.pid, *command]
            begin = time.monotonic()
            with runs.recording(*words) as run:
                peak = 0
                while run.process.poll() is None:
                    if time.monotonic() - begin > 20:
                        run.kill()
                        pytest.fail("no end: %s" % run.result())
                    peak = max(peak, resident_kb(run.pid))
                    time.sleep(0.01)
                outcome = run.result()
            assert outcome.code in (0, 1), outcome
            assert "runtime error" not in outcome.err and "Sanitizer" not in outcome.err, outcome
            assert outcome.code == 0 or len(outcome.err.splitlines()) == 1, outcome
            assert peak < LIMIT_KB or built, outcome
            target.check_untouched()
        target.finish()


def resident_kb(pid):
    try:
        return int(procfs.status(pid).get("VmRSS", "0 kB").split()[0])
    except (FileNotFoundError, ProcessLookupError):
        return 0


@pytest.mark.parametrize("errno", [1, 38], ids=["EPERM", "ENOSYS"])
def test_case_14_without_process_vm_readv(build, usual_python, errno, as_root):
    """Given a process_vm_readv that is refused, memory is read another way, and the summary has one note of it."""
    without = [build("without_calls.c"), str(errno), "process_vm_readv", "--"]
    with targets.python(usual_python, "busy.py") as target:
        outcome = runs.record(target, 1, prefix=without)
        assert runs.share(outcome.stacks(), "outer") == 100
        assert outcome.complete_percent >= 90
        assert len([line for line in outcome.err.splitlines() if "process_vm_readv" in line]) == 1, outcome.err
        target.finish()


def test_case_14_without_process_vm_readv_and_mem(build, usual_python, as_root):
    """Given neither process_vm_readv nor /proc/PID/mem, memory is read word by word in the stop."""
    without = [build("without_calls.c"), "1", "process_vm_readv", "--"]
    preload = build("without_mem.c", "-shared", "-fPIC", "-ldl")
    with targets.python(usual_python, "busy.py") as target:
        outcome = runs.record(target, 1, prefix=without, environment={"LD_PRELOAD": preload})
        assert runs.share(outcome.stacks(), "outer") == 100
        assert outcome.complete_percent >= 90
        target.finish()


def test_case_13_a_target_that_is_not_dumpable(usual_python, as_root):
    """Given a target that made itself non-dumpable, root profiles it."""
    with targets.python(usual_python, "closed.py", "dumpable") as target:
        assert runs.share(runs.record(target, 1).stacks(), "guarded_work") == 100
        target.finish()


@pytest.mark.slow
def test_case_13_a_target_under_its_own_seccomp_filter(usual_python, as_root):
    """
    Given a target that is killed by every system call that it does not use itself, restart_syscall among them, busy and
    asleep in turn: attaching at 500 Hz works and makes it run none.
    """
    with targets.python(usual_python, "closed.py", "seccomp") as target:
        outcome = runs.record(target, 3, "-F", 500, "--idle")
        assert runs.share(outcome.stacks(), "guarded_work") == 100
        runs.dump(target)
        target.finish()


def test_reading_without_stopping(every_python):
    """--nonblocking never stops the target (strace: no ptrace call), and most samples are complete."""
    with targets.python(every_python, "busy.py") as target:
        outcome = runs.record(target, 1, "-F", 200, "--nonblocking")
        assert runs.share(outcome.stacks(), "outer") > 90
        assert sum(outcome.stacks().values()) > 50
        target.finish()


def test_reading_without_stopping_tears_no_stack(every_python):
    """
    Given two chains of calls in turn, each stack read without a stop is one of them, and 19 in 20 samples are kept. The
    frames of 3.10 and older lie apart: copying them takes about as long as a chain lives, and half is asked for.
    """
    with targets.python(every_python, "chains.py") as target:
        outcome = runs.record(target, 2, "-F", 200, "--nonblocking", "--no-line")
        for frames in outcome.stacks():
            names = [frame.name for frame in frames if frame.name not in ("work", "<module>", "run")]
            assert names == ["%s%d" % (names[0][0], i + 1) for i in range(len(names))] if names else True
        assert outcome.complete_percent >= (95 if every_python.version >= (3, 11) else 50), outcome
        target.finish()


def test_reading_without_stopping_uses_no_ptrace(usual_python, tmp_path, as_root):
    """Under strace, --nonblocking makes no ptrace call at all."""
    log = tmp_path / "calls"
    with targets.python(usual_python, "busy.py") as target:
        runs.record(target, 1, "--nonblocking", prefix=["strace", "-f", "-qq", "-o", str(log), "-e", "trace=ptrace"])
        target.finish()
    assert "ptrace(" not in log.read_text()


@pytest.mark.slow
def test_little_memory_is_enough(usual_python, as_root):
    """Given 64 MB of address space for pysample, a profile of some seconds is made."""
    with targets.python(usual_python, "shape.py") as target:
        target.read_line()
        outcome = runs.record(target, 2, prefix=["prlimit", "--as=%d" % (64 << 20), "--"])
        assert outcome.complete_percent >= 90
        target.finish()


def test_case_25_very_deep_recursion(every_python):
    """Given 20,000 nested Python frames (5,000 before 3.11), nothing hangs or crashes; a cut is marked by its reason."""
    depth = 20000 if every_python.version >= (3, 11) else 5000
    with targets.python(every_python, "deep.py", depth) as target:
        begin = time.monotonic()
        outcome = runs.record(target, 1, "-F", 50)
        assert time.monotonic() - begin < 5
        deepest = max(len(frames) for frames in outcome.stacks())
        assert deepest >= 500
        assert deepest >= depth or "depth" in outcome.err, outcome.err
        target.finish()


def test_a_version_that_is_too_old_is_refused_by_name(tmp_path):
    """Given a library that says that it is Python 2.6, that version is named in the refusal."""
    assert interpreters.EXPECTED[0] == "2.7"
    source = tmp_path / "old.c"
    source.write_text(
        "#include <stdio.h>\n#include <unistd.h>\n"
        "const char *Py_GetVersion(void) { return \"2.6.9 (unknown, Jan  1 2014, 00:00:00) \\n[GCC 4.8]\"; }\n"
        "void *PyThreadState_Current, *PyInterpreterState_Head, *_PyThreadState_Current;\n"
        "int Py_IsInitialized(void) { return 1; }\n"
        "int main(void) { puts(\"ready\"); fflush(stdout); char c; while (read(0, &c, 1) > 0); return 7; }\n"
    )
    subprocess.run(["gcc", "-rdynamic", str(source), "-o", str(tmp_path / "old")], check=True)
    with targets.command(tmp_path / "old") as target:
        outcome = runs.pysample("-p", target.pid, "-d", "1s")
        assert outcome.code == 1
        outcome.one_error(target.pid)
        target.check_untouched()
        target.finish(by="stdin")
