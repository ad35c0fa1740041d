# SPDX-License-Identifier: MIT
"""
For a live view: hot_one and hot_two take turns until a line "two" comes on standard input, then only hot_two runs. A second thread
sleeps. Functions with names that a terminal would not like are called all the time; "end" ends the program.
"""

import select
import sys
import threading
import time

import handshake

WAIT_S = 3600
stopped = threading.Event()


def sleeper():
    time.sleep(WAIT_S)


def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for number in range(200):
            number * number


def hot_one():
    spin(0.03)


def hot_two():
    spin(0.01)


def strange():
    spin(0.005)


def run():
    one = True
    while True:
        if one:
            hot_one()
        hot_two()
        odd()
        wide()
        if select.select([0], [], [], 0)[0]:
            word = sys.stdin.readline().strip()
            one = one and word != "two"
            if word in ("end", ""):
                return


def named(name):
    code = strange.__code__.replace(co_name=name)
    if hasattr(code, "co_qualname"):
        code = code.replace(co_qualname=name)
    return type(strange)(code, globals(), name)


odd = named("odd\033[31mred\nline")
wide = named("日本語e\u0301nd")
thread = threading.Thread(target=sleeper, name="sleepy", daemon=True)
thread.start()
handshake.ready()
run()
sys.exit(handshake.ENDED)
