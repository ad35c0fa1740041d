# SPDX-License-Identifier: MIT
"""Which process is meant: by name, by a file, by waiting for it; and when a recording begins and ends."""

import os
import shutil
import signal
import time

import pytest

import procfs
import runs
import targets


@pytest.fixture
def script(tmp_path):
    """A copy of busy.py under a name that no other process has; so has its module."""
    path = tmp_path / ("only_%d.py" % os.getpid())
    shutil.copy(targets.PROGRAMS / "busy.py", path)
    shutil.copy(targets.PROGRAMS / "handshake.py", tmp_path)
    return path


def module_environment(script):
    return {"PYTHONPATH": str(script.parent)}


@pytest.mark.parametrize("way", ["script", "script without .py", "module", "argv[0]", "comm"])
def test_a_name(usual_python, script, way):
    options = ("-m", script.stem) if way == "module" else ("-X", "utf8", script)
    name = script.name if way == "script" else script.stem
    executable = None
    command = list(usual_python.command(*options))
    if way == "argv[0]":
        executable, command[0] = command[0], script.stem
    if way == "comm":
        # argv[0] stays a python's, and what it runs has no name.
        link = script.parent / ("link%d" % os.getpid())
        link.symlink_to(command[0])
        executable, name = str(link), link.name
        command = ["python", "-c", "import runpy, sys; sys.path.insert(0, %r); runpy.run_path(%r, run_name='__main__')" % (str(script.parent), str(script))]
    environment = dict(usual_python.environment, **module_environment(script))
    with targets.command(*command, executable=executable, environment=environment) as target:
        outcome = runs.pysample("-p", name, "-d", "0.5s", "-f", "json").ok()
        assert '"pid":%d' % target.pid in outcome.out.replace(" ", "")
        target.check_untouched()


def test_a_name_that_fits_several_is_refused_with_a_list(usual_python, script):
    with targets.python(usual_python, script) as one, targets.python(usual_python, script) as other:
        for command in ((), ("dump",)):
            outcome = runs.pysample(*command, "-p", script.name)
            assert outcome.code == 2 and outcome.out == ""
            first, *listed = outcome.err.splitlines()
            assert script.name in first and "2 processes" in first
            assert [int(line.split()[0]) for line in listed] == sorted([one.pid, other.pid])
            for line in listed:
                assert str(script) in line and len(line.split()) >= 4
        assert runs.pysample("-p", one.pid, "-d", "0.3s").ok().samples > 0


def test_a_name_that_fits_a_server_and_its_workers_means_the_server(usual_python, tmp_path):
    path = tmp_path / ("server_%d.py" % os.getpid())
    shutil.copy(targets.PROGRAMS / "family.py", path)
    shutil.copy(targets.PROGRAMS / "handshake.py", tmp_path)
    with targets.python(usual_python, path, "prefork", start_new_session=True) as target:
        try:
            assert runs.pysample("-p", path.stem, "-d", "0.3s").code == 2
            outcome = runs.pysample("-p", path.stem, "--subprocesses", "-d", "1s").ok()
            assert {"master_work", "worker_work"} <= runs.names(outcome.stacks())
        finally:
            os.killpg(target.pid, signal.SIGKILL)


@pytest.mark.parametrize(
    "arguments, word",
    [
        (("-p", "no-process-is-called-this"), "no-process-is-called-this"),
        (("-p", "99999999999"), "99999999999"),
        (("--pid-file", "FILE"), "no process id"),
        (("--children-of", "name"), "name"),
    ],
)
def test_what_cannot_be_meant_is_one_line(tmp_path, arguments, word):
    file = tmp_path / "run.pid"
    file.write_text("not a number\n")
    outcome = runs.pysample(*(str(file) if argument == "FILE" else argument for argument in arguments))
    assert outcome.code == 2
    outcome.one_error(word)


def test_a_pid_file(usual_python, tmp_path):
    file = tmp_path / "run.pid"
    outcome = runs.pysample("--pid-file", file)
    assert outcome.code == 1
    outcome.one_error(file)
    with targets.python(usual_python, "busy.py") as target:
        file.write_text("  %d\n" % target.pid)
        assert "inner" in " ".join(runs.names(runs.pysample("--pid-file", file, "-d", "0.5s").ok().stacks()))


def test_waiting_for_a_process(usual_python, script):
    """Given a name that no process has yet, pysample waits, and samples the one that starts from its beginning on."""
    with runs.recording("--wait", script.name, "-d", "0.5s") as run:
        procfs.wait_until(lambda: procfs.switches(run.pid) >= 20, "it does not wait")
        with targets.python(usual_python, script) as target:
            assert run.result().ok().samples > 0
            target.check_untouched()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_waiting_ends_with_a_signal_and_a_line(number):
    with runs.recording("--wait", "nothing-ever-called-this") as run:
        procfs.wait_until(lambda: procfs.switches(run.pid) >= 20, "it does not wait")
        run.tell(number)
        outcome = run.result(5)
        assert outcome.code == 1
        outcome.one_error("nothing-ever-called-this")


def test_a_number_of_samples(usual_python):
    with targets.python(usual_python, "busy.py") as target:
        assert runs.pysample("-p", target.pid, "--samples", 25).ok().samples == 25


def test_a_delay(usual_python):
    """The time before the first sample is not part of the run; a signal ends it."""
    with targets.python(usual_python, "busy.py") as target:
        begin = time.monotonic()
        outcome = runs.pysample("-p", target.pid, "--delay", "1s", "-d", "0.5s").ok()
        assert time.monotonic() - begin > 1.5
        assert 0 < outcome.ticks[0] + outcome.ticks[2] <= 52
        with runs.recording("-p", target.pid, "--delay", "60s") as run:
            procfs.wait_until(lambda: procfs.state(run.pid) == "S", "it does not wait")
            time.sleep(0.3)
            run.tell(signal.SIGINT)
            assert run.result(5).code == 0
        target.check_untouched()
