# SPDX-License-Identifier: MIT
"""Memory that a workload shares with the harness; Python 2.7 to 3.15.

Of 8-byte words: 0 work done, 1 pid when ready, 8 to 15 ns a phase, 32 and on counts of the workload. From LEDGER_BYTES on: the
ring of the gap meter. $BENCH_FD is its descriptor; without it the memory is the workload's own.
"""

import ctypes
import mmap
import os
import struct

WORK, READY, PHASES, COUNTS = 0, 1, 8, 32
LEDGER_BYTES = 4096

_WORD = struct.Struct("Q")


def _map():
    fd = int(os.environ.get("BENCH_FD", "-1"))
    return mmap.mmap(fd, os.fstat(fd).st_size if fd >= 0 else LEDGER_BYTES)


memory = _map()


def put(index, value):
    _WORD.pack_into(memory, 8 * index, value)


def get(index):
    return _WORD.unpack_from(memory, 8 * index)[0]


def address(offset=0):
    return ctypes.addressof(ctypes.c_char.from_buffer(memory, offset))


def ready():
    put(READY, os.getpid())


def tick():
    put(WORK, get(WORK) + 1)


def library():
    return ctypes.CDLL(os.environ["BENCH_LIBRARY"])


def spin(rounds):
    """Work that is done in Python alone."""
    value = 0
    for number in range(rounds):
        value = (value * 31 + number) & 0xFFFF
    return value
