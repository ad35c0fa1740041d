# SPDX-License-Identifier: MIT
"""One thread computes in Python and holds the GIL; another copies in C without it. Runs on CPython 2.7 and 3."""

import io

import handshake


def compute():
    x = 0
    while True:
        x = (x * 31 + 1) & 0xFFFF


def read_without_gil():
    zeros = io.FileIO("/dev/zero")
    buffer = bytearray(64 << 20)
    while True:
        zeros.readinto(buffer)


handshake.start(read_without_gil)
handshake.ready()
compute()
