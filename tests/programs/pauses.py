# SPDX-License-Identifier: MIT
"""
Stops in many places (see below), says at each what its own stack is, and waits there until it is told to go on.
pauses_3.py adds what 2.7 cannot parse. Runs on CPython 2.7 and 3.6 to 3.15.
"""

import functools
import os
import sys
import threading

import handshake


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def pause(*ignored, **also_ignored):
    """Says the stack of its caller, outermost first, and waits for a line on standard input."""
    stack = []
    frame = sys._getframe(1)
    while frame:
        stack.append([name_of(frame.f_code), frame.f_code.co_filename, frame.f_lineno])
        frame = frame.f_back
    handshake.say_json(stack[::-1])
    os.read(0, 1)


# One after the other: how Python calls Python, with and without C in between


def plain():
    def a():
        b()

    def b():
        c()

    def c():
        pause()

    a()


def through_sorted():
    def key(value):
        return inner(value)

    def inner(value):
        if value == 2:
            pause()
        return value

    sorted([1, 2], key=key)


def through_nested_c():
    list(map(lambda x: sorted([x], key=lambda y: max([y], key=lambda z: pause() or 0)), [1]))


def through_partial():
    functools.partial(functools.reduce, lambda x, y: pause(), [1, 2])()


def through_construction():
    class Base(object):
        def __new__(cls, value):
            self = object.__new__(cls)
            if value == 1:
                pause()
            return self

    class Derived(Base):
        def __init__(self, value):
            if value == 2:
                pause()

    Derived(1)
    Derived(2)


def through_slots():
    class Odd(object):
        def __getattr__(self, name):
            pause()

        def __call__(self):
            pause()

        def __add__(self, other):
            pause()

        def __len__(self):
            pause()
            return 0

        def __iter__(self):
            pause()
            return iter(())

        @property
        def seen(self):
            return pause()

    odd = Odd()
    odd.hidden
    odd()
    odd + 1
    len(odd)
    list(odd)
    odd.seen


def through_metaclass():
    class Meta(type):
        def __new__(cls, name, bases, scope):
            pause()
            return type.__new__(cls, name, bases, scope)

    Meta("Made", (object,), {})


def through_class_body():
    class Body(object):
        pause()


def through_generators():
    def inner():
        pause()
        yield 1

    def outer():
        for value in inner():
            yield value

    list(outer())
    sum(x or 0 for x in (pause() for _ in range(1)))


def through_comprehensions():
    [[pause() for _ in range(1)] for _ in range(1)]
    {pause(): pause() for _ in range(1)}


def through_decorators():
    def twice(function):
        @functools.wraps(function)
        def wrapper(*arguments):
            function(*arguments)
            return function(*arguments)

        return wrapper

    @twice
    @twice
    def decorated(value):
        pause()

    decorated(1)


def through_with():
    class Manager(object):
        def __enter__(self):
            pause()

        def __exit__(self, *error):
            pause()

    with Manager():
        pause()


def through_exceptions():
    def fail():
        raise ValueError

    try:
        fail()
    except ValueError:
        pause()
    finally:
        pause()


def through_text():
    exec("\n\npause()\n", {"pause": pause})
    eval("(\n1,\npause())", {"pause": pause})


def through_import():
    sys.dont_write_bytecode = True
    import paused_import  # noqa: F401


def through_recursion():
    def down(level):
        if level:
            down(level - 1)
        else:
            pause()

    down(150)


def through_profile_function():
    def on_event(frame, event, argument):
        if event == "call" and frame.f_code.co_name == "watched":
            sys.setprofile(None)
            pause()

    def watched():
        pass

    sys.setprofile(on_event)
    watched()


def through_deletion():
    class Fleeting(object):
        def __del__(self):
            pause()

    Fleeting()


# Lines: long expressions, backward jumps, gaps


def lines_of_calls():
    pause(1,
          2)
    pause(
        pause(
            1),
        pause(),
        key=pause(
        ))
    value = [
        1,
        pause(),
        2,
        {
            "a": 1,
            "b": pause(),
        }
    ] + [
        pause()
    ]
    return (value
            and pause()
            or pause(
                3))


def lines_of_conditions():
    value = (
        1
        if not pause() else
        pause()
    )
    while (value <
           2 and
           not pause()):
        value += 1
        if value == 2:
            continue
        pause()
    for value in (
        pause(),
        2
    ):
        pause()
    else:
        pause()


def lines_of_text():
    text = """
    a string of
    many lines
    """; pause(); text = text.replace(
        "a", str(
            pause()))
    return text


def lines_backward():
    return pause(*(
        [pause()] +
        [1, 2,
         3]), **dict(
             a=1)) or \
        pause()


def lines_generated():
    """Gaps of more than 127, 255 and 65,535 lines, forward and back, and a line with very much code."""
    much = " + ".join(["one"] * 400)
    parts = [
        "def generated(one):",
        "    pause()",
        "\n" * 126 + "    pause()",
        "\n" * 254 + "    pause()",
        "\n" * 300 + "    x = (one,",
        "\n" * 600 + "        pause(),",
        "        one)",
        "    x = %s; pause(); x = %s; pause()" % (much, much),
        "\n" * 70000 + "    for i in range(2):",
        "\n" * 400 + "        pause()",
        "    pause()",
    ]
    scope = {"pause": pause}
    exec(compile("\n".join(parts), "generated.py", "exec"), scope)
    scope["generated"](1)


def lines_of_lambda():
    def call(*functions):
        for function in functions:
            function()

    call(lambda: pause(),
         lambda:
         pause(),
         lambda: (
             1,
             pause(
             )))


def in_a_thread():
    worker = threading.Thread(target=plain)
    worker.start()
    worker.join()


STATIONS = [
    plain, through_sorted, through_nested_c, through_partial, through_construction, through_slots, through_metaclass,
    through_class_body, through_generators, through_comprehensions, through_decorators, through_with, through_exceptions,
    through_text, through_import, through_recursion, through_profile_function, through_deletion, lines_of_calls,
    lines_of_conditions, lines_of_text, lines_backward, lines_generated, lines_of_lambda, in_a_thread,
]


def main():
    stations = list(STATIONS)
    if sys.version_info[0] > 2:
        import pauses_3

        stations += pauses_3.stations(pause)
    handshake.ready()
    for station in stations:
        station()
    handshake.say_json(None)
    os.read(0, 1)
    sys.exit(handshake.ENDED)


if __name__ == "__main__":
    sys.modules["pauses"] = sys.modules["__main__"]
    main()
