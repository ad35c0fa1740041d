# SPDX-License-Identifier: MIT
"""
unloads.py LIBRARY: loads it (spins.c), is busy in it, unloads it, and the same again; then it is busy without it. While it is not
there a thread comes and goes: with threads, mappings change.
"""

import _ctypes
import ctypes
import sys
import threading
import time

import handshake

handshake.ready()
for _ in range(10):
    library = ctypes.CDLL(sys.argv[1])
    library.spin_for.argtypes = [ctypes.c_double]
    library.spin_for(0.1)
    _ctypes.dlclose(library._handle)
    thread = threading.Thread(target=time.sleep, args=(0.1,))
    thread.start()
    thread.join()
handshake.say("unloaded")
while True:
    pass
