# SPDX-License-Identifier: MIT
"""
Programs to be profiled. A target says "ready" on its standard output when it has reached the state that the test is
about, ends with ENDED when it is asked to, and is killed at the end of the test whatever happens.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time

import procfs

PROGRAMS = pathlib.Path(__file__).resolve().parents[1] / "programs"
libc = ctypes.CDLL(None, use_errno=True)
ENDED = 7  # the exit code of handshake.py


class Target:
    def __init__(self, process, pid=None):
        self.process = process
        self.pid = pid or process.pid
        self.unread = b""
        self.words = []

    def read_line(self, patience_s=procfs.PATIENCE_S):
        """The next line that the target prints; None at the end of its output."""
        deadline = time.monotonic() + patience_s
        stream = self.process.stdout.fileno()
        while b"\n" not in self.unread:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([stream], [], [], left)[0]:
                raise AssertionError("the target printed nothing for %.0f s" % patience_s)
            part = os.read(stream, 65536)
            if not part:
                return None
            self.unread += part
        line, _, self.unread = self.unread.partition(b"\n")
        return line.decode("utf-8", "surrogateescape")

    def wait_ready(self):
        line = self.read_line()
        if line is None or line.split()[:1] != ["ready"]:
            raise AssertionError("not ready but %r, exit code %s" % (line, self.process.poll()))
        self.words = line.split()[1:]
        return self

    def ask(self, text):
        """Sends a line to the target's standard input and returns its answer, decoded from JSON."""
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.read_line())

    def tell(self, signal_number):
        os.kill(self.pid, signal_number)

    def tell_main(self, signal_number):
        """
        Sends a signal to the main thread. One for the process may be taken by any thread, and CPython's eval loop does not
        always notice that.
        """
        if libc.tgkill(self.pid, self.pid, signal_number) != 0:
            raise OSError(ctypes.get_errno(), "tgkill")

    def count(self):
        """The answer of a target that prints its counters (JSON) when SIGUSR1 arrives."""
        self.tell_main(signal.SIGUSR1)
        return json.loads(self.read_line())

    def count_rate(self, seconds):
        """What the target counts in a second of the next few, less the time in which it waited for a processor."""
        before, (_, waited), begin = self.count(), procfs.schedule(self.pid), time.monotonic()
        time.sleep(seconds)
        after, (_, waited_after), end = self.count(), procfs.schedule(self.pid), time.monotonic()
        return (after - before) / (end - begin - (waited_after - waited) / 1e9)

    def check_untouched(self, allowed_states="RSDIZ"):
        """Fails when a thread is stopped, or still has a tracer."""
        assert self.process.poll() is None, "the target ended with %s" % self.process.poll()

        def is_running():
            found = procfs.states(self.pid)
            return found and all(letter in allowed_states for letter in found.values())

        procfs.wait_until(is_running, "thread states of the target: %s" % procfs.states(self.pid), 2.0)
        tracers = procfs.tracers(self.pid)
        assert not any(tracers.values()), "the target has a tracer: %s" % tracers

    def wait_end(self, code=ENDED, patience_s=procfs.PATIENCE_S):
        """Reads what is left of the output and checks the exit code."""
        lines = []
        while True:
            line = self.read_line(patience_s)
            if line is None:
                break
            lines.append(line)
        found = self.process.wait(patience_s)
        assert found == code, "the target ended with %d, not %d: %s" % (found, code, lines[-3:])
        return lines

    def finish(self, by="SIGTERM"):
        """Asks the target to end as it would without us and checks that it does."""
        if by == "SIGTERM":
            self.tell_main(signal.SIGTERM)
        elif by == "stdin":
            self.process.stdin.close()
        return self.wait_end()

    def kill(self):
        for pid in {self.pid, self.process.pid}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                stream.close()


def environment(**more):
    """Of our own environment only what every program needs: the same for all interpreters."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    kept.update(LC_ALL="C.UTF-8", PYTHONIOENCODING="utf-8", PYTHONDONTWRITEBYTECODE="1")
    kept.update(more)
    return kept


def start_command(command, **options):
    process = subprocess.Popen(
        [str(word) for word in command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(**options.pop("environment", {})),
        **options,
    )
    return Target(process)


@contextlib.contextmanager
def command(*words, ready=True, **options):
    """Runs a command as a target and kills it at the end."""
    target = start_command(words, **options)
    try:
        yield target.wait_ready() if ready else target
    finally:
        target.kill()


@contextlib.contextmanager
def programs_for(interpreter):
    """The directory (inside the interpreter's root) where tests/programs can be read."""
    if not interpreter.in_chroot:
        yield PROGRAMS
        return
    copy = tempfile.mkdtemp(prefix="pysample-live-", dir=interpreter.outside("/tmp"))
    try:
        os.chmod(copy, 0o755)
        for path in PROGRAMS.glob("*.py"):
            shutil.copy(path, copy)
        yield pathlib.Path("/tmp") / os.path.basename(copy)
    finally:
        shutil.rmtree(copy)


@contextlib.contextmanager
def python(interpreter, program, *arguments, ready=True, options=(), **rest):
    """Runs tests/programs/<program> with an interpreter, waits until it is ready, kills it at the end."""
    with programs_for(interpreter) as directory:
        path = program if os.path.isabs(str(program)) else directory / program
        rest["environment"] = dict(interpreter.environment, **rest.get("environment", {}))
        with command(*interpreter.command(*options, path, *arguments), ready=ready, **rest) as target:
            yield target
