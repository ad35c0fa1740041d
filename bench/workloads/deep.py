# SPDX-License-Identifier: MIT
"""deep.py FRAMES: recursion that deep, with the work at the bottom."""

import sys

import shared

FRAMES = int(sys.argv[1])


def bottom():
    return shared.spin(500)


def descend(depth):
    if depth == 1:
        for _ in range(20):
            bottom()
        return 1
    return descend(depth - 1) + 1


def main():
    sys.setrecursionlimit(FRAMES + 1000)
    shared.ready()
    while True:
        descend(FRAMES)
        shared.tick()


main()
