# SPDX-License-Identifier: MIT
"""pysample agent: every Python that fits, found as it appears, until it is told to end."""

import contextlib
import re
import signal
import time

import runs
import servers
import targets


def agent(mock, *arguments, **options):
    url = ["--push", "http://127.0.0.1:%d" % mock.port]
    return runs.recording("agent", *url, "--push-window", "1s", "-F", "50", *arguments, environment=servers.environment(), **options)


def seen(mock, text, since=0):
    return any(text in body for body in mock.bodies()[since:])


def pid_bytes(pid):
    """The attribute process.pid = @pid, as it is in a request."""
    number, value = b"", pid
    while value >= 0x80:
        number += bytes([value & 0x7F | 0x80])
        value >>= 7
    number += bytes([value])
    return b"process.pid\x12" + bytes([len(number) + 1]) + b"\x18" + number


def test_processes_are_found_as_they_appear(usual_python):
    with contextlib.ExitStack() as stack, servers.Mock([]) as mock:
        first = stack.enter_context(targets.python(usual_python, "busy.py"))
        run = stack.enter_context(agent(mock, "--name", "busy.py"))
        servers.wait_until(lambda: seen(mock, pid_bytes(first.pid)), "the first is seen")
        second = stack.enter_context(targets.python(usual_python, "busy.py"))
        servers.wait_until(lambda: seen(mock, pid_bytes(second.pid)), "the second is seen")
        first.process.kill()
        first.process.wait()
        since = len(mock.requests) + 2
        servers.wait_until(lambda: len(mock.requests) > since, "windows go on")
        assert not seen(mock, pid_bytes(first.pid), since)
        assert seen(mock, pid_bytes(second.pid), since)
        run.process.send_signal(signal.SIGTERM)
        outcome = run.result(60).ok()
        second.check_untouched()
    # Other tests may run programs of this name too.
    assert int(re.search(r"^found (\d+) processes", outcome.err, re.M)[1]) >= 2


def test_only_what_fits_is_taken(usual_python):
    with contextlib.ExitStack() as stack, servers.Mock([]) as mock:
        wanted = stack.enter_context(targets.python(usual_python, "busy.py"))
        other = stack.enter_context(targets.python(usual_python, "gil.py"))
        run = stack.enter_context(agent(mock, "--name", "bus?.py", "--user", "0", "--cgroup", "*"))
        servers.wait_until(lambda: len(mock.requests) >= 2, "two windows are there")
        run.process.send_signal(signal.SIGINT)
        run.result(60).ok()
        assert seen(mock, pid_bytes(wanted.pid))
        assert not seen(mock, pid_bytes(other.pid))


def test_the_settings_are_read_again(usual_python, tmp_path):
    settings = tmp_path / "agent.conf"

    def write(text):
        settings.write_text(text)
        settings.chmod(0o600)

    write("name = busy.py\nlabel = round=alpha\n")
    with contextlib.ExitStack() as stack, servers.Mock([]) as mock:
        target = stack.enter_context(targets.python(usual_python, "busy.py"))
        run = stack.enter_context(agent(mock, "--push-config", settings))
        servers.wait_until(lambda: seen(mock, b"alpha"), "the first label arrives")
        write("name = busy.py\nlabel = round=omega\nno-such-key = 1\n")
        run.process.send_signal(signal.SIGHUP)
        since = len(mock.requests) + 1
        servers.wait_until(lambda: len(mock.requests) > since, "windows go on")
        assert not seen(mock, b"omega")
        write("name = busy.py\nlabel = round=omega\n")
        run.process.send_signal(signal.SIGHUP)
        servers.wait_until(lambda: seen(mock, b"omega"), "the second label arrives")
        write("name = none\nlabel = round=omega\n")
        run.process.send_signal(signal.SIGHUP)
        run.process.send_signal(signal.SIGHUP)
        count = len(mock.requests)
        time.sleep(2.5)
        assert len(mock.requests) <= count + 2, "nothing fits any more"
        run.process.send_signal(signal.SIGTERM)
        outcome = run.result(60).ok()
        target.check_untouched()
    assert "the settings stay as they were" in outcome.err
    assert "no-such-key: there is no such key" in outcome.err


def test_a_server_that_is_gone_does_not_end_it(usual_python):
    with contextlib.ExitStack() as stack:
        target = stack.enter_context(targets.python(usual_python, "busy.py"))
        with servers.Mock([servers.Answer(503)]) as mock:
            run = stack.enter_context(agent(mock, "--name", "busy.py", "--push-timeout", "1s"))
            servers.wait_until(lambda: mock.requests, "the first window is tried")
        time.sleep(1.5)  # nobody listens any more
        assert run.process.poll() is None
        run.process.send_signal(signal.SIGTERM)
        outcome = run.result(60).ok()
        target.check_untouched()
    assert "not sent in time at the end" in outcome.err
