# SPDX-License-Identifier: MIT
"""
Busy in one library that is not CPython's: libraries.py numpy | openssl | lxml | orjson | pydantic. For native stacks through assembly
without unwind information, OpenSSL's assembly, C, and Rust. Needs those wheels.
"""

import sys

import handshake


def numpy_work():
    import numpy

    a = numpy.random.default_rng(1).random((150, 150))
    while True:
        numpy.linalg.svd(a @ a)
        yield


def openssl_work():
    import hashlib

    data = b"x" * (1 << 23)
    while True:
        hashlib.new("sha512", data).digest()
        yield


def lxml_work():
    import lxml.etree

    text = b"<r>" + b"".join(b'<e id="%d"><n>%d</n></e>' % (i, i) for i in range(2000)) + b"</r>"
    while True:
        lxml.etree.fromstring(text).xpath("count(//e[n mod 7 = 3])")
        yield


def orjson_work():
    import orjson

    value = [{"a": i, "b": str(i), "c": [i / 3.0] * 5} for i in range(3000)]
    while True:
        orjson.loads(orjson.dumps(value))
        yield


def pydantic_work():
    import pydantic

    class Item(pydantic.BaseModel):
        number: int
        words: list[str]

    adapter = pydantic.TypeAdapter(list[Item])
    values = [{"number": str(i), "words": ["a", "b"]} for i in range(3000)]
    while True:
        adapter.dump_json(adapter.validate_python(values))
        yield


work = globals()[sys.argv[1] + "_work"]()
next(work)
handshake.ready()
for _ in work:
    pass
