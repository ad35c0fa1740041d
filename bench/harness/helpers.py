# SPDX-License-Identifier: MIT
"""What start-up, memory and scale need beside the workloads: libraries to load, and programs that are built when asked for."""

import os
import pathlib
import subprocess

from harness.settings import BENCH, compile_c

BIG_SOURCE = BENCH.parent / "tests" / "programs" / "big_library.S"
SMALL_SOURCE = "int small_function(int n) { return n + 1; }\n"


def copies(library, count):
    """Paths of @count copies of a library, as sparse as its zeros allow."""
    folder = pathlib.Path(str(library) + ".copies")
    folder.mkdir(exist_ok=True)
    paths = [folder / ("%s-%d.so" % (library.stem, number)) for number in range(count)]
    for path in paths:
        if not path.exists():
            subprocess.run(["cp", "--sparse=always", str(library), str(path)], check=True)
    return paths


def big_libraries(settings, count):
    """Libraries of 100 MB with 5,000 functions each."""
    library = settings.scratch / "big.so"
    if not library.exists():
        compile_c(BIG_SOURCE, library, "-shared", "-nostdlib")
    return copies(library, count)


def small_libraries(settings, count):
    library = settings.scratch / "small.so"
    if not library.exists():
        source = settings.scratch / "small.c"
        source.write_text(SMALL_SOURCE, encoding="ascii")
        compile_c(source, library, "-shared", "-fPIC")
    return copies(library, count)


def peak_program(settings):
    program = settings.scratch / "peak"
    if not program.exists():
        compile_c(BENCH / "harness" / "peak.c", program)
    return str(program)


def stacks_program(settings):
    """bench/stacks beside the pysample that is measured; None if it was not built (make bench/stacks)."""
    program = pathlib.Path(settings.pysample).resolve().parent / "bench" / "stacks"
    return str(program) if os.access(program, os.X_OK) else None


def run_stacks(settings, *arguments):
    """The lines of bench/stacks as dicts; none if it was not built."""
    program = stacks_program(settings)
    if not program:
        return []
    output = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=True).stdout
    return parse_stacks(output)


def parse_stacks(output):
    keys = ("stacks", "samples", "nodes", "lost", "cpu_s", "ns_each", "resident_mb", "peak_mb")
    rows = [line.split() for line in output.splitlines()[1:]]
    return [dict(zip(keys, map(float, words)), what=words[-1]) for words in rows]
