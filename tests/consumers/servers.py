# SPDX-License-Identifier: MIT
"""Servers that profiles are pushed to: a real collector, and one that answers what it is told to."""

import contextlib
import gzip
import http.server
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time

CONFIG = """
receivers:
  otlp:
    protocols:
      http: {endpoint: "127.0.0.1:%d"}
      grpc: {endpoint: "127.0.0.1:%d"}
exporters:
  file: {path: "%s", flush_interval: 20ms}
service:
  telemetry: {metrics: {level: none}, logs: {level: warn}}
  pipelines:
    profiles: {receivers: [otlp], exporters: [file]}
"""
PATIENCE_S = 60


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come to it that " + what
        time.sleep(0.01)


def listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


class Collector:
    """An OpenTelemetry Collector that writes what it takes to a file."""

    def __init__(self, program, folder):
        self.program = program
        self.http, self.grpc = free_ports(2)
        self.stored = folder / "stored.json"
        self.config = folder / "collector.yaml"
        self.log = folder / "collector.log"
        self.config.write_text(CONFIG % (self.http, self.grpc, self.stored))
        self.process = None

    def start(self):
        with self.log.open("a") as log:
            command = [self.program, "--config", self.config, "--feature-gates=service.profilesSupport"]
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_until(lambda: listens(self.http) and listens(self.grpc), "the collector listens:\n" + self.log.read_text())

    def stop(self, number=signal.SIGTERM):
        if self.process:
            self.process.send_signal(number)
            self.process.wait(PATIENCE_S)
            self.process = None

    def requests(self):
        """What was stored, a request a line; also after a restart, which begins the file anew unless it is moved away."""
        text = self.stored.read_text() if self.stored.exists() else ""
        # The last line may be half written.
        return [json.loads(line) for line in text.split("\n")[:-1]]


class Answer:
    def __init__(self, status=200, headers=(), body=b"", hang=False, delay_s=0):
        self.status = status
        self.headers = dict(headers)
        self.body = body
        self.hang = hang
        self.delay_s = delay_s


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        mock = self.server.mock
        with mock.changed:
            mock.requests.append((self.path, dict(self.headers), body, time.monotonic()))
            answer = mock.answers.pop(0) if len(mock.answers) > 1 else mock.answers[0]
            mock.changed.notify_all()
        time.sleep(answer.delay_s)
        if answer.hang:
            mock.released.wait(PATIENCE_S)
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, *arguments):
        pass


class Mock:
    """Answers with one of @answers after the other; the last one stays."""

    def __init__(self, answers):
        self.answers = list(answers) or [Answer()]
        self.requests = []
        self.changed = threading.Condition()
        self.released = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.mock = self
        self.port = self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *arguments):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

    def bodies(self):
        return [gzip.decompress(body) if headers.get("Content-Encoding") == "gzip" else body for _, headers, body, _ in self.requests]


def environment(**more):
    """Ours without what would change where and how it is pushed."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_") and not name.lower().endswith("_proxy")}
    return {**clean, **more}


def attributes(pairs, strings):
    """Attributes of the collector's JSON, where keys and values may be numbers of the table of strings."""

    def text(value):
        if "stringValueStrindex" in value:
            return strings[value["stringValueStrindex"]]
        return next(iter(value.values()))

    return {strings[pair["keyStrindex"]] if "keyStrindex" in pair else pair["key"]: text(pair["value"]) for pair in pairs}


def folded(requests, unit):
    """{(name, …) from the outside in: sum of values} of all stored profiles whose values are in @unit."""
    sums = {}
    for request in requests:
        table = request["dictionary"]
        strings = table["stringTable"]

        def stack(index):
            names = []
            for location in table["stackTable"][index]["locationIndices"]:
                line = table["locationTable"][location]["lines"][0]
                names.append(strings[table["functionTable"][line["functionIndex"]]["nameStrindex"]])
            return tuple(reversed(names))

        for resource in request["resourceProfiles"]:
            for scope in resource["scopeProfiles"]:
                for profile in scope["profiles"]:
                    if strings[profile["sampleType"]["unitStrindex"]] != unit:
                        continue
                    for sample in profile["samples"]:
                        key = stack(sample["stackIndex"])
                        sums[key] = sums.get(key, 0) + int(sample["values"][0])
    return sums
