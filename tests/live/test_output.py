# SPDX-License-Identifier: MIT
"""Where the profile goes, in which format, and that it is there when the recording ended early."""

import json
import os
import signal
import stat
import subprocess

import pytest

import procfs
import runs
import targets

COLLAPSED_FIRST = "<module>"


def kind(path):
    """collapsed, json or speedscope: by what is in the file."""
    text = path.read_text()
    if not text.startswith("{"):
        assert runs.parse_collapsed(text)
        return "collapsed"
    return "speedscope" if "speedscope" in json.loads(text).get("$schema", "") else "json"


@pytest.mark.parametrize(
    "name, options, expected",
    [
        ("p.collapsed", [], "collapsed"),
        ("p.folded", [], "collapsed"),
        ("p.txt", [], "collapsed"),
        ("p.json", [], "json"),
        ("p.speedscope", [], "speedscope"),
        ("p.speedscope.json", [], "speedscope"),
        ("p.json", ["-f", "collapsed"], "collapsed"),
        ("p.txt", ["-f", "speedscope"], "speedscope"),
        ("p.strange", ["-f", "json"], "json"),
    ],
)
def test_the_ending_picks_the_format_and_f_overrides_it(usual_python, tmp_path, name, options, expected):
    """-o by ending, -f before the ending."""
    with targets.python(usual_python, "busy.py") as target:
        outcome = runs.record(target, 0.3, "-o", tmp_path / name, *options)
        assert outcome.out == ""
        assert kind(tmp_path / name) == expected
        assert os.listdir(tmp_path) == [name]
        target.finish()


@pytest.mark.parametrize("format", ["collapsed", "json", "speedscope"])
def test_formats_on_standard_output(usual_python, format):
    """-f without -o writes to standard output."""
    with targets.python(usual_python, "busy.py") as target:
        outcome = runs.record(target, 0.3, "-f", format)
        assert outcome.out.startswith("{") == (format != "collapsed")
        target.finish()


def test_the_file_appears_when_it_is_complete(usual_python, tmp_path):
    """While it records, an older file of that name is as it was; afterwards the new one is there and nothing else."""
    path = tmp_path / "p.collapsed"
    path.write_text("old\n")
    with targets.python(usual_python, "busy.py") as target, runs.recording("-p", target.pid, "-o", path) as run:
        run.wait_sampling()
        assert path.read_text() == "old\n"
        run.tell(signal.SIGINT)
        run.result().ok()
        assert kind(path) == "collapsed" and os.listdir(tmp_path) == [path.name]
        target.check_untouched()
        target.finish()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_recording_and_keeps_it(usual_python, number):
    """SIGINT, SIGTERM or SIGHUP in the middle: what was recorded is written, the summary too, exit code 0."""
    with targets.python(usual_python, "busy.py") as target, runs.recording("-p", target.pid, "-d", "60s") as run:
        run.wait_sampling()
        run.tell(number)
        outcome = run.result(5).ok()
        assert runs.share(outcome.stacks(), "leaf") > 50
        assert outcome.samples > 5
        target.check_untouched()
        target.finish()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_death_of_the_target_is_no_error(usual_python, number):
    """The target is killed or ends in the middle: what was recorded is written, exit code 0."""
    with targets.python(usual_python, "busy.py") as target, runs.recording("-p", target.pid) as run:
        run.wait_sampling()
        target.tell(number)
        outcome = run.result(5).ok()
        assert runs.share(outcome.stacks(), "leaf") > 50


def test_without_a_duration_until_the_target_ends(usual_python):
    """Given a target that ends by itself after 1 s, pysample ends then, and the target with its own code."""
    with targets.python(usual_python, "busy.py", 1) as target:
        outcome = runs.pysample("-p", target.pid, patience_s=10).ok()
        assert runs.share(outcome.stacks(), "outer") > 50
        target.wait_end()


def test_no_space_on_standard_output(usual_python):
    """Standard output on a full device: the reason is said, exit code 1."""
    with targets.python(usual_python, "busy.py") as target, open("/dev/full", "w") as full:
        outcome = runs.pysample("-p", target.pid, "-d", "300ms", stdout=full)
        assert outcome.code == 1
        assert "No space left on device" in outcome.err
        target.check_untouched()
        target.finish()


