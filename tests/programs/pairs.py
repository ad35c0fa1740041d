# SPDX-License-Identifier: MIT
"""hot_a calls leaf_a, hot_b calls leaf_b, in turn for ever."""

import handshake


def leaf_a():
    x = 0
    for i in range(30):
        x = x * 31 + i


def leaf_b():
    x = 0
    for i in range(30):
        x = x * 31 + i


def hot_a():
    for _ in range(10):
        leaf_a()


def hot_b():
    for _ in range(10):
        leaf_b()


def run():
    while True:
        hot_a()
        hot_b()


handshake.ready()
run()
