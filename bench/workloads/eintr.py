# SPDX-License-Identifier: MIT
"""Each of twelve system calls, not restarted, in a Python thread and in one that only C knows; four counts a thread."""

import ctypes
import threading
import time

import shared

CALLS = 12
TIMEOUT_MS = 20

library = shared.library()
library.eintr_loop.argtypes = library.eintr_start.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]


def counts(thread):
    return shared.address(8 * (shared.COUNTS + 4 * thread))


def main():
    library.eintr_own_ids()
    for call in range(CALLS):
        thread = threading.Thread(target=library.eintr_loop, args=(call, counts(call), TIMEOUT_MS))
        thread.daemon = True
        thread.start()
        library.eintr_start(call, counts(CALLS + call), TIMEOUT_MS)
    time.sleep(0.2)
    shared.ready()
    while True:
        shared.spin(20000)
        shared.tick()


main()
