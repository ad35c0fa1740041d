# SPDX-License-Identifier: MIT
"""launched.py WHAT ARGUMENT...: what a program that is launched may do. Runs on CPython 2.7 and 3."""

import os
import sys
import time

clock = getattr(time, "monotonic", time.time)


def busy_before_death():
    end = clock() + 0.3
    while clock() < end:
        pass


def run_on():
    while True:
        pass


what = sys.argv[1]
if what == "echo":
    os.write(2, b"to standard error\n")
    os.write(1, os.read(0, 1000))
    busy_before_death()
elif what == "exit":
    sys.exit(int(sys.argv[2]))
elif what == "die":
    busy_before_death()
    os.kill(os.getpid(), int(sys.argv[2]))
elif what == "import":
    import slow_import  # noqa: F401
elif what == "arguments":
    for argument in sys.argv[2:]:
        print(repr(argument))
elif what == "for-ever":
    run_on()
