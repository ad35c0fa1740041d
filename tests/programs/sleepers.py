# SPDX-License-Identifier: MIT
"""sleepers.py LIBRARY: 16 threads, of which two run, one in Python and one in C, and the others wait each in its way."""

import ctypes
import os
import sys
import threading
import time

import handshake


def busy_python():
    x = 0
    while True:
        x = (x * 31 + 1) & 0xFFFF


def busy_native():
    library.spin(ctypes.byref(rounds))


def wait_sleep():
    while True:
        time.sleep(3600)


def wait_lock():
    lock.acquire()


def wait_event():
    event.wait()


def wait_pipe():
    os.read(pipe[0], 1)


def run(function, name):
    running[name] = library.gettid()
    function()


library = ctypes.CDLL(sys.argv[1])
library.gettid = ctypes.CDLL(None).gettid
rounds = ctypes.c_uint64()
lock = threading.Lock()
lock.acquire()
event = threading.Event()
pipe = os.pipe()
running = {}
waits = [wait_sleep, wait_lock, wait_event, wait_pipe]
for number in range(13):
    handshake.start(run, waits[number % len(waits)], number)
handshake.start(run, busy_python, "python")
handshake.start(run, busy_native, "native")
while len(running) < 15:
    time.sleep(0.001)
handshake.ready(running["python"], running["native"])
handshake.sleep_for_ever()
