# SPDX-License-Identifier: MIT
"""gap.py FRAMES IDLE: the gap meter in a thread of that many Python frames, beside that many idle threads and the main one."""

import ctypes
import sys
import threading
import time

import shared

LEAST_NS = 5000
FRAMES, IDLE = int(sys.argv[1]), int(sys.argv[2])

library = shared.library()
library.gap_run.argtypes = [ctypes.c_void_p, ctypes.c_uint64]


def descend(depth):
    if depth <= 1:
        return library.gap_run(shared.address(shared.LEDGER_BYTES), LEAST_NS)
    return descend(depth - 1)


def idle(depth=8):
    if depth:
        return idle(depth - 1)
    while True:
        time.sleep(30)


def start(function, *arguments):
    thread = threading.Thread(target=function, args=arguments)
    thread.daemon = True
    thread.start()


def main():
    sys.setrecursionlimit(FRAMES + 1000)
    threading.stack_size(max(256 << 10, FRAMES << 11))
    for _ in range(IDLE):
        start(idle)
    start(descend, FRAMES)
    time.sleep(0.2)
    shared.ready()
    while True:
        time.sleep(30)


main()
