# SPDX-License-Identifier: MIT
"""Facts of the machine and of the pysample that was measured, for the head of the report."""

import datetime
import os
import platform
import re
import subprocess


def _read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _output(*command, cwd=None):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd).stdout.strip()
    except OSError:
        return ""


def _cpu_model():
    found = re.search(r"^model name\s*:\s*(.*)$", _read("/proc/cpuinfo"), re.M)
    return found.group(1) if found else platform.machine()


def _virtualisation():
    found = [_output("systemd-detect-virt", kind) for kind in ("--vm", "--container")]
    named = [name for name in found if name not in ("", "none")]
    if named:
        return ", ".join(named)
    return "a hypervisor" if re.search(r"^flags\s*:.*\bhypervisor\b", _read("/proc/cpuinfo"), re.M) else "none seen"


def facts(pysample):
    """Name → value, both texts, in the order of the report."""
    folder = os.path.dirname(os.path.abspath(pysample))
    return {
        "CPU": _cpu_model(),
        "cores": str(len(os.sched_getaffinity(0))),
        "virtualisation": _virtualisation(),
        "kernel": platform.release(),
        "C library": " ".join(platform.libc_ver()),
        "load before": " ".join("%.2f" % load for load in os.getloadavg()),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "pysample": _output(pysample, "--version").split("\n")[0],
        "commit": _output("git", "describe", "--always", "--dirty", cwd=folder) or "not known",
    }
