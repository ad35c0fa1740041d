# SPDX-License-Identifier: MIT
"""exec_away.py leader|thread COMMAND...: busy until SIGUSR2, then the main thread or another executes the command."""

import os
import signal
import sys
import threading

import handshake


def execute():
    os.execv(sys.argv[2], sys.argv[2:])


def wait_and_execute():
    asked.wait()
    execute()


def on_signal(number, frame):
    if sys.argv[1] == "leader":
        execute()
    asked.set()


def before_exec():
    x = 0
    while True:
        x = (x * 31 + 1) & 0xFFFF


asked = threading.Event()
handshake.start(wait_and_execute)
signal.signal(signal.SIGUSR2, on_signal)
handshake.ready()
before_exec()
