# SPDX-License-Identifier: MIT
"""contrib/lint-tree finds a breach of each of its rules, and nothing in a file that keeps them."""
import os
import subprocess
import sys

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEAD = "/* SPDX-License-Identifier: MIT */\n/*\n * A file for a test.\n */\n"

GOOD = HEAD + """#include <stdio.h>

#include "arch/arch.h"
#include "base/error.h"
#include "target/maps.h"

/* ptrace( and 3.11 may be named in a comment. */
struct map *map_create(void);
void map_destroy(struct map *map);
"""

# (path, code behind the head comment, line of the breach, a part of the rule)
BREACHES = [
    ("src/image/a.c", "x\n" * 600, 604, "600 lines"),
    ("src/target/a.c", '#include "image/image.h"\n', 5, "later in the data flow"),
    ("src/unwind/a.c", '#include "arch/decode.h"\n', 5, "only arch/arch.h"),
    ("src/merge/a.c", '#include "python/layout/rows.h"\n', 5, "python/layout/ is for python/ only"),
    ("src/base/a.c", '#include "odd/a.h"\n', 5, "folder unknown"),
    ("src/python/a.c", "\nint a = EM_X86_64;\n", 6, "CPU names"),
    ("src/python/a.c", "#ifdef __x86_64__\n", 5, "CPU names"),
    ("src/target/stop.c", "ptrace(PTRACE_SEIZE);\n", 5, "target/ptrace.c"),
    ("src/python/a.c", "process_vm_readv(1);\n", 5, "target/memory"),
    ("src/unwind/a.c", "#include <gelf.h>\n", 5, "libelf"),
    ("src/target/a.c", "#include <jansson.h>\n", 5, "jansson"),
    ("src/python/a.c", "if (v >= PY_VERSION(3, 11, 0))\n", 5, "version number"),
    ("src/python/a.c", "if (PY_MINOR(v) < 11)\n", 5, "version number"),
    ("src/python/a.c", 'find("libpython3.11.so");\n', 5, "version number"),
    ("src/python/a.c", "if (hex > 0x030b0000)\n", 5, "version number"),
    ("src/write/a.c", 'fprintf(stderr, "x");\n', 5, "print or log"),
    ("src/session.c", "process_vm_writev(1);\n", 5, "write to the target"),
    ("src/target/ptrace.c", "ptrace(PTRACE_POKEDATA);\n", 5, "write to the target"),
    ("src/target/ptrace.c", "x = PTRACE_O_EXITKILL;\n", 5, "kill the target"),
    ("src/session.c", "#include <libunwind-ptrace.h>\n", 5, "libunwind only in"),
    ("src/session.c", "strcpy(a, b);\n", 5, "unbounded"),
    ("src/base/a.h", "struct map *map_create(void);\n", 5, "map_create without map_destroy"),
    ("src/base/a.h", "int a; \n", 5, "space at the end"),
    ("src/base/a.h", "int a;", 5, "no newline"),
    ("docs/a.md", "in /home/me/x\n", 5, "a path of one machine"),
]


def lint(folder, path, text):
    file = folder / path
    file.parent.mkdir(parents=True)
    file.write_text(text)
    run = subprocess.run([sys.executable, f"{TOP}/contrib/lint-tree", str(folder)], stdout=subprocess.PIPE, text=True)
    return run.returncode, run.stdout.splitlines()


def test_a_file_that_keeps_the_rules(tmp_path):
    assert lint(tmp_path, "src/snapshot/a.h", GOOD) == (0, [])


@pytest.mark.parametrize("path, code, line, rule", BREACHES, ids=lambda value: None if isinstance(value, int) else str(value)[:30])
def test_a_breach(tmp_path, path, code, line, rule):
    status, found = lint(tmp_path, path, HEAD + code)
    assert status == 1
    assert len(found) == 1
    assert found[0].startswith(f"{path}:{line}: ")
    assert rule in found[0]


@pytest.mark.parametrize("text, line", [("int a;\n", 1), ("/* SPDX-License-Identifier: MIT */\nint a;\n", 1),
                                        ("/* SPDX-License-Identifier: MIT */\n/* a */\n", 2)])
def test_a_head_without_a_sentence(tmp_path, text, line):
    status, found = lint(tmp_path, "src/base/a.h", text)
    assert status == 1
    assert [breach.rsplit(":", 1)[0] for breach in found] == [f"src/base/a.h:{line}"]
