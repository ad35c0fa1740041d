# SPDX-License-Identifier: MIT
"""
parked.py LIBRARY PYTHON NATIVE TIMEOUT_MS CALL...: threads that wait in system calls that do not restart after a stop, so
many Python and native ones a call, beside a busy main thread. SIGUSR1 prints {call: [waits, EINTR, failures]} and the
rounds of the main thread. Runs on CPython 2.7 and 3.
"""

import ctypes
import sys
import time

import handshake

CALLS = ["epoll_wait", "semtimedop", "sigtimedwait", "inotify", "recv"]


class Parked(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("tid", "calls", "interrupted", "failed")]


def wait_in(call, parked):
    library.park(CALLS.index(call), ctypes.byref(parked), timeout_ms)


def work():
    x = 0
    for i in range(2000):
        x = (x * 31 + i) & 0xFFFF
    rounds[0] += 1


def busy():
    while True:
        work()


def main():
    parked = {call: [Parked() for _ in range(python + native)] for call in sys.argv[5:]}
    everyone = [one for call in parked for one in parked[call]]
    for call in parked:
        for one in parked[call][:python]:
            handshake.start(wait_in, call, one)
        for one in parked[call][python:]:
            library.start_parked(CALLS.index(call), ctypes.byref(one), timeout_ms)
    while not all(one.tid for one in everyone):
        time.sleep(0.001)

    def counters():
        counted = {"rounds": rounds[0]}
        for call, ones in parked.items():
            counted[call] = [sum(getattr(one, name) for one in ones) for name in ("calls", "interrupted", "failed")]
        return counted

    handshake.on_count(counters)
    handshake.ready(*[one.tid for one in everyone])
    busy()


library = ctypes.CDLL(sys.argv[1])
python, native, timeout_ms = [int(word) for word in sys.argv[2:5]]
rounds = [0]
main()
