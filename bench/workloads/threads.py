# SPDX-License-Identifier: MIT
"""threads.py ALL BUSY: that many threads, that many of them busy; the others wait in a queue, a sleep, a socket or a lock."""

import socket
import sys
import threading
import time

import shared

try:
    import queue
except ImportError:
    import Queue as queue

ALL, BUSY = int(sys.argv[1]), int(sys.argv[2])
kept = []


def busy():
    while True:
        for _ in range(10):
            shared.spin(2000)
        shared.tick()


def in_queue():
    queue.Queue().get()


def in_sleep():
    while True:
        time.sleep(30)


def in_socket():
    kept.append(socket.socketpair())
    kept[-1][0].recv(1)


def in_lock():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def nested(function, depth=8):
    if depth:
        return nested(function, depth - 1)
    return function()


def start(*arguments):
    thread = threading.Thread(target=nested, args=arguments)
    thread.daemon = True
    thread.start()


def main():
    threading.stack_size(256 << 10)
    waits = [in_queue, in_sleep, in_socket, in_lock]
    for number in range(ALL - BUSY):
        start(waits[number % len(waits)])
    for _ in range(BUSY - 1):
        start(busy)
    time.sleep(0.2)
    shared.ready()
    busy()


main()
