# SPDX-License-Identifier: MIT
"""hashers.py COUNT: so many threads that compute in C without the GIL; says their native ids."""

import hashlib
import sys
import threading
import time

import handshake

BLOCK = b"x" * (8 << 20)
tids = []


def compute():
    tids.append(threading.get_native_id())
    while True:
        hashlib.sha256(BLOCK).digest()


for _ in range(int(sys.argv[1])):
    handshake.start(compute)
while len(tids) < int(sys.argv[1]):
    time.sleep(0.001)
handshake.ready(*tids)
handshake.sleep_for_ever()
