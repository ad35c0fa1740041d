# SPDX-License-Identifier: MIT
"""Files of a stretch of time each, what there is at SIGUSR1, and the line that shows on a terminal how it goes."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import time

import pytest

import procfs
import runs
import targets


def total(path):
    return sum(sample["count"] for sample in json.loads(path.read_text())["samples"])


@pytest.mark.parametrize("native", [(), ("--native",)])
def test_a_file_a_window(usual_python, tmp_path, native):
    """Each file has the samples of its own time, with names; together they are all."""
    with targets.python(usual_python, "busy.py") as target:
        outcome = runs.pysample("-p", target.pid, "-d", "2.5s", "--window", "1s", "-o", tmp_path / "p.json", *native).ok()
        target.check_untouched()
    files = [tmp_path / ("p.%d.json" % number) for number in (1, 2, 3)]
    assert sorted(tmp_path.iterdir()) == files
    counts = [total(file) for file in files]
    assert min(counts) > 0
    assert outcome.samples == sum(counts)
    assert re.search(r"^ +windows +3$", outcome.err, re.MULTILINE)
    for file in files:
        profile = runs.JsonProfile(json.loads(file.read_text()))
        names = runs.names(profile.stacks())
        assert "inner" in " ".join(names)
        if native:
            assert "_start" in names
        assert abs(profile.duration_ns / 1e9 - (1 if file != files[2] else 0.5)) < 0.4


def test_the_share_held_is_of_the_whole_run(usual_python, tmp_path):
    """--max-overhead holds for all windows together: each file says the share up to its end, and the summary that of the run, once."""
    held = r"--max-overhead 0.5%: no thread was held for more than ([0-9.e+-]+) % of the time"
    with targets.python(usual_python, "busy.py") as target:
        options = ["-F", 1000, "--max-overhead", "0.5%", "--window", "1s", "-o", tmp_path / "p.json"]
        outcome = runs.pysample("-p", target.pid, "-d", "3.5s", *options).ok()
        target.check_untouched()
    shares = [float(share) for file in sorted(tmp_path.iterdir()) for share in re.findall(held, file.read_text())]
    assert len(shares) == 4
    assert 0 < max(shares) <= 0.6, shares
    assert [float(share) for share in re.findall(held, outcome.err)] == shares[-1:]


def test_names_of_windows(usual_python, tmp_path):
    with targets.python(usual_python, "busy.py") as target:
        runs.pysample("-p", target.pid, "-d", "1s", "--window", "0.4s", "-o", tmp_path / "at-%t.%n.txt").ok()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 3
    for number, name in enumerate(names, 1):
        assert re.fullmatch(r"at-\d{8}T\d{6}Z\.%d\.txt" % number, name), name


def test_a_window_ends_at_sigusr1(usual_python, tmp_path):
    with targets.python(usual_python, "busy.py") as target:
        with runs.recording("-p", target.pid, "--window", "1h", "-o", tmp_path / "p.json") as run:
            run.wait_sampling()
            run.tell(signal.SIGUSR1)
            procfs.wait_until(lambda: (tmp_path / "p.1.json").exists(), "no window was written")
            run.wait_sampling(60)
            run.tell(signal.SIGTERM)
            run.result().ok()
    assert total(tmp_path / "p.1.json") > 0 and total(tmp_path / "p.2.json") > 0


@pytest.mark.parametrize("native", [(), ("--native",)])
def test_what_there_is_at_sigusr1(usual_python, tmp_path, native):
    """SIGUSR1 writes the file and the run goes on: the file at the end has more, of the same kind."""
    path = tmp_path / "p.json"
    with targets.python(usual_python, "busy.py") as target:
        with runs.recording("-p", target.pid, "-o", path, *native) as run:
            run.wait_sampling()
            assert not path.exists()
            run.tell(signal.SIGUSR1)
            procfs.wait_until(path.exists, "nothing was written")
            first = json.loads(path.read_text())
            run.wait_sampling(90)
            run.tell(signal.SIGINT)
            outcome = run.result().ok()
        target.check_untouched()
    last = json.loads(path.read_text())
    assert 0 < sum(sample["count"] for sample in first["samples"]) < sum(sample["count"] for sample in last["samples"])
    assert outcome.samples == sum(sample["count"] for sample in last["samples"])
    for document in (first, last):
        names = runs.names(runs.JsonProfile(document).stacks())
        assert "inner" in " ".join(names) and ("_start" in names) == bool(native)


def test_sigusr1_without_a_file_says_so_and_goes_on(usual_python):
    with targets.python(usual_python, "busy.py") as target:
        with runs.recording("-p", target.pid, "-q") as run:
            run.wait_sampling()
            run.tell(signal.SIGUSR1)
            run.wait_sampling(60)
            run.tell(signal.SIGTERM)
            outcome = run.result().ok()
    outcome.one_error("SIGUSR1", "-o")
    assert outcome.stacks()


def on_terminal(*arguments, environment=None, columns=120):
    """(exit code, what came on a terminal as standard error, standard output)."""
    ours, theirs = pty.openpty()
    subprocess.run(["stty", "cols", str(columns), "rows", "24"], stdin=theirs, check=True)
    process = subprocess.Popen(
        [runs.program(), *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", **(environment or {})},
    )
    os.close(theirs)
    shown = b""
    deadline = time.monotonic() + 30
    try:
        while time.monotonic() < deadline:
            if not select.select([ours], [], [], 1)[0]:
                continue
            try:
                part = os.read(ours, 65536)
            except OSError:
                break
            if not part:
                break
            shown += part
        out = process.stdout.read().decode()
        return process.wait(10), shown.decode(), out
    finally:
        process.kill()
        os.close(ours)


@pytest.mark.parametrize("color", [True, False])
def test_progress_on_a_terminal(usual_python, color):
    """The line has a bar, the time that is left, rate, losses and processes, and is gone at the end; output holds stacks alone."""
    with targets.python(usual_python, "busy.py") as target:
        environment = {} if color else {"NO_COLOR": "1"}
        code, shown, out = on_terminal("-p", target.pid, "-d", "1.5s", environment=environment)
    assert code == 0
    lines = [line for line in shown.split("\r") if "ticks/s" in line]
    assert len(lines) >= 3
    plain = [re.sub(r"\x1b\[[0-9;]*[mK]", "", line) for line in lines]
    for line in plain:
        assert re.search(r"#*\.* +\d+%  [\d.]+ s  \d+ s left  \d+ samples  \d+ ticks/s  \d+ lost  1 process$", line.strip()), line
        assert len(line) < 120
    shares = [int(re.search(r"(\d+)%", line).group(1)) for line in plain]
    assert shares == sorted(shares) and shares[-1] > 60
    assert ("\x1b[3" in shown) == color
    # The last that is done to the line is to take it off; the summary follows.
    assert re.search(r"\r\x1b\[K\s*pysample: \d+ samples", shown)
    assert out and all(line.rpartition(" ")[2].isdigit() for line in out.splitlines())


def test_a_narrow_terminal_gets_no_second_line(usual_python):
    with targets.python(usual_python, "busy.py") as target:
        _, shown, _ = on_terminal("-p", target.pid, "-d", "0.8s", columns=30)
    for line in shown.split("\r"):
        if "\x1b[K" in line and "samples in" not in line:
            assert len(re.sub(r"\x1b\[[0-9;]*[mK]", "", line).strip("\n")) < 30, line


@pytest.mark.parametrize("arguments, environment", [(("-q",), {}), ((), {"TERM": "dumb"})])
def test_no_progress(usual_python, arguments, environment):
    with targets.python(usual_python, "busy.py") as target:
        _, shown, _ = on_terminal("-p", target.pid, "-d", "0.6s", *arguments, environment=environment)
    assert "ticks/s" not in shown
