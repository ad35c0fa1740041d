# SPDX-License-Identifier: MIT
"""
exec_again.py leader|thread ROUNDS [ROUND]: computes for 5 ms and executes itself, so many rounds, from the main thread or
from another; computes for 1 s in the end.
"""

import os
import sys
import threading
import time

how, rounds = sys.argv[1], int(sys.argv[2])
done = int(sys.argv[3]) if len(sys.argv) > 3 else 0


def compute(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def execute_again():
    compute(0.005)
    os.execv(sys.executable, [sys.executable, "-I", "-S", "-E", __file__, how, str(rounds), str(done + 1)])


def last_round():
    compute(1)


if not done:
    os.write(1, b"ready\n")
if done == rounds:
    last_round()
    os.write(1, b"done %d\n" % done)
    os._exit(7)
if how == "thread":
    threading.Thread(target=execute_again).start()
    while True:
        compute(1)
execute_again()
