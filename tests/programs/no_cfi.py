# SPDX-License-Identifier: MIT
"""Python below a C function without unwind information, called through ctypes. usage: no_cfi.py LIBRARY FUNCTION"""

import ctypes
import sys

import handshake

CALLBACK = ctypes.CFUNCTYPE(None)


def inner():
    handshake.ready()
    total = 0
    while True:
        for number in range(1000):
            total += number


def outer():
    getattr(ctypes.CDLL(sys.argv[1]), sys.argv[2])(CALLBACK(inner))


outer()