def fill(path):
    """Writes a file until the disk is full."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        while True:
            os.write(descriptor, b"x" * 4096)
    except OSError:
        os.close(descriptor)


def test_no_space_for_the_file(usual_python, tmp_path, as_root):
    """A full file system: the reason and the file are said, exit code 1, an older file stays, no half file is left."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(disk)]).returncode != 0:
        pytest.skip("cannot mount a small file system")
    try:
        (disk / "p.json").write_text("old")
        fill(disk / "filler")
        with targets.python(usual_python, "busy.py") as target:
            outcome = runs.pysample("-p", target.pid, "-d", "300ms", "-o", disk / "p.json")
            assert outcome.code == 1
            assert "No space left on device" in outcome.err and "p.json" in outcome.err
            target.check_untouched()
            target.finish()
        assert (disk / "p.json").read_text() == "old"
        assert sorted(os.listdir(disk)) == ["filler", "p.json"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_device_is_written_to_and_not_replaced(usual_python, tmp_path, as_root):
    """-o on a device node writes into it; it is a device afterwards."""
    device = tmp_path / "null"
    if subprocess.run(["mknod", str(device), "c", "1", "3"]).returncode != 0:
        pytest.skip("cannot make a device node")
    with targets.python(usual_python, "busy.py") as target:
        runs.record(target, 0.3, "-f", "json", "-o", device)
        target.finish()
    assert stat.S_ISCHR(os.stat(device).st_mode)


def test_a_symbolic_link_is_followed(usual_python, tmp_path):
    """-o on a symbolic link writes what it points to; the link stays."""
    (tmp_path / "real.collapsed").write_text("old\n")
    (tmp_path / "link.collapsed").symlink_to("real.collapsed")
    with targets.python(usual_python, "busy.py") as target:
        runs.record(target, 0.3, "-o", tmp_path / "link.collapsed")
        target.finish()
    assert (tmp_path / "link.collapsed").is_symlink()
    assert kind(tmp_path / "real.collapsed") == "collapsed"


def test_a_closed_pipe_is_said(usual_python):
    """Standard output into a pipe that nobody reads: no death by SIGPIPE without a word, exit code 1."""
    reader, writer = os.pipe()
    os.close(reader)
    with targets.python(usual_python, "busy.py") as target:
        outcome = runs.pysample("-p", target.pid, "-d", "300ms", stdout=writer)
        os.close(writer)
        assert outcome.code == 1
        assert "Broken pipe" in outcome.err
        target.check_untouched()
        target.finish()


def test_the_summary(usual_python):
    """Standard error has duration, rate, samples, the share of complete stacks and stop times."""
    with targets.python(usual_python, "busy.py") as target:
        outcome = runs.record(target, 1, "-F", 100)
        ticks, _, skipped = outcome.ticks
        assert 97 <= ticks + skipped <= 103 and outcome.samples >= 0.95 * ticks
        assert outcome.complete_percent > 90
        assert "Hz" in outcome.err
        for word in ("stop", "p50", "p99"):
            assert word in outcome.err.lower(), outcome.err
        assert "\r" not in outcome.err and "\x1b" not in outcome.err
        target.finish()


def test_progress_only_on_a_terminal(usual_python):
    """On a terminal, standard error has progress while it records."""
    master, slave = os.openpty()
    with targets.python(usual_python, "busy.py") as target, runs.recording("-p", target.pid, stderr=slave) as run:
        os.close(slave)
        seen = b""
        procfs.wait_until(lambda: run.process.poll() is None and procfs.switches(run.pid) > 150, "1.5 s of sampling")
        seen = os.read(master, 65536)
        assert b"samples" in seen
        run.tell(signal.SIGINT)
        run.result()
        target.finish()
    os.close(master)


def test_speedscope_is_what_speedscope_reads(usual_python):
    """The file follows the schema: frames, sampled profiles, as many weights as samples, indexes inside the table."""
    with targets.python(usual_python, "named.py") as target:
        document = json.loads(runs.record(target, 1, "-f", "speedscope").out)
        target.finish()
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = document["shared"]["frames"]
    assert all(isinstance(frame["name"], str) and frame["name"] for frame in frames)
    assert all(isinstance(frame.get("line", 1), int) and isinstance(frame.get("file", ""), str) for frame in frames)
    assert document["profiles"]
    for profile in document["profiles"]:
        assert profile["type"] == "sampled"
        assert profile["unit"] in ("nanoseconds", "microseconds", "milliseconds", "seconds", "none")
        assert len(profile["samples"]) == len(profile["weights"]) > 0
        assert all(0 <= index < len(frames) for sample in profile["samples"] for index in sample)
        assert all(weight >= 0 for weight in profile["weights"])
        assert profile["endValue"] - profile["startValue"] >= 0.99 * sum(profile["weights"])


def test_json_agrees_with_collapsed_and_with_itself(usual_python):
    """Indexes are inside their tables, weights are nanoseconds that add up to the time of the thread that ran."""
    with targets.python(usual_python, "busy.py") as target:
        outcome = runs.record(target, 1, "-f", "json")
        target.finish()
    profile = runs.JsonProfile(json.loads(outcome.out))
    assert "outer" in runs.names(profile.stacks())
    assert sum(sample["count"] for sample in profile.document["samples"]) == outcome.samples
    if not profile.document["losses"]:
        assert 0.9e9 < profile.total_ns() < 1.1e9, outcome.err
