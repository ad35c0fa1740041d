# SPDX-License-Identifier: MIT
"""
closed.py dumpable|seccomp: makes itself non-dumpable, or puts itself under a filter that kills it for every system call
but the few that it makes itself; then it is busy and asleep in turn.
"""

import ctypes
import struct
import sys
import time

import handshake

PR_SET_SECCOMP, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, FILTER = 22, 4, 38, 2
LOAD_NUMBER, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, KILL_PROCESS = 0x7FFF0000, 0x80000000
# read, write, mmap, munmap, brk, rt_sigreturn, madvise, futex, exit, clock_gettime, exit_group, clock_nanosleep
ALLOWED = [0, 1, 9, 11, 12, 15, 28, 202, 60, 228, 231, 230]


def instruction(code, if_true, if_false, value):
    return struct.pack("HBBI", code, if_true, if_false, value)


def close_with_seccomp(libc):
    code = instruction(LOAD_NUMBER, 0, 0, 0)
    for number in ALLOWED:
        code += instruction(JUMP_IF_EQUAL, 0, 1, number) + instruction(RETURN, 0, 0, ALLOW)
    code += instruction(RETURN, 0, 0, KILL_PROCESS)
    text = ctypes.create_string_buffer(code, len(code))
    program = ctypes.create_string_buffer(struct.pack("HP", len(code) // 8, ctypes.addressof(text)))
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def guarded_work():
    while True:
        end = time.monotonic() + 0.01
        while time.monotonic() < end:
            pass
        time.sleep(0.003)


library = ctypes.CDLL(None, use_errno=True)
handshake.signal.signal(handshake.signal.SIGTERM, handshake._end)
if sys.argv[1] == "seccomp":
    close_with_seccomp(library)
elif library.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0):
    raise OSError(ctypes.get_errno(), "prctl")
handshake.say("ready")
guarded_work()
