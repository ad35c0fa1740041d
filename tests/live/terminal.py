# SPDX-License-Identifier: MIT
"""A terminal of tmux that a test types into and reads."""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile

import pytest

import procfs


class Terminal:
    """
    Runs a command in a shell on a terminal of its own. When the command has ended the shell prints "exit CODE" and the terminal's
    modes, and stays.
    """

    def __init__(self, folder, words, columns, lines, environment):
        self.socket = os.path.join(folder, "socket")
        settings = ["%s=%s" % item for item in environment.items()]
        command = " ".join(shlex.quote(str(word)) for word in ["env", *settings, *words])
        modes = r"stty -a | tr ' ;' '\n\n' | grep -E '^-?(icanon|echo|isig)$'"
        script = "%s; code=$?; echo; echo exit $code $(%s) .; cat" % (command, modes)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", columns, "-y", lines, script)

    def tmux(self, *words):
        run = subprocess.run(
            ["tmux", "-S", self.socket, *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm"},
            text=True,
            timeout=procfs.PATIENCE_S,
        )
        assert run.returncode == 0, run.stderr
        return run.stdout

    def lines(self):
        return self.tmux("capture-pane", "-p").splitlines()

    def screen(self):
        return "\n".join(self.lines())

    def show(self, name):
        return self.tmux("display-message", "-p", "#{%s}" % name).strip()

    def processes(self):
        """The shell and the command that it runs."""
        shell = int(self.show("pane_pid"))
        try:
            with open("/proc/%d/task/%d/children" % (shell, shell)) as file:
                return [shell] + [int(word) for word in file.read().split()]
        except FileNotFoundError:
            return []

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", columns, "-y", lines)

    def wait(self, condition, what):
        """Waits until condition(lines) is true and returns its value."""
        seen = []

        def look():
            seen[:] = self.lines()
            return condition(seen)

        try:
            return procfs.wait_until(look, what)
        except AssertionError as error:
            raise AssertionError("%s\n%s" % (error, "\n".join(seen))) from None

    def wait_text(self, text):
        return self.wait(lambda lines: any(text in line for line in lines), repr(text))

    def wait_without(self, text):
        return self.wait(lambda lines: not any(text in line for line in lines), "no %r" % text)

    def wait_exit(self):
        """The exit code of the command; the terminal must be as it was before."""
        found = self.wait(lambda lines: re.search(r"exit (\d+) (.*) \.", " ".join(lines)), "the end")
        assert self.show("alternate_on") == "0"
        assert self.show("cursor_flag") == "1"
        assert sorted(found.group(2).split()) == ["echo", "icanon", "isig"]
        return int(found.group(1))


@contextlib.contextmanager
def running(*words, columns=100, lines=24, **environment):
    if not shutil.which("tmux"):
        pytest.skip("no tmux")
    settings = {"LC_ALL": "C.UTF-8", **environment}
    with tempfile.TemporaryDirectory(prefix="pysample-tmux-") as folder:
        terminal = Terminal(folder, words, columns, lines, settings)
        try:
            yield terminal
        finally:
            left = terminal.processes()
            terminal.tmux("kill-server")
            procfs.wait_until(lambda: not any(map(procfs.is_alive, left)), "the processes of the terminal to end")
