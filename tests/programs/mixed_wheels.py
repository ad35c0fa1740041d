# SPDX-License-Identifier: MIT
"""
mixed.py with numpy and greenlet, which are not part of Python: outer_X() calls into C, that calls inner_X(), and that spin().

usage: mixed_wheels.py FOLDER [WAY...]; FOLDER has the two packages. Prints "ready" and the ways.
"""

import sys
import time

sys.path.insert(0, sys.argv[1])

import greenlet
import numpy

import handshake

SPIN_S = 0.004
clock = getattr(time, "perf_counter", time.time)


def spin():
    end = clock() + SPIN_S
    total = 0
    while clock() < end:
        for number in range(200):
            total += number
    return total


def inner_vectorize(value):
    spin()
    return value + 1


def outer_vectorize():
    numpy.vectorize(inner_vectorize, otypes=[float])([1.0, 2.0, 3.0])


def inner_ufunc(left, right):
    spin()
    return left


def outer_ufunc():
    numpy.frompyfunc(inner_ufunc, 2, 1).reduce(numpy.array([1, 2, 3], dtype=object))


def inner_apply(row):
    spin()
    return row.sum()


def outer_apply():
    numpy.fromiter((inner_apply(row) for row in numpy.ones((2, 2))), float)


def inner_switch(parent):
    """In a greenlet of its own: whoever started it is not among its callers."""
    while True:
        spin()
        parent.switch()


switched = greenlet.greenlet(inner_switch)


def outer_switch():
    """The greenlet goes on where it was, then this one does."""
    switched.switch(greenlet.getcurrent())
    spin()


def inner_sorted(value):
    """C of the greenlet's own between two of its frames, and a switch away from below it."""
    spin()
    greenlet.getcurrent().parent.switch()
    return value


def child():
    while True:
        sorted([3, 1, 2], key=inner_sorted)


below = greenlet.greenlet(child)


def outer_below():
    below.switch()
    spin()


ways = [name[len("outer_") :] for name in list(globals()) if name.startswith("outer_")]


def main():
    wanted = sys.argv[2:] or ways
    handshake.ready(*wanted)
    while True:
        for way in wanted:
            globals()["outer_" + way]()


main()
