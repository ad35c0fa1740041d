# SPDX-License-Identifier: MIT
"""Runs pysample and reads what it wrote."""

import collections
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile

import procfs

Frame = collections.namedtuple("Frame", "name file line")
ESCAPE = re.compile(rb"\\(\\|x([0-9a-f]{2}))")


def program():
    """The pysample under test: $PYSAMPLE, else the one that was built in the tree."""
    if os.environ.get("PYSAMPLE"):
        return os.environ["PYSAMPLE"]
    source = pathlib.Path(__file__).resolve().parents[2]
    for directory in (pathlib.Path.cwd(), source / "build", source):
        if (directory / "pysample").is_file():
            return str(directory / "pysample")
    raise FileNotFoundError("no pysample: build it, or set PYSAMPLE")


def unescape(text):
    """Undoes the escapes of docs/formats.md; bytes that are not UTF-8 come out as Python shows them, as surrogates."""
    escaped = text.encode("utf-8", "surrogatepass")
    raw = ESCAPE.sub(lambda match: bytes.fromhex(match[2].decode()) if match[2] else b"\\", escaped)
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return raw.decode("utf-8", "surrogateescape")


def parse_frame(text):
    """FUNCTION (FILE:LINE), FUNCTION (FILE) or a mark without a file."""
    name, blank, rest = text.rpartition(" (")
    if not blank or not rest.endswith(")"):
        return Frame(unescape(text), None, None)
    file, _, line = rest[:-1].partition(":")
    return Frame(unescape(name), unescape(file), int(line) if line else None)


class Outcome:
    """A pysample that has ended: exit code, standard output, standard error."""

    def __init__(self, code, out, err, pid=None):
        self.code = code
        self.out = out
        self.err = err
        self.pid = pid

    def __repr__(self):
        return "exit code %s\n%s\n%s" % (self.code, self.out[-2000:], self.err[-2000:])

    def ok(self):
        assert self.code == 0, self
        return self

    @property
    def samples(self):
        """The number of samples in the summary."""
        match = re.search(r"(\d+) samples", self.err)
        assert match, "no number of samples in the summary: %s" % self.err
        return int(match.group(1))

    @property
    def complete_percent(self):
        """The share of complete stacks in the summary."""
        match = re.search(r"([\d.]+) ?% (?:of [a-z]+ )?complete|complete\D{0,20}?([\d.]+) ?%", self.err)
        assert match, "no share of complete stacks in the summary: %s" % self.err
        return float(match.group(1) or match.group(2))

    @property
    def ticks(self):
        """(ticks, of these late, skipped) in the summary."""
        match = re.search(r"ticks +(\d+) \((\d+) late, (\d+) skipped\)", self.err)
        assert match, "no ticks in the summary: %s" % self.err
        return tuple(int(number) for number in match.groups())

    def stacks(self):
        return parse_collapsed(self.out)

    def one_error(self, *words):
        """Checks that standard error is a single line that has all these words in it; returns it."""
        lines = self.err.splitlines()
        assert len(lines) == 1, "not one line: %r" % self.err
        for word in words:
            assert str(word) in lines[0], "%r is not named in %r" % (word, lines[0])
        return lines[0]


def parse_collapsed(text):
    """{(Frame, …) outermost first: weight} of collapsed stacks; fails when a line is not one stack."""
    found = {}
    for line in text.splitlines():
        stack, _, weight = line.rpartition(" ")
        assert weight.isdigit(), "not a collapsed stack: %r" % line
        frames = tuple(parse_frame(frame) for frame in stack.split(";"))
        assert frames not in found, "the stack is there twice: %r" % line
        found[frames] = int(weight)
    return found


def share(stacks, function, of=lambda frames: True):
    """The share in percent of the stacks that have a function in them, of all for which of(frames) is true."""
    total = sum(weight for frames, weight in stacks.items() if of(frames))
    part = sum(
        weight for frames, weight in stacks.items() if of(frames) and any(last(frame.name) == function for frame in frames)
    )
    return 100.0 * part / total if total else 0.0


def last(name):
    """The last part of a qualified name."""
    return name.rsplit(".", 1)[-1]


