# SPDX-License-Identifier: MIT
"""What else a process does where addresses are signed: it only sleeps, it executes a program, it is one of 32 bits."""

import signal
import struct
import time

import pytest

import procfs
import pythons
import runs
import stacks
import targets

CALLS = ["epoll_wait", "semtimedop", "sigtimedwait", "inotify", "recv"]
PYTHONS = ["3.13-trixie", "3.15-forky-library"]

pytestmark = pytest.mark.every_cpu


def one(name):
    [python] = [python for python in pythons.every() if python.name == name]
    return python


def ends_at_the_root(frames):
    return frames[0].name == "_start" or frames[0].file == "libc.so.6"


@pytest.mark.parametrize("name", PYTHONS)
def test_all_threads_sleep(name):
    """Given threads that all sleep, each of which is held once and never again: every native stack is whole from the first."""
    python = one(name)
    with targets.command(*python.command(targets.PROGRAMS / "naps.py", 3600, 0, 8)) as target:
        procfs.wait_until(lambda: set(procfs.states(target.pid).values()) == {"S"}, "not all sleep")
        for seconds in (0.2, 1):
            run = runs.record(target, seconds, "-F", 20, "--native=full", "--idle", "--threads")
            found = run.stacks()
            assert len(found) == 9, run
            for frames in found:
                assert not stacks.is_cut(frames) and stacks.fits(frames), frames
                assert ends_at_the_root(frames[1:]), frames
                assert {"nap", "sleep_on"} & set(stacks.names(frames)), frames


@pytest.mark.parametrize("name", PYTHONS)
def test_a_python_executes_itself(name):
    """Given an exec of the same program: native stacks are whole before and after."""
    python = one(name)
    words = python.command(targets.PROGRAMS / "busy.py")
    inside = words[2:] if words[0] == "chroot" else words
    with targets.command(*python.command(targets.PROGRAMS / "exec_away.py", "leader", *inside)) as target:
        with runs.recording("-p", target.pid, "-F", 50, "--native=full") as run:
            run.wait_sampling()
            target.tell(signal.SIGUSR2)
            target.wait_ready()
            # Its waits for the disk, which has what it executed, are no ticks to be counted.
            time.sleep(5)
            run.tell(signal.SIGTERM)
            outcome = run.result().ok()
        found = outcome.stacks()
        assert {"before_exec", "outer", "inner"} <= runs.names(found), outcome
        after = {frames: weight for frames, weight in found.items() if "inner" in stacks.names(frames)}
        assert stacks.percent(after, ends_at_the_root) >= 99, outcome


def test_process_of_32_bits(tmp_path):
    """Given a program of 32-bit ARM: it is refused by name, and not touched."""
    code = struct.pack("<III", 0xE3A0701D, 0xEF000000, 0xEAFFFFFC)  # for (;;) pause();
    base = 0x10000
    header = b"\x7fELF\x01\x01\x01" + bytes(9)
    header += struct.pack("<HHIIIIIHHHHHH", 2, 40, 1, base + 84, 52, 0, 0x5000000, 52, 32, 1, 0, 0, 0)
    header += struct.pack("<IIIIIIII", 1, 0, base, base, 84 + len(code), 84 + len(code), 5, 4096)
    program = tmp_path / "pause32"
    program.write_bytes(header + code)
    program.chmod(0o755)
    with targets.command(program, ready=False) as target:
        procfs.wait_until(lambda: "S" in procfs.states(target.pid).values(), "it does not run")
        for command in (["record", "-d", "1s"], ["record", "-d", "1s", "--native"], ["dump"]):
            run = runs.pysample(*command, "-p", target.pid)
            assert run.code == 1, run
            run.one_error(target.pid, "32-bit", "64-bit")
        target.check_untouched()
