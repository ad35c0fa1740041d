# SPDX-License-Identifier: MIT
"""
COUNT threads beside the main one, each of which computes in a function of its own below work(). The main thread computes in
main(). Says "ready" when all do, with their native thread ids, the main thread's first. For CPython 3.8 and later.

usage: workers.py COUNT
"""

import sys
import threading

import handshake

SCOPE = """
def spin_{0}():
    begun[{0}].release()
    x = 0
    while True:
        x = (x * 31 + {0}) & 0xFFFF
"""


def work(number):
    scope = {"begun": begun}
    exec(SCOPE.format(number), scope)
    scope["spin_%d" % number]()


def main():
    for number in range(int(sys.argv[1])):
        begun.append(threading.Lock())
        begun[number].acquire()
    threads = [handshake.start(work, number) for number in range(len(begun))]
    for lock in begun:
        lock.acquire()
    handshake.ready(threading.get_native_id(), *(thread.native_id for thread in threads))
    x = 0
    while True:
        x = (x * 31 + 1) & 0xFFFF


# So that each of many threads has its turn within a short profile.
sys.setswitchinterval(0.002)
begun = []
main()
