# SPDX-License-Identifier: MIT
"""What one run was asked for, and where its scratch files and built helpers are."""

import dataclasses
import os
import pathlib
import shutil
import subprocess

BENCH = pathlib.Path(__file__).resolve().parents[1]
PEERS = pathlib.Path(os.environ.get("PEERS", os.path.expanduser("~/.cache/pysample-peers")))


@dataclasses.dataclass
class Settings:
    """Kinds read it; only bench/run makes it."""

    pysample: str
    scratch: pathlib.Path  # also seen under this path in the peers' root folder
    profilers: list[str] | None = None  # None: those that a kind wants
    repeats: int = 3
    window_s: float = 0.8
    quick: bool = False
    workloads: pathlib.Path = BENCH / "workloads"
    library: str = ""
    floor: str = ""

    def chosen(self, wanted, others=()):
        """The profilers of a kind that are to be run: those it wants, or of these and the others those that were asked for."""
        if self.profilers is None:
            return list(wanted)
        return [name for name in dict.fromkeys((*wanted, *others)) if name in self.profilers]


def scratch_root():
    """A folder that the interpreters in the peers' root folder see too, if there is one."""
    shared = PEERS / "tmp"
    return shared if shared.is_dir() and os.access(shared, os.W_OK) else None


def compile_c(source, output, *flags):
    """Compiles one C file with gcc; its messages go to the user."""
    command = [os.environ.get("CC", "gcc"), "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", *flags]
    subprocess.run([*command, str(source), "-o", str(output)], check=True)
    return str(output)


def build(settings):
    """Copies the workloads to the scratch folder and builds the C helpers there."""
    settings.workloads = settings.scratch / "workloads"
    shutil.copytree(BENCH / "workloads", settings.workloads)
    flags = ("-shared", "-fPIC", "-pthread", "-fno-omit-frame-pointer")
    settings.library = compile_c(settings.workloads / "bench.c", settings.scratch / "libbench.so", *flags)
    settings.floor = compile_c(BENCH / "floor.c", settings.scratch / "floor")
