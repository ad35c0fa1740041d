# SPDX-License-Identifier: MIT
"""The commands of docs/recipes.md do what the page says: each is run, in the page's order, in one folder."""

import http.server
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import threading

import procfs
import runs
import targets

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "recipes.md"
APP = "import time\nend = time.monotonic() + 0.5\nwhile time.monotonic() < end:\n    sum(range(1000))\n"
# Busy, with a child that is busy too, until its standard input ends.
SERVER = """
import os, sys, threading
def work():
    while True:
        sum(range(1000))
server = os.getpid()
child = os.fork()
while not child and os.getppid() == server:
    sum(range(1000))
if not child:
    os._exit(0)
threading.Thread(target=work, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
os.kill(child, 9)
os.waitpid(child, 0)
os._exit(0)
"""


def commands():
    """The lines of the page that begin with pysample, in fenced blocks."""
    blocks = re.findall(r"^```\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    lines = "".join(blocks).replace("\\\n", "").splitlines()
    return [line for line in lines if line.startswith("pysample ")]


class Collector(http.server.BaseHTTPRequestHandler):
    got = 0

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        Collector.got += 1
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def adapted(line, pid, port):
    """The command with this test's process, server and times."""
    line = re.sub(r"\bPID\b", str(pid), line)
    line = re.sub(r"(-d|--window|--delay) \d+[sm]", lambda match: match.group(1) + (" 300ms" if match.group(1) != "-d" else " 700ms"), line)
    return line.replace("collector:4318", "127.0.0.1:%d" % port)


def run_agent(words, folder):
    """It goes on until it is told to end, by which time it has handed something over."""
    before = Collector.got
    agent = subprocess.Popen([*words, "--push-window", "1s"], cwd=folder, stderr=subprocess.PIPE)
    try:
        procfs.wait_until(lambda: Collector.got > before, "the agent sends nothing", 60)
        agent.send_signal(signal.SIGTERM)
        errors = agent.communicate(timeout=60)[1]
    finally:
        agent.kill()
    assert agent.returncode == 0, errors


def run_one(line, folder):
    words = [str(runs.program()) if word == "pysample" else sys.executable if word == "python3" else word for word in shlex.split(line)]
    if "agent" in words:
        run_agent(words, folder)
        return
    outcome = subprocess.run(words, cwd=folder, capture_output=True, timeout=120)
    good = (0, 1) if "doctor" in words else (0,)
    assert outcome.returncode in good, "%s: %s%s" % (line, outcome.stdout[-500:], outcome.stderr[-2000:])
    if "-o" in words:
        name = pathlib.Path(words[words.index("-o") + 1])
        written = list(folder.glob(name.stem.split(".")[0] + "*"))
        assert written and all(path.stat().st_size for path in written), "%s wrote nothing" % line
    else:
        assert outcome.stdout or "--push" in words, "%s printed nothing" % line


def test_the_commands_of_the_page(usual_python, tmp_path):
    """Given the page, each of its commands ends well and leaves the file that it names."""
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "gunicorn.py").write_text(SERVER)
    lines = commands()
    assert len(lines) > 20
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with targets.command(*usual_python.command(tmp_path / "gunicorn.py")) as target:
        for line in lines:
            run_one(adapted(line, target.pid, server.server_port), tmp_path)
        target.check_untouched()
    server.shutdown()
    assert Collector.got >= 2
