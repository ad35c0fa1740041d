# SPDX-License-Identifier: MIT
"""What is handed over to a server: nothing but the documented loss, whatever the server does."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import urllib.request

import pytest

import runs
import servers
import targets

PROTOCOLS = ["http", "grpc"]


@pytest.fixture
def collector(consumer, tmp_path):
    found = servers.Collector(consumer("collector"), tmp_path)
    found.start()
    yield found
    found.stop(signal.SIGKILL)


@pytest.fixture(scope="session")
def recorded(tmp_path_factory, usual_python):
    """A recording of several threads, as JSON."""
    path = tmp_path_factory.mktemp("recorded") / "profile.json"
    with targets.python(usual_python, "busy.py") as target:
        runs.record(target, 2, "--idle", "-o", path)
    return path


@pytest.fixture
def busy(usual_python):
    with targets.python(usual_python, "busy.py") as target:
        yield target


def push(target, url, seconds, *arguments, **variables):
    return runs.pysample("-p", target.pid, "-d", "%gs" % seconds, "--push", url, *arguments, environment=servers.environment(**variables))


def request_of(protocol, path):
    program = pathlib.Path(runs.program()).parent / "tests" / "consumers" / "write_request"
    return subprocess.run([program, protocol, path], stdout=subprocess.PIPE, check=True).stdout


def summary(outcome):
    """What the summary says: samples, those pushed, {reason: samples lost}."""
    samples = int(re.search(r"(\d+) samples in", outcome.err)[1])
    pushed = int(re.search(r"^pushed \d+ windows with (\d+) samples", outcome.err, re.M)[1])
    lost = {reason: int(count) for count, reason in re.findall(r"^not pushed: \d+ windows with (\d+) samples: (.*)$", outcome.err, re.M)}
    assert pushed + sum(lost.values()) == samples, outcome.err
    return samples, pushed, lost


def collapsed_of(path, *arguments):
    """{(name, …): count} of a recording, by functions."""
    text = runs.pysample("report", path, "-f", "collapsed", "--no-line", *arguments).ok().out
    sums = {}
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        names = tuple(runs.parse_frame(frame).name for frame in stack.split(";"))
        sums[names] = sums.get(names, 0) + int(count)
    return sums


def test_the_request_is_valid_for_a_strict_reader(consumer, recorded, tmp_path):
    """Given our request, the classes made from the protocol's own description know every field, and all rules of its tables hold."""
    request = tmp_path / "request"
    request.write_bytes(request_of("otlp", recorded))
    checker = pathlib.Path(__file__).parent / "otlp_strict.py"
    environment = dict(os.environ, PYTHONPATH=str(consumer("otlp")))
    for python in ("/usr/bin/python3", sys.executable, "python3"):
        run = subprocess.run([python, checker, request], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if "ImportError" not in run.stdout and "ModuleNotFoundError" not in run.stdout:
            break
    assert run.returncode == 0, run.stdout
    assert json.loads(run.stdout)["counts"] == sum(collapsed_of(recorded).values())


@pytest.mark.parametrize("unit, weights", [("count", "samples"), ("nanoseconds", "ns")])
def test_a_collector_stores_what_was_recorded(collector, recorded, unit, weights):
    headers = {"Content-Type": "application/x-protobuf"}
    request = urllib.request.Request("http://127.0.0.1:%d/v1development/profiles" % collector.http, request_of("otlp", recorded), headers)
    assert urllib.request.urlopen(request, timeout=30).status == 200
    servers.wait_until(collector.requests, "the collector stores it")
    assert servers.folded(collector.requests(), unit) == collapsed_of(recorded, "--weights", weights)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_all_windows_of_a_recording_reach_a_collector(collector, busy, protocol):
    outcome = push(busy, "%s://127.0.0.1:%d" % (protocol, getattr(collector, protocol)), 3, "--push-window", "1s", "--label", "env=test").ok()
    samples, pushed, lost = summary(outcome)
    assert (pushed, lost) == (samples, {})
    busy.check_untouched()
    assert outcome.out == ""
    collector.stop()
    requests = collector.requests()
    assert len(requests) == 3
    stacks = servers.folded(requests, "count")
    assert sum(stacks.values()) == samples
    assert any(stack[-3:] == ("outer", "inner", "leaf") for stack in stacks)
    for request in requests:
        said = servers.attributes(request["resourceProfiles"][0]["resource"]["attributes"], request["dictionary"]["stringTable"])
        assert said["env"] == "test"
        assert said["process.pid"] == str(busy.pid)
        assert said["process.runtime.name"] == "cpython"
        assert said["service.name"]
        assert said["host.name"] == os.uname().nodename


def across_an_end(collector, busy, protocol, number):
    """A recording during which the collector ends by a signal and is back after more than a window: samples recorded, and stored."""
    url = "%s://127.0.0.1:%d" % (protocol, getattr(collector, protocol))
    with runs.recording("-p", busy.pid, "--push", url, "--push-window", "1s", "--push-timeout", "30s", environment=servers.environment()) as run:
        servers.wait_until(collector.requests, "the first window is stored")
        collector.stop(number)
        before = collector.requests()
        collector.stored.unlink()
        time.sleep(1.5)  # longer than a window: there is something that can not be sent
        collector.start()
        servers.wait_until(collector.requests, "windows arrive again")
        run.process.send_signal(signal.SIGINT)
        outcome = run.result(60).ok()
    samples, pushed, lost = summary(outcome)
    assert (pushed, lost) == (samples, {})
    collector.stop()
    return samples, sum(servers.folded(before + collector.requests(), "count").values())


def test_a_collector_that_is_killed_loses_no_more_than_it_held(collector, busy):
    """Given SIGKILL, all is handed over in the end; only a window that was being stored can be missing, or be there twice."""
    samples, stored = across_an_end(collector, busy, "http", signal.SIGKILL)
    assert abs(stored - samples) <= 110, (stored, samples)


def test_a_slow_server_gets_all_of_it(busy):
    """Given answers that take longer than a window, the sampling goes on and the rest is sent at the end."""
    with servers.Mock([servers.Answer(delay_s=1.3)]) as mock:
        outcome = push(busy, "http://127.0.0.1:%d" % mock.port, 4, "--push-window", "1s", "--push-timeout", "30s", "-F", "50").ok()
        assert len(mock.requests) >= 4
    samples, pushed, lost = summary(outcome)
    assert (pushed, lost) == (samples, {})
    assert "in 4.0 s" in outcome.err and samples > 50


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_collector_that_is_restarted_misses_nothing(collector, busy, protocol):
    """Given a collector that is away for a while, what was recorded meanwhile is sent when it is back."""
    samples, stored = across_an_end(collector, busy, protocol, signal.SIGTERM)
    assert stored == samples


@pytest.mark.parametrize("status", [400, 415, 500])
def test_what_is_refused_is_dropped_and_counted(busy, status):
    with servers.Mock([servers.Answer(status, body=b"not like this\nat all")]) as mock:
        outcome = push(busy, "http://127.0.0.1:%d" % mock.port, 1.5, "--push-window", "1s").ok()
        samples, pushed, lost = summary(outcome)
        assert (pushed, lost) == (0, {"refused by the server": samples})
        assert len(mock.requests) == 2, "each window once"
    assert "HTTP status %d: not like this\n" % status in outcome.err


@pytest.mark.parametrize("status", [429, 503])
def test_what_is_not_taken_now_is_sent_again(busy, status):
    with servers.Mock([servers.Answer(status, {"Retry-After": "2"}), servers.Answer()]) as mock:
        outcome = push(busy, "http://127.0.0.1:%d" % mock.port, 1.5, "--push-window", "1s", "--push-timeout", "20s").ok()
        samples, pushed, lost = summary(outcome)
        assert (pushed, lost) == (samples, {})
        (_, _, first, at), (_, _, second, again) = mock.requests[:2]
        assert first == second
        assert again - at >= 2, "Retry-After"
    assert "1 tries failed" in outcome.err


def test_the_pauses_grow(busy):
    with servers.Mock([servers.Answer(503)] * 2 + [servers.Answer()]) as mock:
        outcome = push(busy, "http://127.0.0.1:%d" % mock.port, 5.5, "--push-window", "1s").ok()
        assert summary(outcome)[2] == {}
        times = [request[3] for request in mock.requests[:3]]
        pauses = [later - earlier for earlier, later in zip(times, times[1:])]
    for pause, longest in zip(pauses, (1, 2)):
        assert longest / 2 <= pause < longest + 1.5


def test_a_server_that_hangs_is_not_felt(busy):
    """Given a server that takes a request and never answers, the sampling goes on, and the end comes in time."""
    rounds = busy.count()
    with servers.Mock([servers.Answer(hang=True)]) as mock:
        started = time.monotonic()
        outcome = push(busy, "http://127.0.0.1:%d" % mock.port, 4, "--push-window", "1s", "--push-timeout", "1s", "-F", "50").ok()
        took = time.monotonic() - started
    samples, pushed, lost = summary(outcome)
    assert (pushed, lost) == (0, {"not sent in time at the end": samples})
    assert took < 4 + 1 + 1.5 + 3
    assert "in 4.0 s" in outcome.err
    assert samples > 50
    busy.check_untouched()
    assert busy.count() > rounds


def test_the_oldest_go_when_the_queue_is_full(busy, tmp_path):
    settings = tmp_path / "push.conf"
    settings.write_text("queue = 2\n")
    settings.chmod(0o600)
    with servers.Mock([servers.Answer(hang=True)]) as mock:
        outcome = push(busy, "http://127.0.0.1:%d" % mock.port, 5.5, "--push-window", "1s", "--push-timeout", "1s", "--push-config", settings).ok()
    samples, pushed, lost = summary(outcome)
    assert pushed == 0
    assert set(lost) == {"the queue was full", "not sent in time at the end"}
    assert re.search(r"^not pushed: 3 windows with \d+ samples: the queue was full$", outcome.err, re.M)


def test_a_server_that_is_not_there_is_counted(busy):
    (port,) = servers.free_ports(1)
    outcome = push(busy, "http://127.0.0.1:%d" % port, 1.5, "--push-window", "1s", "--push-timeout", "1s").ok()
    samples, pushed, lost = summary(outcome)
    assert (pushed, lost) == (0, {"not sent in time at the end": samples})
    assert "no answer: " in outcome.err


def test_a_part_that_is_refused_is_counted(busy):
    """Given a partial success {1 {1: 3, 2: "old"}}, these samples are no more among those pushed."""
    with servers.Mock([servers.Answer(body=b"\x0a\x07\x08\x03\x12\x03old")]) as mock:
        outcome = push(busy, "http://127.0.0.1:%d" % mock.port, 1).ok()
    samples, pushed, lost = summary(outcome)
    assert lost == {"refused in part by the server": 3}
    assert "the server: old" in outcome.err


def test_secrets_come_from_a_file_and_are_shown_nowhere(busy, tmp_path):
    settings = tmp_path / "push.conf"
    settings.write_text("bearer-token = geheim\ntenant = team\nheader = X-Own: 1\ncompression = none\nlabel = service.name = shop\n")
    settings.chmod(0o600)
    with servers.Mock([]) as mock:
        url = "http://127.0.0.1:%d" % mock.port
        with runs.recording("-p", busy.pid, "-d", "2s", "--push", url, "--push-config", settings, environment=servers.environment()) as run:
            assert b"geheim" not in pathlib.Path("/proc/%d/cmdline" % run.process.pid).read_bytes()
            outcome = run.result(60).ok()
        headers = mock.requests[0][1]
        body = mock.requests[0][2]
    assert headers["Authorization"] == "Bearer geheim"
    assert headers["X-Scope-OrgID"] == "team"
    assert headers["X-Own"] == "1"
    assert "Content-Encoding" not in headers
    assert b"geheim" not in body
    assert b"shop" in body
    assert "geheim" not in outcome.err


def test_the_environment_of_opentelemetry_is_honoured(busy):
    with servers.Mock([]) as mock:
        variables = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:%d/base" % mock.port,
            "OTEL_EXPORTER_OTLP_HEADERS": "api-key=abc%20d",
            "OTEL_SERVICE_NAME": "named",
            "OTEL_RESOURCE_ATTRIBUTES": "service.name=not-this,team=blue",
        }
        push(busy, "env", 1, **variables).ok()
        path, headers, _, _ = mock.requests[0]
        (body,) = mock.bodies()
    assert path == "/base/v1development/profiles"
    assert headers["api-key"] == "abc d"
    assert headers["Content-Type"] == "application/x-protobuf"
    assert b"named" in body and b"blue" in body and b"not-this" not in body


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--push", "ftp://h"], "must begin with"),
        (["--push", "http://user:geheim@h"], "belongs in --push-config"),
        (["--push", "env"], "OTEL_EXPORTER_OTLP_ENDPOINT"),
        (["--push", "http://h", "-o", "x.json"], "does not go with -o"),
        (["--push", "http://h", "--label", "novalue"], "KEY=VALUE"),
        (["--push", "http://h", "--push-config", "/no/such"], "can not be read"),
        (["--push-window", "5s"], "go with --push"),
        (["--push", "http://h", "--push-window", "10ms"], "at least 1s"),
    ],
)
def test_a_wrong_command_line_is_refused_before_the_target_is_touched(busy, arguments, message):
    outcome = runs.pysample("-p", busy.pid, "-d", "1s", *arguments, environment=servers.environment())
    assert outcome.code == 2
    assert message in outcome.err
    assert "geheim" not in outcome.err
    assert outcome.err.count("\n") == 1


