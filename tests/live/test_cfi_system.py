# SPDX-License-Identifier: MIT
"""
Every FDE of every library of the system compiles to rows of the vocabulary, and the rows say what readelf says: for each
address at which readelf has a row, the CFA and all register columns; and no row of ours begins where readelf has none.

readelf shows an expression as "exp" or "vexp" only: there the test asks for a rule that an expression can give.
"""

import bisect
import collections
import concurrent.futures
import functools
import gc
import os
import pathlib
import re
import shutil
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
FDE = re.compile(r"([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+)$")
REGISTER = re.compile(r"r\d+ \((\w+)\)")  # "r3 (rbx)": kept in another register
VECTORS = ("xmm", "ymm", "st", "mm", "k")  # what no walk carries
LIBRARIES = ("/usr/lib", "/usr/lib64", "/usr/local/lib")

Entry = collections.namedtuple("Entry", "cie start end columns rows")


@pytest.fixture(scope="session")
def cfi_rules():
    """contrib/cfi-rules as built: $CFI_RULES, or beside the pysample of the tree."""
    candidates = [os.environ.get("CFI_RULES"), "contrib/cfi-rules", TOP / "build/contrib/cfi-rules", TOP / "contrib/cfi-rules"]
    for path in candidates:
        if path and os.access(path, os.X_OK) and pathlib.Path(path).is_file():
            return str(path)
    pytest.skip("no contrib/cfi-rules: make contrib/cfi-rules")


@functools.lru_cache(maxsize=None)
def libraries():
    """Each library once, whatever links to it; 64-bit files of this CPU only."""
    with open("/proc/self/exe", "rb") as own:
        ident = own.read(20)
    found, seen = [], set()
    for top in LIBRARIES:
        for directory, _, names in os.walk(top):
            for name in names:
                path = os.path.realpath(os.path.join(directory, name))
                if ".so" not in name or not os.path.isfile(path):
                    continue
                status = os.stat(path)
                if (status.st_dev, status.st_ino) in seen:
                    continue
                seen.add((status.st_dev, status.st_ino))
                with open(path, "rb") as file:
                    head = file.read(20)
                if head[:6] == ident[:6] and head[18:20] == ident[18:20]:
                    found.append(path)
    return sorted(found)


def lines(*command):
    """What the command printed. readelf's exit status is no sign of success: it is 1 for many a good file."""
    environment = dict(os.environ, LC_ALL="C")
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    assert process.returncode == 0 or command[0] == "readelf", command
    return process.stdout.splitlines()


def readelf_entries(path, section=".eh_frame"):
    """FDE offset → Entry, of one section; a row is (address, columns as text). A FDE without a row of its own has its CIE's."""
    cies, fdes, entry, inside = {}, {}, None, False
    for line in lines("readelf", "--debug-dump=frames-interp", "-W", path):
        if inside and line[16:17] == " " and line[8] != " " and line[0] != " " and entry.rows is not None:
            entry.rows.append((int(line[:16], 16), line[17:]))
        elif line.startswith("Contents of the "):
            inside = line.startswith("Contents of the %s section" % section)
        elif not inside or not line:
            continue
        elif line.startswith("   LOC"):
            entry = entry._replace(columns=tuple(line.split()[1:]), rows=[])
            (cies if entry.cie is None else fdes)[offset] = entry
        elif " FDE " in line:
            offset, cie, start, end = (int(word, 16) for word in FDE.match(line).groups())
            entry = fdes[offset] = Entry(cie, start, end, None, None)
        elif " CIE " in line:
            offset = int(line.split(" ", 1)[0], 16)
            entry = cies[offset] = Entry(None, 0, 0, None, None)
    for offset, entry in fdes.items():
        if not entry.rows:
            cie = cies[entry.cie]
            fdes[offset] = entry._replace(columns=cie.columns, rows=[(entry.start, cie.rows[0][1])])
    return fdes


def our_entries(*command):
    """FDE offset → [(start, end, [(pc, row text)])]: more than one piece where another FDE lies inside."""
    found = collections.defaultdict(list)
    for line in lines(*command):
        first, rest = line.split(" ", 1)
        if first == "fde":
            offset, start, end = (int(word, 16) for word in rest.split())
            rows = []
            found[offset].append((start, end, rows))
        else:
            rows.append((int(first, 16), rest))
    return found


@functools.lru_cache(maxsize=None)
def parse_row(text):
    """"cfa=rsp+16 rbp=[cfa-16] signal" → {"CFA": "rsp+16", "rbp": "[cfa-16]"}."""
    return {("CFA" if name == "cfa" else "ra" if name == "rip" else name): rule
            for name, rule in re.findall(r"(\w+)=((?:\[expr\([^)]*\)\]|expr\([^)]*\)|\S)+)", text)}


def is_expression(rule):
    return rule is not None and rule.startswith(("[", "expr"))


def cfa_agrees(said, ours):
    if said == "exp":
        return is_expression(ours) or "pc%16" in ours
    return said == (ours if re.search(r"[+-]\d+$", ours) else ours + "+0")


