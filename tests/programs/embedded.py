# SPDX-License-Identifier: MIT
"""Run by a program that embeds Python, in a thread that is not the main one. Ends when standard input ends."""

import time

import handshake


def embedded_work():
    x = 0
    for i in range(20000):
        x = (x * 31 + i) & 0xFFFF
    return x


def embedded_loop():
    while True:
        embedded_work()
        time.sleep(0.001)  # another interpreter may not get the GIL in any other way


handshake.start(handshake.end_with_input)
handshake.say("ready")
embedded_loop()
