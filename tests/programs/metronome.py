# SPDX-License-Identifier: MIT
"""metronome.py PERIOD_S: the first half of each period in even, the second in odd, in step with the monotonic clock."""

import sys
import time

import handshake

period = float(sys.argv[1])


def even(end):
    while time.monotonic() < end:
        pass


def odd(end):
    while time.monotonic() < end:
        pass


handshake.ready()
while True:
    begin = time.monotonic() // period * period
    even(begin + period / 2)
    odd(begin + period)
