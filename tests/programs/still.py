# SPDX-License-Identifier: MIT
"""
A program whose stack is known frame by frame: a decorator, a method, a generator, a nested function, a lambda, a sort key
called from C, and a leaf that spins on one line. Runs on CPython 2.7 and 3.6 to 3.15.
"""

import functools

import handshake


def logged(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)

    return wrapper


def leaf():
    handshake.ready()
    x = 1
    while x: x = (x * 31 + 1) & 0xFFFF | 1


def numbers():
    leaf()
    yield 1


class Shape(object):
    def method(self):
        def nested(_):
            return sum(numbers())

        return sorted([1], key=nested)


def recurse(level):
    if level:
        return recurse(level - 1)
    return (lambda: Shape().method())()


@logged
def decorated():
    return recurse(3)


def main():
    decorated()


main()
