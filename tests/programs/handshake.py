# SPDX-License-Identifier: MIT
"""How a program under test talks to its test. Runs on CPython 2.7 and 3.6 to 3.15."""

import json
import os
import signal
import threading

ENDED = 7


def _end(number, frame):
    os._exit(ENDED)


def say(text):
    """Prints a line in one system call: a signal handler may print in the middle of everything else."""
    os.write(1, (text + "\n").encode("utf-8"))


def say_json(value):
    say(json.dumps(value))


def ready(*words):
    """Says that the state the test is about has been reached. From here on SIGTERM ends the program with ENDED."""
    signal.signal(signal.SIGTERM, _end)
    say(" ".join(["ready"] + [str(word) for word in words]))


def on_count(counters):
    """Makes SIGUSR1 print what counters() returns as a line of JSON."""
    signal.signal(signal.SIGUSR1, lambda number, frame: say_json(counters()))


def sleep_for_ever():
    while True:
        signal.pause()


def end_with_input():
    """Ends the program with ENDED when standard input ends; for programs whose main thread cannot handle signals."""
    while os.read(0, 4096):
        pass
    _end(0, None)


def start(function, *arguments):
    """Starts a daemon thread."""
    thread = threading.Thread(target=function, args=arguments)
    thread.daemon = True
    thread.start()
    return thread
