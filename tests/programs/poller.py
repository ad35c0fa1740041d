# SPDX-License-Identifier: MIT
"""Two threads in epoll.poll, one for ever and one that wakes every 20 ms; an exception is a failure. For Python 2.7."""

import os
import select

import handshake

counted = {"waits": 0, "failures": 0}


def poll(timeout):
    epoll = select.epoll()
    epoll.register(pipe[0], select.EPOLLIN)
    while True:
        try:
            epoll.poll(timeout)
            counted["waits"] += 1
        except (IOError, OSError):
            counted["failures"] += 1


def busy():
    x = 0
    while True:
        x = (x * 31 + 1) & 0xFFFF


pipe = os.pipe()
handshake.start(poll, 600.0)
handshake.start(poll, 0.02)
handshake.on_count(lambda: counted)
handshake.ready()
busy()
