# SPDX-License-Identifier: MIT
"""Eight phases of native work and of callbacks into Python; how long each took so far is shared, as truth."""

import ctypes
import functools
import json
import re
import time
import zlib

import shared

COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
NUMBERS = ctypes.c_int * 400

library = shared.library()
library.c_outer.argtypes, library.c_outer.restype = [ctypes.c_uint64], ctypes.c_uint64
clock = getattr(time, "perf_counter", time.time)

DATA = bytes(bytearray((i * 7919) & 0xFF for i in range(60000)))
OBJECTS = [{"id": i, "name": "n%d" % i, "values": [i, i * 2, {"x": i}]} for i in range(600)]
TEXT = ("a" * 24 + "b") * 1800


def py_compare(left, right):
    return (left[0] > right[0]) - (left[0] < right[0])


def py_callback(number):
    return shared.spin(400) ^ number


def py_key(number):
    return shared.spin(12) ^ number


def py_reduce(left, right):
    return shared.spin(12) ^ left ^ right


compare, callback = COMPARE(py_compare), CALLBACK(py_callback)


def phase_spin():
    library.c_outer(9000000)


def phase_zlib():
    zlib.compress(DATA * 6, 6)


def phase_json():
    for _ in range(5):
        json.loads(json.dumps(OBJECTS))


def phase_re():
    for _ in re.finditer("a*b", TEXT):
        pass


def phase_qsort():
    numbers = NUMBERS(*[(i * 7919) % 1009 for i in range(400)])
    library.c_qsort(numbers, 400, compare)


def phase_nest():
    library.c_nest(callback, 400)


def phase_sorted():
    sorted(range(12000), key=py_key)


def phase_reduce():
    functools.reduce(py_reduce, range(12000))


PHASES = [phase_spin, phase_zlib, phase_json, phase_re, phase_qsort, phase_nest, phase_sorted, phase_reduce]


def main():
    taken = [0.0] * len(PHASES)
    shared.ready()
    while True:
        for number, phase in enumerate(PHASES):
            begun = clock()
            phase()
            taken[number] += clock() - begun
            shared.put(shared.PHASES + number, int(taken[number] * 1e9))
            shared.tick()


main()
