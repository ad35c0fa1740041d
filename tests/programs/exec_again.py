# SPDX-License-Identifier: MIT
"""exec_again.py ROUNDS [ROUND]: computes for 5 ms and executes itself, so many rounds."""

import os
import sys
import time

rounds = int(sys.argv[1])
done = int(sys.argv[2]) if len(sys.argv) > 2 else 0
if not done:
    os.write(1, b"ready\n")
end = time.monotonic() + 0.005
while time.monotonic() < end:
    pass
if done == rounds:
    os.write(1, b"done %d\n" % done)
    os._exit(7)
os.execv(sys.executable, [sys.executable, "-I", "-S", "-E", __file__, str(rounds), str(done + 1)])
