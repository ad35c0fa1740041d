# -*- coding: utf-8 -*-
# SPDX-License-Identifier: MIT
"""
A chain of functions with strange names, in files with strange names, innermost busy. Says the names, the files and the
depth of the chain. Runs on CPython 2.7 and 3.6 to 3.15.
"""

import sys

import handshake

PY2 = sys.version_info[0] == 2
IDENTIFIERS = ["plain"] if PY2 else ["plain", u"latin_\xe9", u"plane_\u65e5\u672c", u"astral_\U00010330"]
FILES = [
    "semi;colon.py",
    "a space (in:1) brackets.py",
    "new\nline.py",
    "\"double\" and 'single'.py",
    "escape\x1b[31mred.py",
    "back\\slash.py",
    "tab\tand return\r.py",
    u"latin_\xe9.py",
    u"plane_\u65e5\u672c.py",
    u"astral_\U00010330.py",
    "<string>",
    "ends in 7",
]
NAMES = ["semi;colon", "a space", "new\nline", "\"quote'", "escape\x1b[31m", "back\\slash", "ends in 7", "brackets (x.py:3)"]
UNDECODABLE = b"bytes_\xff\xfe.py"


def call(following):
    following()


def make(name, file, following):
    """A function that calls the following one, defined under a name in a file."""
    text = u"def %s():\n    following()\n" % name
    scope = {"following": following}
    exec(compile(text.encode("utf-8") if PY2 else text, file, "exec"), scope)
    return scope[name if not PY2 else str(name)]


def rename(function, name):
    """The function under a name that is no identifier, where code objects can be replaced (3.8)."""
    code = function.__code__
    more = {"co_qualname": name} if hasattr(code, "co_qualname") else {}
    function.__code__ = code.replace(co_name=name, **more)
    return function


def busy():
    x = 0
    while True:
        x = (x * 31 + 1) & 0xFFFF


def main():
    chain = busy
    names, files = [], []
    for identifier in IDENTIFIERS:
        chain = make(identifier, "ordinary.py", chain)
        names.append(identifier)
    for file in FILES:
        native = file.encode("utf-8") if PY2 and not isinstance(file, str) else file
        chain = make("in_file", native, chain)
        files.append(file)
    chain = make("in_bytes", UNDECODABLE if PY2 else UNDECODABLE.decode("utf-8", "surrogateescape"), chain)
    if hasattr(main.__code__, "replace"):
        for name in NAMES:
            chain = rename(make("renamed", "ordinary.py", chain), name)
            names.append(name)
    depth = 3 + len(names) + len(files) + 1
    handshake.ready()
    handshake.say_json({"names": names, "files": files, "depth": depth})
    chain()


main()
