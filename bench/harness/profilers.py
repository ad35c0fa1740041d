# SPDX-License-Identifier: MIT
"""The profilers, a row each, and one run of one of them.

To add a peer: a row in PROFILERS or DUMPS. {pid}, {rate} (Hz), {interval_us}, {seconds}, {out}, {bytes} and {subprocesses} are
filled in. A row whose program is not installed is left out.
"""

import contextlib
import dataclasses
import glob
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time

from harness import stacks
from harness.settings import PEERS
from harness.target import ROOT, interpreter

VENV = PEERS / "venv/bin"
LONG_S = 600  # longer than any window: runs are ended by SIGINT
END_S = 10

TACHYON = "3.15"
TACHYON_ATTACH = f"chroot {ROOT} python3.15 -m profiling.sampling attach -a -r {{rate}} -d {{seconds}} --collapsed -o {{out}}"
PYSPY = f"{VENV}/py-spy record -p {{pid}} -d {{seconds}} -r {{rate}} -f raw -o {{out}}{{subprocesses}}"
PYSAMPLE = "{pysample} -p {pid} -d {seconds}s -F {rate} -f collapsed -o {out}"
AUSTIN = "-p {pid} -i {interval_us}us -x {seconds} -o {out}{subprocesses}"

AUSTIN_CODES = (0, 254)


@dataclasses.dataclass(frozen=True)
class Profiler:
    """One row."""

    command: str
    parse: object = None  # path → stacks; None: it writes none
    version: str | None = None  # the only CPython it can look at
    subprocesses: str = ""
    native: bool = False
    warm_s: float = 0.4  # from its start until it samples
    codes: tuple = (0, -signal.SIGINT)  # what it ends with when all is well


PROFILERS = {
    "empty": Profiler("sleep {seconds}"),
    "floor": Profiler("{floor} -p {pid} -d {seconds} -F {rate} --bytes {bytes}"),
    "pysample": Profiler(PYSAMPLE, stacks.named),
    "pysample --native": Profiler(PYSAMPLE + " --native", stacks.named, native=True),
    "pysample --nonblocking": Profiler(PYSAMPLE + " --nonblocking", stacks.named),
    "py-spy": Profiler(PYSPY, stacks.named, subprocesses=" -s"),
    "py-spy --native": Profiler(PYSPY + " --native", stacks.named, subprocesses=" -s", native=True, warm_s=0.8),
    "py-spy --nonblocking": Profiler(PYSPY + " --nonblocking", stacks.named, subprocesses=" -s"),
    "austin": Profiler(f"{PEERS}/bin/austin {AUSTIN}", stacks.austin, subprocesses=" -C", codes=AUSTIN_CODES),
    "austinp": Profiler(
        f"{PEERS}/bin/austinp {AUSTIN}", stacks.austin, subprocesses=" -C", native=True, warm_s=0.8, codes=AUSTIN_CODES
    ),
    "tachyon": Profiler(TACHYON_ATTACH + "{subprocesses} {pid}", stacks.tachyon, TACHYON, subprocesses=" --subprocesses"),
    "tachyon --blocking": Profiler(
        TACHYON_ATTACH + " --blocking{subprocesses} {pid}", stacks.tachyon, TACHYON, subprocesses=" --subprocesses"
    ),
}

# Those that print the stacks once.
DUMPS = {
    "pysample dump": Profiler("{pysample} dump -p {pid}"),
    "pysample dump --native": Profiler("{pysample} dump -p {pid} --native", native=True),
    "py-spy dump": Profiler(f"{VENV}/py-spy dump -p {{pid}}"),
    "py-spy dump --native": Profiler(f"{VENV}/py-spy dump --native -p {{pid}}", native=True),
    "pystack": Profiler(f"{VENV}/pystack remote --no-color {{pid}}"),
    "pystack --native-all": Profiler(f"{VENV}/pystack remote --no-color --native-all {{pid}}", native=True),
    "eu-stack": Profiler("eu-stack -p {pid}", native=True),
    "gdb": Profiler("gdb -p {pid} -batch -nx -ex 'thread apply all bt'", native=True),
    "tachyon dump --blocking": Profiler(
        f"chroot {ROOT} python3.15 -m profiling.sampling dump -a --blocking {{pid}}", version=TACHYON
    ),
}


def in_json(name):
    """The row; of pysample with JSON, which has its own figures beside the stacks."""
    profiler = PROFILERS[name]
    if not name.startswith("pysample"):
        return profiler
    return dataclasses.replace(profiler, command=profiler.command.replace("-f collapsed", "-f json"), parse=stacks.profile)


