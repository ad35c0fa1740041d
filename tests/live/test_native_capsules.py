# SPDX-License-Identifier: MIT
"""A capsule with native frames gives the stack that the profile has, without the process and its files."""

import json
import shutil
import subprocess

import pytest

import runs
import targets


def recorded(target, folder):
    """The stacks of a short profile, and the capsules that were saved with it."""
    arguments = ("--native=full", "--full-paths", "-F", "50", "--save-capsules", folder)
    stacks = runs.record(target, 1, *arguments).stacks()
    files = sorted(folder.iterdir())
    assert len(files) > 10
    return set(stacks), files


def replayed(file):
    """(Frame, …) as pysample replay prints them, and the last line."""
    run = runs.pysample("replay", file).ok()
    *frames, end = run.out.splitlines()
    frames = [frame for frame in frames if frame != "holds the GIL"]
    return tuple(runs.parse_frame(frame.removesuffix(" entry").removesuffix(" guessed")) for frame in frames), end


def check(target, folder):
    stacks, files = recorded(target, folder)
    for file in files:
        frames, end = replayed(file)
        assert frames in stacks, (file, frames)
        assert frames[0].name == "_start" or end != "complete" or len(frames) > 3
    return files


def test_an_interpreter(every_python, tmp_path):
    with targets.python(every_python, "still.py") as target:
        for file in check(target, tmp_path)[:3]:
            assert {"python", "code"} <= set(json.loads(file.read_text()))


def test_code_without_unwind_information(build, tmp_path):
    """The way out of an assembly loop is read from its code: a capsule has as much of it as was needed."""
    with targets.command(build("kernel.c", "-fomit-frame-pointer")) as target:
        files = check(target, tmp_path)
    ends = [replayed(file) for file in files]
    assert all(end == "complete" for _, end in ends)
    assert sum([frame.name for frame in frames][-2:] == ["main", "kernel"] for frames, _ in ends) > 10


def test_a_process_without_python(tmp_path):
    if not shutil.which("g++"):
        pytest.skip("no g++")
    program = tmp_path / "throws"
    subprocess.run(["g++", "-O2", "-pthread", "-o", str(program), str(targets.PROGRAMS / "throws.cc")], check=True)
    folder = tmp_path / "capsules"
    folder.mkdir()
    with targets.command(str(program)) as target:
        for file in check(target, folder)[:3]:
            assert "python" not in json.loads(file.read_text())
