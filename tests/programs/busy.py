# SPDX-License-Identifier: MIT
"""busy.py [SECONDS]: one busy thread, outer -> inner -> leaf. Counts its rounds; ends by itself after so many seconds."""

import sys
import time

import handshake

rounds = [0]
clock = getattr(time, "monotonic", time.time)


def leaf():
    x = 0
    for i in range(2000):
        x = (x * 31 + i) & 0xFFFF
    rounds[0] += 1


def inner(end):
    while not end or clock() < end:
        leaf()


def outer(seconds):
    inner(clock() + seconds if seconds else 0)


handshake.on_count(lambda: rounds)
handshake.ready()
outer(float(sys.argv[1]) if len(sys.argv) > 1 else 0)
sys.exit(handshake.ENDED)
