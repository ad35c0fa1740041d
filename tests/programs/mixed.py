# SPDX-License-Identifier: MIT
"""
Python that C calls while Python has called the C, in several ways in turn. In each way outer_X() calls into C, that
calls inner_X(), and that spin(): in a stack they stand in this order, with C between outer_X and inner_X.

usage: mixed.py [WAY...]; prints "ready" and the ways that this interpreter has.
"""

import ctypes
import functools
import json
import re
import sys
import time

import handshake

SPIN_S = 0.004
clock = getattr(time, "perf_counter", time.time)


def spin(seconds=SPIN_S):
    end = clock() + seconds
    total = 0
    while clock() < end:
        for number in range(200):
            total += number
    return total


def inner_sorted(value):
    spin()
    return -value


def outer_sorted():
    sorted([1, 2], key=inner_sorted)


def inner_reduce(left, right):
    spin()
    return left + right


def outer_reduce():
    functools.reduce(inner_reduce, [1, 2, 3])


def inner_qsort(left, right):
    spin()
    return 0


COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
compare = COMPARE(inner_qsort)
libc = ctypes.CDLL(None)
libc.qsort.restype = None


def outer_qsort():
    numbers = (ctypes.c_int * 3)(3, 2, 1)
    libc.qsort(numbers, ctypes.c_size_t(3), ctypes.c_size_t(4), compare)


class Finalised(object):
    def __del__(self):
        inner_del()


def inner_del():
    spin()


def outer_del():
    kept = [Finalised(), Finalised()]
    kept.clear() if hasattr(kept, "clear") else kept.__delslice__(0, 2)


def inner_json(pairs):
    spin()
    return dict(pairs)


def outer_json():
    json.loads('{"a": {"b": 1}}', object_pairs_hook=inner_json)


def inner_generator():
    for number in range(3):
        spin()
        yield number


def outer_generator():
    sum(inner_generator())


def inner_sub(match):
    spin()
    return match.group(0)


def outer_sub():
    re.sub("[a-c]", inner_sub, "abc")


class Compared(object):
    def __init__(self, number):
        self.number = number

    def __lt__(self, other):
        inner_compare()
        return self.number < other.number


def inner_compare():
    spin()


def outer_compare():
    min(Compared(1), Compared(2), Compared(3))


class Wrapped(object):
    def __getattr__(self, name):
        return inner_getattr(name)


def inner_getattr(name):
    spin()
    return name


def outer_getattr():
    return getattr(Wrapped(), "absent")


def inner_raise(value):
    """The way out of a frame by an exception is code that compilers set aside."""
    try:
        spin(0.001)
        raise ValueError(value)
    except ValueError:
        spin(0.001)
        return value


def outer_raise():
    list(map(inner_raise, [1, 2, 3]))


def outer_nested():
    """C below C: the stack goes in and out of both three times."""
    sorted([1], key=lambda value: functools.reduce(inner_nested, [value, 1]))


def inner_nested(left, right):
    return sum(inner_generator())


ways = [name[len("outer_"):] for name in list(globals()) if name.startswith("outer_")]


def main():
    wanted = sys.argv[1:] or ways
    handshake.ready(*wanted)
    while True:
        for way in wanted:
            globals()["outer_" + way]()


main()
