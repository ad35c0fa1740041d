# SPDX-License-Identifier: MIT
"""What cannot be done is said in one line that names it, with the right exit code, and the target is left alone."""

import os
import signal
import subprocess
import time

import pytest

import procfs
import runs
import targets

FAILED, USAGE = 1, 2


@pytest.fixture
def busy(usual_python):
    """A target that has not been touched when the test is over."""
    with targets.python(usual_python, "busy.py") as target:
        before = procfs.status(target.pid)["voluntary_ctxt_switches"]
        yield target
        assert procfs.status(target.pid)["voluntary_ctxt_switches"] == before
        target.check_untouched()
        target.finish()


def unused_pid():
    child = subprocess.Popen(["/bin/true"])
    child.wait()
    return child.pid


@pytest.mark.parametrize("command", [[], ["dump"], ["doctor"]])
def test_no_such_pid(command):
    """A pid that is nobody's is named."""
    pid = unused_pid()
    outcome = runs.pysample(*command, "-p", pid)
    assert outcome.code == FAILED
    if command != ["doctor"]:
        outcome.one_error(pid)
    assert str(pid) in outcome.out + outcome.err


@pytest.mark.parametrize("pid", ["0", "-1", "abc", "", "12x", "99999999999999999999", "1.5", " 1"])
def test_a_pid_that_is_none(pid):
    """Text that is not a pid is a usage error and is quoted."""
    outcome = runs.pysample("-p", pid, "-d", "1s")
    assert outcome.code == USAGE
    outcome.one_error(pid)


def test_not_a_python_process():
    """A process without Python is named as such."""
    with targets.command("/bin/sh", "-c", "echo ready; read line; exit 7") as target:
        for command in ([], ["dump"]):
            outcome = runs.pysample(*command, "-p", target.pid)
            assert outcome.code == FAILED
            outcome.one_error(target.pid, "Python")
        target.check_untouched()
        target.finish(by="stdin")


@pytest.mark.parametrize("path", ["no/such/dir/p.json", "a-file/p.json", "a-directory"])
def test_an_output_that_cannot_be_written_is_said_before_attaching(busy, tmp_path, path):
    """A path that cannot be written is named at once; the target is not even looked at."""
    (tmp_path / "a-file").write_text("")
    (tmp_path / "a-directory").mkdir()
    begin = time.monotonic()
    outcome = runs.pysample("-p", busy.pid, "-d", "30s", "-f", "json", "-o", tmp_path / path)
    assert time.monotonic() - begin < 5
    assert outcome.code == FAILED
    outcome.one_error(tmp_path / path)


def test_the_target_ends_before_the_first_sample(usual_python):
    """Given one sample in ten seconds and a target that ends at once: no samples, said in one line, not an error."""
    with targets.python(usual_python, "busy.py", 0.5) as target:
        outcome = runs.pysample("-p", target.pid, "-F", "0.1", "-d", "20s", patience_s=10)
        assert outcome.code == 0
        assert outcome.samples == 0
        target.wait_end()


@pytest.mark.parametrize("rate", ["0", "-5", "abc", "", "1e99", "100000000", "10x", "nan", "inf", "0x10"])
def test_a_rate_that_makes_no_sense(busy, rate):
    """Zero, negative, absurd or no number: a usage error that quotes it."""
    outcome = runs.pysample("-p", busy.pid, "-F", rate, "-d", "1s")
    assert outcome.code == USAGE
    outcome.one_error(rate)


@pytest.mark.parametrize("duration", ["0", "0s", "-5s", "abc", "", "s", "5 s", "5x", "1e300", "99999999999999999h", "nan", "5s5"])
def test_a_duration_that_makes_no_sense(busy, duration):
    """Zero, negative, absurd or no duration: a usage error that quotes it."""
    outcome = runs.pysample("-p", busy.pid, "-d", duration)
    assert outcome.code == USAGE
    outcome.one_error(duration)


@pytest.mark.parametrize(
    "arguments, named",
    [
        (["--no-such-option"], "--no-such-option"),
        (["-Z"], "Z"),
        (["-f", "no-such-format"], "no-such-format"),
        (["-o", "p.no-such-ending"], "p.no-such-ending"),
        (["--mode", "no-such-mode"], "no-such-mode"),
        (["-T", "no-tid"], "no-tid"),
        (["extra"], "extra"),
    ],
)
def test_an_option_that_does_not_exist(busy, tmp_path, arguments, named):
    """An unknown option, format, ending or mode is a usage error that names it."""
    outcome = runs.pysample("-p", busy.pid, "-d", "1s", *arguments, cwd=tmp_path)
    assert outcome.code == USAGE
    outcome.one_error(named)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("arguments", [[], ["-d", "1s"], ["-p"], ["-p", "1", "--", "/bin/true"], ["--"], ["dump"], ["no-such-command"]])
def test_a_command_line_that_asks_for_nothing_or_for_two_things(arguments):
    """Neither a process nor a program, or both: a usage error."""
    outcome = runs.pysample(*arguments)
    assert outcome.code == USAGE
    assert outcome.out == "" and outcome.err


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version(option):
    """--help and --version go to standard output and succeed."""
    outcome = runs.pysample(option).ok()
    assert "pysample" in outcome.out and outcome.err == ""


@pytest.mark.parametrize("duration, seconds", [("500ms", 0.5), ("1s", 1.0), ("1", 1.0), ("0.5", 0.5), ("0.01m", 0.6), ("1.5s", 1.5)])
def test_durations(usual_python, duration, seconds):
    """Milliseconds, seconds, minutes and plain numbers."""
    with targets.python(usual_python, "busy.py") as target:
        begin = time.monotonic()
        runs.pysample("-p", target.pid, "-d", duration).ok()
        assert seconds <= time.monotonic() - begin < seconds + 0.5
        target.check_untouched()
        target.finish()


def test_an_hour_is_a_duration(usual_python):
    """1h is accepted, and ended by a signal."""
    with targets.python(usual_python, "busy.py") as target, runs.recording("-p", target.pid, "-d", "1h") as run:
        run.wait_sampling()
        run.tell(signal.SIGINT)
        run.result(5).ok()
        target.finish()
