# SPDX-License-Identifier: MIT
"""clock.py [LIBRARY]...: loads the libraries; then the function that runs is slot_N in millisecond N of the monotonic clock.

N is counted modulo SLOTS. The first stack of a profile says when it was taken, whatever the profiler.
"""

import ctypes
import sys
import time

import shared

SLOTS = 10000
SOURCE = """
def slot_{0:05d}(end, clock=time.monotonic):
    x = 0
    while clock() < end:
        for i in range(60):
            x = (x * 31 + i) & 0xffff
"""


def main():
    libraries = [ctypes.CDLL(path) for path in sys.argv[1:]]
    names = {"time": time}
    exec(compile("".join(SOURCE.format(number) for number in range(SLOTS)), "slots.py", "exec"), names)
    slots = [names["slot_%05d" % number] for number in range(SLOTS)]
    shared.ready()
    while libraries is not None:
        now_ms = int(time.monotonic() * 1000)
        slots[now_ms % SLOTS]((now_ms + 1) / 1000)
        shared.tick()


main()
