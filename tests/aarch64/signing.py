# SPDX-License-Identifier: MIT
"""
Whether the return address is signed, at each instruction: what the rules say (contrib/cfi-rules), followed through the code.

paciasp and pacibsp sign, autiasp and autibsp authenticate, retaa and retab authenticate and return; ret needs an address that is
not signed; all others leave it as it is, and a branch takes that along: in the function, to its cold part, or to another function.
"""

import array
import collections
import os
import pathlib
import re
import struct
import subprocess

NAMES = ["without a rule", "not signed", "signed", "signed-b"]
NO_RULE, NOT, KEY_A, KEY_B = range(4)
SIGN = {0xD503233F: KEY_A, 0xD503237F: KEY_B}
AUTHENTICATE = {0xD50323BF: KEY_A, 0xD50323FF: KEY_B}
RETURN = {0xD65F0BFF: KEY_A, 0xD65F0FFF: KEY_B, 0xD65F03C0: NOT}

# By the uppermost byte of a branch: where its target begins, the target's sign, whether the next instruction may follow too.
BRANCHES = {byte: (0, 1 << 25, False) for byte in range(0x14, 0x18)}  # b
BRANCHES.update({byte: (5, 1 << 18, True) for byte in (0x54, 0x34, 0x35, 0xB4, 0xB5)})  # b.cond, cbz, cbnz
BRANCHES.update({byte: (5, 1 << 13, True) for byte in (0x36, 0x37, 0xB6, 0xB7)})  # tbz, tbnz

# By the uppermost byte of an instruction: hints, branches of all kinds but calls by bl, brk, udf.
SPECIAL = re.compile(rb"[\x00\xd4-\xd7\x14-\x17\x54\x34-\x37\xb4-\xb7]")


class Rules:
    """
    The states of a file's instructions, a byte each, by their number from the first one that has a rule. changes: the numbers of those
    with a new rule; lasts: of those that end a range of rules.
    """

    def __init__(self, path):
        tool = pathlib.Path(os.environ["PYSAMPLE"]).parent / "contrib/cfi-rules"
        text = subprocess.run([tool, path], stdout=subprocess.PIPE, text=True, check=True).stdout
        lines = [line.split() for line in text.splitlines()]
        fdes = [(int(words[2], 16), int(words[3], 16)) for words in lines if words[0] == "fde"]
        self.start, self.end = min(start for start, _ in fdes), max(end for _, end in fdes)
        self.lasts = {(end - self.start) // 4 - 1 for _, end in fdes}
        self.changes = []
        self.states = bytearray((self.end - self.start) // 4)
        end = 0
        for words in lines:
            if words[0] == "fde":
                end = int(words[3], 16)
                continue
            at = int(words[0], 16)
            state = NAMES.index(words[-1]) if words[-1] in NAMES else NOT
            if "=" not in words[1]:
                state = NO_RULE
            first, count = (at - self.start) // 4, (end - at) // 4
            self.states[first : first + count] = bytes([state]) * count
            self.changes.append(first)


def code(path, start, end):
    """The bytes of an ELF file from one address to another; zero where it has none."""
    data = pathlib.Path(path).read_bytes()
    [table] = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    found = bytearray(end - start)
    for at in range(table, table + size * count, size):
        kind, _, offset, address, _, filled = struct.unpack_from("<IIQQQQ", data, at)
        first, last = max(start, address), min(end, address + filled)
        if kind == 1 and first < last:
            found[first - start : last - start] = data[offset + first - address : offset + last - address]
    return bytes(found)


def ends(word):
    """br and ret of all kinds, brk, udf: the next instruction does not follow."""
    return word >> 25 == 0b1101011 and not is_call(word) or word >> 21 == 0b11010100001 or word >> 16 == 0


def is_call(word):
    """bl or blr: what stands behind one that does not return belongs to another path."""
    return word >> 26 == 0b100101 or word & 0xFFFFFC1F == 0xD63F0000


def loads_link(word):
    """ldr x30, [x…, …]: with a return address that was kept elsewhere, as in ld.so's handwritten code."""
    return word & 0xFFC0001F == 0xF940001E


class Check:
    """Follows all code of a file that has rules. wrong: what does not agree, as text; count: how much was looked at, by its kind."""

    def __init__(self, path):
        self.rules = Rules(path)
        self.wrong = []
        self.count = collections.Counter()
        raw = code(path, self.rules.start, self.rules.end)
        self.words = array.array("I", raw)
        special = [match.start() for match in SPECIAL.finditer(raw[3::4])]
        before_changes = [first - 1 for first in self.rules.changes]
        for i in sorted({*special, *before_changes}):
            if i >= 0 and self.rules.states[i] != NO_RULE:
                self._instruction(i, self.words[i], self.rules.states[i])

    def _instruction(self, i, word, state):
        kind = BRANCHES.get(word >> 24)
        if kind:
            self._branch(i, word, state, *kind)
        elif word in SIGN:
            self._expect(i, "before signing", state, NOT)
            self._next(i, SIGN[word])
        elif word in AUTHENTICATE:
            self._expect(i, "before authenticating", state, AUTHENTICATE[word])
            self._next(i, NOT)
        elif word in RETURN:
            self._expect(i, "before returning", state, RETURN[word])
        elif not ends(word) and not is_call(word) and not loads_link(word):
            self._next(i, state)

    def _branch(self, i, word, state, low, sign, goes_on):
        target = i + ((word >> low & 2 * sign - 1) ^ sign) - sign
        if 0 <= target < len(self.words) and self.rules.states[target] != NO_RULE:
            self._expect(target, "where a branch leads to", self.rules.states[target], state)
        if goes_on:
            self._next(i, state)

    def _next(self, i, state):
        if i not in self.rules.lasts:
            self._expect(i + 1, "then", self.rules.states[i + 1], state)

    def _expect(self, i, what, found, expected):
        self.count[what] += 1
        if found != expected:
            address = self.rules.start + 4 * i
            self.wrong.append("%#x: %s it is %s, and should be %s" % (address, what, NAMES[found], NAMES[expected]))
