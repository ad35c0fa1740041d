# SPDX-License-Identifier: MIT
"""stacks.py FRAMES: a stack of that many frames which is another one at nearly every look; Python 2.7 to 3.15.

A hundred functions or so call each other at random: the innermost part is left and gone down again by other ways, endlessly.
"""

import sys

import shared

FRAMES = int(sys.argv[1])
SOURCE = """
def way_{0:03d}(depth):
    if depth == 1:
        return spin(200)
    for turn in range(2):
        ways[choose() & 127](depth - 1)
"""


def main():
    sys.setrecursionlimit(FRAMES + 1000)
    ways = []
    names = {"ways": ways, "spin": shared.spin, "choose": chooser()}
    exec(compile("".join(SOURCE.format(number) for number in range(128)), "ways.py", "exec"), names)
    ways.extend(names["way_%03d" % number] for number in range(128))
    shared.ready()
    while True:
        ways[0](FRAMES)


def chooser():
    state = [1]

    def choose():
        state[0] = (state[0] * 1103515245 + 12345) & 0x7FFFFFFF
        return state[0] >> 16

    return choose


main()
