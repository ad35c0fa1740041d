# SPDX-License-Identifier: MIT
"""Maps executable and libpython a second time at low addresses, executable, and is busy as busy.py is."""

import ctypes
import os

PROT_READ_EXEC, MAP_PRIVATE_FIXED_NOREPLACE = 5, 0x02 | 0x100000

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]

with open("/proc/self/maps") as file:
    paths = sorted({line.split()[-1] for line in file if "/" in line})
address = 0x10000000
for path in paths:
    if "python" not in os.path.basename(path) or not os.path.exists(path):
        continue
    descriptor = os.open(path, os.O_RDONLY)
    size = os.fstat(descriptor).st_size
    if libc.mmap(address, size, PROT_READ_EXEC, MAP_PRIVATE_FIXED_NOREPLACE, descriptor, 0) != address:
        raise OSError(ctypes.get_errno(), "mmap")
    address += (size + 0xFFFFFF) & ~0xFFFFFF
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "busy.py")) as file:
    exec(compile(file.read(), "busy.py", "exec"))
