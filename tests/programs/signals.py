# SPDX-License-Identifier: MIT
"""signals.py LIBRARY SENDER: counts real-time signals and timer expiries in a C handler beside a busy main thread."""

import ctypes
import sys

import handshake

NAMES = ("queued", "queued_sum", "out_of_order", "strange", "expiries", "last", "sender")


class Signals(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in NAMES]


def busy():
    x = 0
    while True:
        x = (x * 31 + 1) & 0xFFFF


counted = Signals(sender=int(sys.argv[2]))
if ctypes.CDLL(sys.argv[1]).count_signals(ctypes.byref(counted)) != 0:
    sys.exit("cannot count signals")
handshake.on_count(lambda: {name: getattr(counted, name) for name in NAMES})
handshake.ready()
busy()
