# SPDX-License-Identifier: MIT
"""A bare ptrace stop, to show that a test would notice one, and another tracer for targets that have one."""

import ctypes
import os

SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
WALL = 0x40000000

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, tid):
    if libc.ptrace(request, tid, None, None) < 0:
        raise OSError(ctypes.get_errno(), "ptrace %#x of %d" % (request, tid))


def stop_once(tid):
    """Stops a thread as a careless profiler does, and lets it go."""
    ptrace(SEIZE, tid)
    ptrace(INTERRUPT, tid)
    os.waitpid(tid, WALL)
    ptrace(DETACH, tid)
