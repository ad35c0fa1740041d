# SPDX-License-Identifier: MIT
"""vforks.py LIBRARY SECONDS: a thread in vfork whose child sleeps so long, beside a busy main thread."""

import ctypes
import sys
import threading
import time

import handshake

tids = []


def wait_in_vfork():
    tids.append(threading.get_native_id())
    handshake.say("vforked %d" % library.vfork_and_sleep(int(sys.argv[2])))


def busy():
    x = 0
    while True:
        x = (x * 31 + 1) & 0xFFFF


library = ctypes.CDLL(sys.argv[1])
worker = threading.Thread(target=wait_in_vfork, daemon=True)
handshake.start(busy)
worker.start()
while not tids:
    time.sleep(0.001)
handshake.ready(*tids)
busy()
