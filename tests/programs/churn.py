# SPDX-License-Identifier: MIT
"""Threads that live for 2 ms each, eight at a time."""

import threading
import time

import handshake


def short_life():
    end = time.monotonic() + 0.002
    while time.monotonic() < end:
        pass


handshake.ready()
while True:
    workers = [threading.Thread(target=short_life) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
