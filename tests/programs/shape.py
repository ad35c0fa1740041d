# SPDX-License-Identifier: MIT
"""
A program of known shape: three call paths of more than 20 frames that take 70, 20 and 10 % of the time by the program's
own clock. The first round runs under sys.setprofile and tells the test every (caller, its line, callee) there is.
Runs on CPython 2.7 and 3.6 to 3.15.
"""

import dis
import functools
import os
import sys
import time

import handshake

clock = getattr(time, "perf_counter", time.time)
spent = {"alpha": 0.0, "beta": 0.0, "gamma": 0.0}
edges = set()
codes = {}
STRANGE = u"gr\xf6\xdfe"  # the name of a function and of its file; 2.7 has it in the file's name only


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def file_of(code):
    return os.path.basename(code.co_filename)


def note(frame, event, argument):
    """A profile function: remembers the whole chain of callers of every function that is called."""
    while frame:
        code, caller = frame.f_code, frame.f_back
        codes[code] = None
        if caller:
            edges.add((name_of(caller.f_code), file_of(caller.f_code), caller.f_lineno, name_of(code)))
        frame = caller


def report():
    lines = []
    for code in codes:
        known = {line for _, line in dis.findlinestarts(code) if line} | {code.co_firstlineno}
        lines.append([name_of(code), file_of(code), sorted(known)])
    handshake.say_json({"edges": sorted(edges), "lines": lines})


def logged(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        result = function(*arguments)
        return result

    return wrapper


def spin_alpha(seconds):
    begin = clock()
    end = begin + seconds
    while clock() < end:
        x = 1
        for i in range(20):
            x = x * 31 + i
    spent["alpha"] += clock() - begin


def alpha_down(seconds, level):
    if level:
        return alpha_down(seconds, level - 1)
    return spin_alpha(seconds)


class Alpha(object):
    def method(self, seconds):
        return alpha_down(seconds, 14)


@logged
def alpha(seconds):
    return Alpha().method(seconds)


def spin_beta(seconds):
    begin = clock()
    end = begin + seconds
    while clock() < end:
        y = [i
             for i
             in range(5)]
        y.append(len(
            y))
    spent["beta"] += clock() - begin


def beta_down(seconds, level):
    return spin_beta(seconds) if not level else (
        beta_down(
            seconds,
            level - 1))


def beta_parts(seconds):
    for part in range(2):
        yield beta_down(seconds / 2, 14)


def beta(seconds):
    done = 0
    for part in beta_parts(seconds):
        done += 1
    return done


def spin_gamma(seconds):
    begin = clock()
    end = begin + seconds
    while clock() < end:
        z = {}
        for i in range(10):
            z[i] = i
    spent["gamma"] += clock() - begin


def gamma_down(seconds, level):
    if level:
        return gamma_down(seconds, level - 1)
    return spin_gamma(seconds)


def load_strange():
    """The function with the non-ASCII name, from a file whose name is the same word."""
    directory = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(directory, "shape_strange.py"), "rb") as file:
        text = file.read()
    name = STRANGE + u".py"
    if sys.version_info[0] == 2:
        text = text.replace(STRANGE.encode("utf-8"), b"groesse")
        name = name.encode("utf-8")
    scope = {"gamma_down": gamma_down}
    exec(compile(text, os.path.join(directory, name), "exec"), scope)
    return scope["groesse" if sys.version_info[0] == 2 else STRANGE]


def gamma(seconds):
    def nested(part):
        return strange(part)

    return nested(seconds)


def run():
    sys.setprofile(note)
    first = True
    while True:
        alpha(0.035)
        beta(0.010)
        gamma(0.005)
        if first:
            first = False
            sys.setprofile(None)
            handshake.on_count(lambda: spent)
            handshake.ready()
            report()


def main():
    run()


strange = load_strange()
main()