def test_without_libcurl_it_says_so(busy, tmp_path):
    for name in ("libcurl.so.4", "libcurl-gnutls.so.4"):
        (tmp_path / name).write_text("no library")
    outcome = push(busy, "http://127.0.0.1:1", 1, LD_LIBRARY_PATH=str(tmp_path))
    assert outcome.code == 1
    assert "needs libcurl" in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_static_pysample_says_that_it_can_not_push(busy):
    program = pathlib.Path(__file__).resolve().parents[2] / "build-static" / "pysample"
    if not program.is_file():
        pytest.skip("no build-static/pysample: ./dev static")
    command = [program, "-p", str(busy.pid), "-d", "1s", "--push", "http://127.0.0.1:1"]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 1
    assert "a static pysample can not load" in run.stderr
    assert run.stderr.count("\n") == 1


def fields(message):
    """{number: [value, …]} of a message of protocol buffers."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = varint()
        value = varint()
        if tag & 7 == 2:
            value, at = message[at : at + value], at + value
        found.setdefault(tag >> 3, []).append(value)
    return found


def test_pyroscope_gets_what_its_own_agents_send(consumer, busy, tmp_path):
    """Path, type, compression, labels and a pprof profile: as in a request recorded from the agent pyroscope-io 1.4.0."""
    with servers.Mock([]) as mock:
        outcome = push(busy, "pyroscope+http://127.0.0.1:%d" % mock.port, 1.5, "--push-window", "1s", "--mode", "cpu", "--label", "service.name=shop").ok()
        samples, pushed, lost = summary(outcome)
        path, headers, _, _ = mock.requests[0]
        bodies = mock.bodies()
    assert (pushed, lost) == (samples, {})
    assert path == "/push.v1.PusherService/Push"
    assert headers["Content-Type"] == "application/proto"
    assert headers["Content-Encoding"] == "gzip"
    total = 0
    for body in bodies:
        (series,) = fields(body)[1]
        labels = {fields(pair)[1][0].decode(): fields(pair)[2][0].decode() for pair in fields(series)[1]}
        assert labels["__name__"] == "process_cpu"
        assert labels["service_name"] == "shop"
        assert labels["process.runtime.name"] == "cpython"
        (sample,) = fields(series)[2]
        assert re.fullmatch(rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", fields(sample)[2][0])
        profile = tmp_path / "profile.pb"
        profile.write_bytes(fields(sample)[1][0])
        go = consumer("pprof")
        raw = subprocess.run([go, "tool", "pprof", "-raw", "-sample_index=samples", profile], stdout=subprocess.PIPE, text=True, check=True).stdout
        assert "leaf" in raw
        total += sum(int(line.split()[0]) for line in raw.split("Samples:\n")[1].split("Locations")[0].splitlines() if re.match(r" *\d+ +\d+:", line))
    assert total == samples
