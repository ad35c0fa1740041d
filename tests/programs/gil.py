# SPDX-License-Identifier: MIT
"""One thread computes in Python and holds the GIL; another computes in C without it. Runs on CPython 2.7 and 3."""

import hashlib

import handshake

BLOCK = b"x" * (8 << 20)


def compute():
    x = 0
    while True:
        x = (x * 31 + 1) & 0xFFFF


def hash_without_gil():
    while True:
        hashlib.sha256(BLOCK).digest()


handshake.start(hash_without_gil)
handshake.ready()
compute()
