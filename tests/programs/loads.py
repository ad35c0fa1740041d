# SPDX-License-Identifier: MIT
"""loads.py LIBRARY: loads a library that is not used, and is busy as busy.py is."""

import ctypes
import os
import sys

ctypes.CDLL(sys.argv.pop(1), mode=os.RTLD_LOCAL | os.RTLD_DEEPBIND | os.RTLD_NOW)
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "busy.py")) as file:
    exec(compile(file.read(), "busy.py", "exec"))
