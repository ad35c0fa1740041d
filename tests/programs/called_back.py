# SPDX-License-Identifier: MIT
"""called_back.py LIBRARY: a thread made in C calls into Python, beside a busy main thread."""

import ctypes
import sys

import handshake


def called_from_c():
    x = 0
    while True:
        x = (x * 31 + 1) & 0xFFFF


def busy():
    x = 0
    while True:
        x = (x * 31 + 1) & 0xFFFF


callback = ctypes.CFUNCTYPE(None)(called_from_c)
ctypes.CDLL(sys.argv[1]).call_in_thread(callback)
handshake.ready()
busy()