def register_agrees(said, ours):
    if said == "u" and ours is None:
        return True
    if said == "s":
        return ours in (None, "same")
    if said == "u":
        return ours == "?"
    if said == "exp":
        return is_expression(ours)
    if said == "vexp":
        return ours is not None
    if said[0] == "c":
        return ours is not None and ours.startswith("[cfa") and said[1:] == (ours[4:-1] or "+0")
    if said[0] == "v":
        return said[1:] == "+0" if ours is None else ours.startswith("cfa") and said[1:] == (ours[3:] or "+0")
    return said == ours


@functools.lru_cache(maxsize=None)
def row_agrees(columns, said, text):
    said, ours = tuple(REGISTER.sub(r"\1", said).split()), parse_row(text)
    assert len(said) == len(columns), (columns, said)
    if "CFA" not in ours or not cfa_agrees(said[0], ours["CFA"]):
        return False
    known = set(columns)
    return (all(register_agrees(rule, ours.get(name)) for name, rule in zip(columns[1:], said[1:])
                if not name.startswith(VECTORS)) and
            all(name in known for name in ours))


def compare_piece(entry, start, end, rows):
    """The differences in [start, end) as text."""
    addresses = [address for address, _ in entry.rows]
    if addresses == [pc for pc, _ in rows] and addresses[0] == start and all(
        row_agrees(entry.columns, said, text) for (_, said), (_, text) in zip(entry.rows, rows)
    ):
        return
    begins = set(addresses)
    for pc, text in rows:
        if pc != start and pc not in begins:
            yield "%x: readelf has no row here: %s" % (pc, text)
    starts = [pc for pc, _ in rows]
    for address, said in entry.rows:
        following = bisect.bisect_right(addresses, address)
        # Two rows at one address: the last one holds.
        if following < len(addresses) and addresses[following] == address:
            continue
        address = max(address, start)
        if address >= end or (following < len(addresses) and addresses[following] <= start):
            continue
        text = rows[bisect.bisect_right(starts, address) - 1][1]
        if not row_agrees(entry.columns, said, text):
            yield "%x: %s %s, ours %s" % (address, entry.columns, said, text)


def compare(said, ours):
    """(number of FDEs, differences)."""
    differences = []
    for offset, entry in said.items():
        if entry.start == entry.end:
            continue
        pieces = ours.pop(offset, None)
        if pieces is None:
            differences.append("FDE %x at %x..%x is missing" % (offset, entry.start, entry.end))
            continue
        for piece in pieces:
            differences += compare_piece(entry, *piece)
    differences += ["FDE %x is none of readelf's" % offset for offset in ours]
    return len(said), differences


@pytest.mark.parametrize("flag", ["-gz=none", "-gz=zlib", "-Wa,--gdwarf-cie-version=3", "-Wa,--gdwarf-cie-version=4"])
def test_rows_of_debug_frame_are_readelfs(cfi_rules, build, flag):
    if not shutil.which("readelf"):
        pytest.skip("no readelf")
    path = build("syscalls.c", "-shared", "-fPIC", "-pthread", "-fno-asynchronous-unwind-tables", flag)
    count, differences = compare(readelf_entries(path, ".debug_frame"), our_entries(cfi_rules, "-d", path))
    assert count >= 3
    assert not differences


def compare_library(cfi_rules, path):
    gc.disable()  # nothing here is cyclic, and it takes half of the time
    count, differences = compare(readelf_entries(path), our_entries(cfi_rules, path))
    return path, count, len(differences), differences[:1]


@pytest.mark.slow
def test_rows_of_all_libraries_are_readelfs(cfi_rules):
    if not shutil.which("readelf"):
        pytest.skip("no readelf")
    largest_first = sorted(libraries(), key=os.path.getsize, reverse=True)
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(functools.partial(compare_library, cfi_rules), largest_first))
    count = sum(fdes for _, fdes, _, _ in results)
    print("%d FDEs compared" % count)
    assert count > 1000
    report = ["%s: %d differences, first: %s" % (path, bad, *first) for path, _, bad, first in results if bad]
    assert not report, "\n".join(report)


def test_every_library_compiles_without_an_unsupported_rule(cfi_rules):
    total, damaged, files = collections.Counter(), [], 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        outputs = list(pool.map(lambda path: lines(cfi_rules, "-s", path), libraries()))
    for path, output in zip(libraries(), outputs):
        words = "".join(output[-1:]).split()
        counts = collections.Counter(dict(zip(words[::2], map(int, words[1::2]))))
        assert counts["bad"] == 0 and counts["cfa_undefined"] == 0, path
        damaged += [path] * counts["header_damaged"]
        files += 1
        total += counts
    print("\n".join("%-24s %d" % item for item in [("files", files), *sorted(total.items())]))
    assert total["functions"] > 1000
    assert total["cfa_register"] > 0 and total["cfa_plt"] > 0
    # A search table that a linker wrote is to be accepted; a tool may have left a wrong one in some file.
    assert len(damaged) * 100 <= files, damaged
