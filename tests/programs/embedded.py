# SPDX-License-Identifier: MIT
"""Run by a program that embeds Python, in a thread that is not the main one. Ends when standard input ends."""

import handshake


def embedded_work():
    x = 0
    while True:
        x = (x * 31 + 1) & 0xFFFF


handshake.start(handshake.end_with_input)
handshake.say("ready")
embedded_work()
