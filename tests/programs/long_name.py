# SPDX-License-Identifier: MIT
"""long_name.py LENGTH: busy in a function whose name has so many characters."""

import sys

import handshake

name = "n" * int(sys.argv[1])
exec("def %s():\n    x = 0\n    while True:\n        x = (x * 31 + 1) & 0xFFFF\n" % name)
handshake.ready()
globals()[name]()
