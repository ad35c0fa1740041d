# SPDX-License-Identifier: MIT
"""Two chains of calls, a1 to a15 and b1 to b15, in turn for ever."""

import handshake

DEPTH = 15


def define(letter):
    for number in range(1, DEPTH):
        exec("def %s%d():\n    %s%d()\n" % (letter, number, letter, number + 1), globals())


def work():
    x = 0
    for i in range(60):
        x = (x * 31 + i) & 0xFFFF


def a15():
    work()


def b15():
    work()


def run():
    while True:
        a1()  # noqa: F821
        b1()  # noqa: F821


define("a")
define("b")
handshake.ready()
run()
