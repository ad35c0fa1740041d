# SPDX-License-Identifier: MIT
"""naps.py NAP_S BUSY_S [THREADS]: asleep and busy in turn, in the main thread; further threads sleep only."""

import sys
import time

import handshake

clock = getattr(time, "monotonic", time.time)


def compute(seconds):
    end = clock() + seconds
    while clock() < end:
        pass


def nap(seconds):
    time.sleep(seconds)


def sleep_on():
    while True:
        time.sleep(3600)


def main():
    asleep, busy = float(sys.argv[1]), float(sys.argv[2])
    for _ in range(int(sys.argv[3]) if len(sys.argv) > 3 else 0):
        handshake.start(sleep_on)
    handshake.ready()
    while True:
        nap(asleep)
        compute(busy)


main()