def names(stacks):
    """All function names of a profile, without what qualifies them."""
    return {last(frame.name) for frames in stacks for frame in frames}


class JsonProfile:
    """The format "json" of docs/formats.md; every index is checked on the way."""

    def __init__(self, document):
        assert document["format"] == "pysample" and document["version"] == 2
        self.document = document
        self.duration_ns = document["duration_ns"]
        self.mode = document["options"]["mode"]
        self.functions = document["functions"]
        self.threads = document["threads"]

    def frame(self, index):
        function, line = self.document["frames"][index]
        assert function >= 0
        name, file = self.functions[function]["name"], self.functions[function]["file"]
        return Frame(unescape(name), None if file is None else unescape(file), line)

    def frames(self, stack):
        """The frames of a stack, outermost first."""
        found = []
        while stack is not None:
            parent, frame = self.document["stacks"][stack]
            assert parent is None or 0 <= parent < stack
            found.append(self.frame(frame))
            stack = parent
        return tuple(reversed(found))

    def weight(self, sample):
        assert 0 <= sample["thread"] < len(self.threads)
        assert sample["wall_ns"] >= 0 and sample["cpu_ns"] >= 0 and sample["count"] > 0
        if self.mode == "cpu":
            return sample["cpu_ns"]
        if self.mode == "offcpu":
            return max(0, sample["wall_ns"] - sample["cpu_ns"])
        return sample["wall_ns"]

    def stacks(self):
        """{(Frame, …) outermost first: ns}, of the samples that have a stack."""
        found = collections.Counter()
        for sample in self.document["samples"]:
            found[self.frames(sample["stack"])] += self.weight(sample)
        found.pop((), None)
        return dict(found)

    def total_ns(self):
        return sum(self.weight(sample) for sample in self.document["samples"])


class Recording:
    """A pysample that runs beside the test. Its output goes to files, so it never waits for us."""

    def __init__(self, arguments, prefix=(), environment=None, **options):
        self.out = tempfile.TemporaryFile()
        self.err = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [str(word) for word in (*prefix, program(), *arguments)],
            stdin=options.pop("stdin", subprocess.DEVNULL),
            stdout=options.pop("stdout", self.out),
            stderr=options.pop("stderr", self.err),
            env=dict(os.environ, LC_ALL="C.UTF-8", **(environment or {})),
            **options,
        )
        self.pid = self.process.pid

    def wait_sampling(self, ticks=30):
        """Waits until it has slept between samples this often: it is in the middle of its work then."""

        def is_sampling():
            assert self.process.poll() is None, self.result()
            return procfs.switches(self.pid) >= ticks

        procfs.wait_until(is_sampling, "pysample does not sample")
        return self

    def tell(self, signal_number):
        self.process.send_signal(signal_number)

    def result(self, patience_s=60.0):
        """Waits for its end. A pysample that hangs is killed and fails the test."""
        try:
            code = self.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError("pysample does not end: %r" % self._outcome(None)) from None
        return self._outcome(code)

    def _outcome(self, code):
        texts = []
        for file in (self.out, self.err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "surrogateescape"))
        return Outcome(code, *texts, pid=self.pid)

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@contextlib.contextmanager
def recording(*arguments, **options):
    run = Recording(arguments, **options)
    try:
        yield run
    finally:
        run.kill()


def pysample(*arguments, patience_s=60.0, **options):
    """Runs pysample to its end."""
    with recording(*arguments, **options) as run:
        return run.result(patience_s)


def record(target, seconds, *arguments, **options):
    """Profiles a target for some seconds; must succeed and leave it untouched."""
    outcome = pysample("-p", target.pid, "-d", "%gs" % seconds, *arguments, **options).ok()
    target.check_untouched()
    return outcome


def dump(target, *arguments, **options):
    """The threads of `pysample dump --json`, by native thread id; must leave the target untouched."""
    outcome = pysample("dump", "-p", target.pid, "--json", *arguments, **options).ok()
    target.check_untouched()
    return {thread["tid"]: thread for thread in json.loads(outcome.out)["threads"]}


def frames_of(thread):
    """The frames of a dumped thread, innermost last."""
    return [Frame(unescape(frame["name"]), unescape(frame["file"] or ""), frame["line"]) for frame in thread["frames"]]
