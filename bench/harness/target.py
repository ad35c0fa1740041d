# SPDX-License-Identifier: MIT
"""A workload that runs as the target of profilers, and the memory it shares with us."""

import mmap
import os
import pathlib
import signal
import struct
import subprocess
import tempfile
import time

from harness.settings import PEERS

LEDGER_BYTES = 4096
LEDGER_WORDS = LEDGER_BYTES // 8
WORK, READY, PHASES, COUNTS = 0, 1, 8, 32  # workloads/shared.py

GAPS_HEAD = struct.Struct("4Q")  # count, capacity, tid, loops: workloads/bench.c
GAP = struct.Struct("4Q")
GAPS_CAPACITY = 200_000

START_S = 30
SETTLE_S = 0.3

PYENV = pathlib.Path(os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))) / "versions"
ROOT = PEERS / "sid" / "root"


class TargetFailed(Exception):
    """The workload did not start, or ended by itself."""


def interpreter(version):
    """The command of CPython "3.12", or None where it is not installed."""
    for path in sorted(PYENV.glob(version + ".*/bin/python"), reverse=True):
        return [str(path)]
    if (ROOT / "usr/bin" / ("python" + version)).exists() and os.geteuid() == 0:
        return ["chroot", str(ROOT), "python" + version]
    system = pathlib.Path("/usr/bin/python" + version)
    return [str(system)] if system.exists() else None


def usual_version():
    """The version of targets that may be any."""
    return next(version for version in ("3.12", "3.13", "3.11", "3.10", "3.9", "3") if interpreter(version))


class Target:
    """with Target(settings, "gap.py", 15, 0) as target: …"""

    def __init__(self, settings, workload, *arguments, version=None):
        self.command = [
            *interpreter(version or usual_version()),
            str(settings.workloads / workload),
            *(str(word) for word in arguments),
        ]
        self.library = settings.library
        self.pid = 0

    def __enter__(self):
        self.fd = os.memfd_create("bench")
        size = LEDGER_BYTES + GAPS_HEAD.size + GAPS_CAPACITY * GAP.size
        os.ftruncate(self.fd, size)
        self.memory = mmap.mmap(self.fd, size)
        GAPS_HEAD.pack_into(self.memory, LEDGER_BYTES, 0, GAPS_CAPACITY, 0, 0)
        self.log = tempfile.TemporaryFile()
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self):
        environment = dict(
            os.environ, BENCH_FD=str(self.fd), BENCH_LIBRARY=self.library, PYTHONDONTWRITEBYTECODE="1"
        )
        self.process = subprocess.Popen(
            self.command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
            pass_fds=[self.fd],
        )
        self.pid = self.process.pid
        deadline = time.monotonic() + START_S
        while not self.word(READY):
            if not self.alive() or time.monotonic() > deadline:
                raise TargetFailed("%s did not start: %s" % (" ".join(self.command), self._said()))
            time.sleep(0.01)
        time.sleep(SETTLE_S)

    def __exit__(self, *_):
        if self.pid:
            # A session of its own: its children, and nobody else.
            for number in (signal.SIGCONT, signal.SIGKILL):
                try:
                    os.killpg(self.pid, number)
                except ProcessLookupError:
                    break
            self.process.wait()
        self.memory.close()
        os.close(self.fd)
        self.log.close()

    def _said(self):
        self.log.seek(0)
        return self.log.read()[-500:].decode("utf-8", "replace")

    def word(self, index):
        return struct.unpack_from("Q", self.memory, 8 * index)[0]

    def words(self):
        """All shared counters at this moment."""
        return struct.unpack_from("%dQ" % LEDGER_WORDS, self.memory, 0)

    def alive(self):
        return self.process.poll() is None

    def state(self):
        """The letter of /proc/PID/stat; "gone" after the end."""
        try:
            with open("/proc/%d/stat" % self.pid, encoding="utf-8", errors="replace") as file:
                return file.read().rpartition(")")[2].split()[0]
        except OSError:
            return "gone"

    def gap_tid(self):
        return GAPS_HEAD.unpack_from(self.memory, LEDGER_BYTES)[2]

    def gap_count(self):
        return GAPS_HEAD.unpack_from(self.memory, LEDGER_BYTES)[0]

    def gaps_since(self, count):
        """The gaps recorded after gap_count() was @count, oldest first, as far as the ring still has them."""
        end = self.gap_count()
        begin = max(count, end - GAPS_CAPACITY + 1)
        start = LEDGER_BYTES + GAPS_HEAD.size
        return [GAP.unpack_from(self.memory, start + number % GAPS_CAPACITY * GAP.size) for number in range(begin, end)]
