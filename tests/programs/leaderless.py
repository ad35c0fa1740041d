# SPDX-License-Identifier: MIT
"""The main thread exits without ending the process; another thread goes on computing."""

import ctypes

import handshake


def lonely():
    x = 0
    while True:
        x = (x * 31 + 1) & 0xFFFF


handshake.start(handshake.end_with_input)
handshake.start(lonely)
handshake.ready()
ctypes.CDLL(None).pthread_exit(None)
