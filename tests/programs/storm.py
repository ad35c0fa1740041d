# SPDX-License-Identifier: MIT
"""storm.py LIBRARY: fork and vfork in turn, as fast as it goes; SIGUSR1 prints how many."""

import ctypes
import os
import sys

import handshake

done = 0


def storm():
    global done
    while True:
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
        library.vfork_once()
        done += 2


library = ctypes.CDLL(sys.argv[1])
handshake.on_count(lambda: done)
handshake.ready()
storm()
