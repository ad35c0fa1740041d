# SPDX-License-Identifier: MIT
"""deep.py DEPTH: busy at the end of so many nested calls. Runs on CPython 2.7 and 3."""

import sys
import threading

import handshake

sys.setrecursionlimit(1000000)
threading.stack_size(512 << 20)


def down(level):
    if level:
        return down(level - 1)
    handshake.say("ready")
    x = 0
    while True:
        x = (x * 31 + 1) & 0xFFFF


handshake.signal.signal(handshake.signal.SIGTERM, handshake._end)
handshake.start(down, int(sys.argv[1]))
handshake.sleep_for_ever()
