# SPDX-License-Identifier: MIT
"""The outputs of the profilers as one thing: [(frames, count)], frames outermost first."""

import dataclasses
import glob
import json
import os
import re
import subprocess

from harness.settings import PEERS

# Frames that stand for a process, a thread or an interpreter.
HEADER = re.compile(r"(process \d+|thread \(0x|P\d+$|T[0-9a-f]*:?[0-9a-f]+$|I\d*:$|tid:)")


@dataclasses.dataclass(frozen=True)
class Frame:
    name: str
    place: str = ""  # file, module or library

    @property
    def is_native(self):
        if re.search(r"\.py(:\d+)?$", self.place):
            return False
        return bool(
            self.name.startswith("0x")
            or self.place.startswith("native@")
            or re.search(r"\.so\b|\.(c|h|S|cpp)(:\d+)?$|python3\.\d+$|\[unknown\]$", self.place)
        )


def lines(path, frame):
    """The lines "frame;frame;… COUNT" of a file, each frame made by frame(text)."""
    found = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            stack, _, count = line.rstrip("\n").rpartition(" ")
            if stack and not line.startswith("#"):
                texts = [text for text in stack.split(";") if not HEADER.match(text)]
                found.append(([frame(text) for text in texts], int(count)))
    return found


def bracketed_frame(text):
    """name (file:line)"""
    name, bracket, place = text.rpartition(" (")
    return Frame(name, place.rstrip(")")) if bracket else Frame(text)


def colon_frame(text):
    """file:name:line"""
    parts = text.rsplit(":", 2)
    return Frame(parts[1], parts[0]) if len(parts) == 3 else Frame(text)


def named(path):
    return lines(path, bracketed_frame)


def tachyon(path):
    """One file a process."""
    paths = [path, *glob.glob(path + ".*"), *glob.glob(os.path.dirname(path) + "/collapsed*")]
    found = [lines(each, colon_frame) for each in paths if os.path.exists(each) and not each.endswith(".log")]
    return [stack for stacks in found for stack in stacks]


def austin(path):
    """Of a line, the count is a time: each is one sample."""
    text = path + ".txt"
    subprocess.run([f"{PEERS}/venv/bin/mojo2austin", path, text], capture_output=True, check=False)
    return [(frames, 1) for frames, _ in lines(text, colon_frame)]


def profile(path):
    """pysample's JSON: docs/formats.md."""
    with open(path, encoding="utf-8", errors="replace") as file:
        document = json.load(file)
    return [(_outermost_first(document, sample["stack"]), sample["count"]) for sample in document["samples"]]


def _outermost_first(document, stack):
    found = []
    while stack is not None:
        stack, frame = document["stacks"][stack]
        function, line = document["frames"][frame]
        found.append(_json_frame(document["functions"][function], line))
    return found[::-1]


def _json_frame(function, line):
    place = function["file"] or ""
    return Frame(function["name"], "%s:%d" % (place, line) if line else place)