def is_installed(profiler):
    """Whether its program, and the interpreter it needs, are here."""
    program = profiler.command.split()[0]
    if not program.startswith("{") and not shutil.which(program):
        return False
    return profiler.version is None or bool(interpreter(profiler.version) and os.geteuid() == 0)


def installed(names, table=None):
    table = PROFILERS if table is None else table
    return [name for name in names if name in table and is_installed(table[name])]


# Beside a peer that needs a target of its own version: what it is to be compared with.
BESIDE = ("empty", "floor", "pysample", "pysample --native", "pysample dump", "pysample dump --native")


def groups(names, table=None):
    """[(version of the target or None, names)]: which profilers can look at the same target."""
    table = PROFILERS if table is None else table
    here = installed(names, table)
    found = [(None, [name for name in here if not table[name].version])]
    for version in sorted({table[name].version for name in here} - {None}):
        beside = [name for name in here if name in BESIDE]
        found.append((version, beside + [name for name in here if table[name].version == version]))
    return [(version, members) for version, members in found if members]


class Run:
    """A profiler that is running."""

    def __init__(self, settings, profiler, target, rate=100, seconds=LONG_S, copied=16384, subprocesses=False):
        self.profiler = profiler
        self.out = "%s/out.%d" % (settings.scratch, time.monotonic_ns())
        self.command = profiler.command.format(
            pysample=shlex.quote(settings.pysample),
            floor=shlex.quote(settings.floor),
            pid=target.pid,
            rate=rate,
            interval_us=1_000_000 // rate,
            seconds=seconds,
            out=self.out,
            bytes=copied,
            subprocesses=profiler.subprocesses if subprocesses else "",
        )
        self.log = open(self.out + ".log", "w+", encoding="utf-8", errors="replace")
        self.begun = time.monotonic()
        self.process = subprocess.Popen(
            shlex.split(self.command),
            cwd=settings.scratch,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.code = self.usage = self.ended = None
        self.peak_kb = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.done():
            self.process.kill()
        while not self.done():
            time.sleep(0.005)
        self.log.close()
        for path in glob.glob(self.out + "*"):
            os.unlink(path)

    def done(self):
        """True after its end."""
        if self.code is not None:
            return True
        self._note_memory()
        pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        if not pid:
            return False
        self.ended, self.usage = time.monotonic(), usage
        self.code = self.process.returncode = os.waitstatus_to_exitcode(status)
        return True

    def _note_memory(self):
        # The rusage of a child starts at what its parent had.
        try:
            with open("/proc/%d/status" % self.process.pid, encoding="utf-8", errors="replace") as file:
                found = re.search(r"^VmHWM:\s+(\d+)", file.read(), re.M)
        except OSError:
            return
        self.peak_kb = max(self.peak_kb, int(found.group(1)) if found else 0)

    def cpu_ns(self):
        """What it has used until now; 0 after its end."""
        used = 0
        for path in glob.glob("/proc/%d/task/*/schedstat" % self.process.pid):
            with contextlib.suppress(OSError, ValueError, IndexError), open(path, encoding="ascii") as file:
                used += int(file.read().split()[0])
        return used

    def wait(self, seconds):
        """False: it was still running."""
        deadline = time.monotonic() + seconds
        while not self.done() and time.monotonic() < deadline:
            time.sleep(0.005)
        return self.done()

    def interrupt(self):
        """Ends it as Ctrl-C does; kills it if that does not."""
        if self.done():
            return
        self.process.send_signal(signal.SIGINT)
        if not self.wait(END_S):
            self.process.kill()
            self.wait(END_S)

    def said(self):
        """What it has printed."""
        self.log.flush()
        with open(self.log.name, encoding="utf-8", errors="replace") as file:
            return re.sub(r"\x1b\[[0-9;]*m", "", file.read())

    def stacks(self):
        """[(frames, count)] of its output; None if it wrote none, or none that can be read."""
        if not self.profiler.parse:
            return None
        try:
            return self.profiler.parse(self.out)
        except (OSError, ValueError):
            return None

    def document(self):
        """The JSON of a row of in_json(); None if there is none."""
        try:
            with open(self.out, encoding="utf-8", errors="replace") as file:
                return json.load(file)
        except (OSError, ValueError):
            return None

    def figures(self):
        """What it used itself."""
        seconds = self.ended - self.begun
        cpu_s = self.usage.ru_utime + self.usage.ru_stime
        found = {
            "code": self.code,
            "wall_s": seconds,
            "cpu_percent": 100 * cpu_s / seconds,
            "resident_mb": self.peak_kb / 1024,
        }
        if self.code not in self.profiler.codes:
            found["said"] = self.said()[-300:]
        return found
