# SPDX-License-Identifier: MIT
"""stays.py LIBRARY: one busy thread whose stack never changes, native frames included. It has to be killed."""

import ctypes
import sys

import handshake

library = ctypes.CDLL(sys.argv[1])
handshake.ready()
library.stay()
