# SPDX-License-Identifier: MIT
"""`pysample -- program arguments` runs a program as it would run without us, and profiles it from the start."""

import json
import os
import shutil
import signal
import subprocess

import pytest

import runs
import targets


def launch(tmp_path, python, program, *arguments, options=(), **rest):
    """The finished process and the collapsed stacks of a program that was launched with -o."""
    profile = tmp_path / "profile.collapsed"
    command = [runs.program(), "-o", profile, *options, "--", *python.command(targets.PROGRAMS / program, *arguments)]
    done = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=targets.environment(),
        timeout=60,
        **rest,
    )
    return done, runs.parse_collapsed(profile.read_text()) if profile.exists() else None


def test_the_program_has_its_own_streams(usual_python, tmp_path):
    """What is on standard input arrives, what it prints arrives, and nothing of ours is between it on standard output."""
    done, stacks = launch(tmp_path, usual_python, "launched.py", "echo", input=b"some\0bytes\n")
    assert done.stdout == b"some\0bytes\n"
    assert b"to standard error\n" in done.stderr
    assert done.returncode == 0
    assert stacks


@pytest.mark.parametrize("code", [0, 1, 3, 77, 255])
def test_the_exit_code_is_handed_on(usual_python, tmp_path, code):
    """The exit code of pysample is the program's."""
    done, _ = launch(tmp_path, usual_python, "launched.py", "exit", code)
    assert done.returncode == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV])
def test_death_by_signal_is_handed_on_as_a_shell_does(usual_python, tmp_path, number):
    """A program that dies of signal N makes the exit code 128 + N; what was recorded is written."""
    done, stacks = launch(tmp_path, usual_python, "launched.py", "die", int(number))
    assert done.returncode == 128 + number
    assert "busy_before_death" in runs.names(stacks)


def test_the_program_is_profiled_from_its_first_instruction(every_python, tmp_path):
    """Given 0.3 s of work while a module is imported by the main program's first line, that import is in the profile."""
    if every_python.in_chroot:
        pytest.skip("launched from outside its root")
    done, stacks = launch(tmp_path, every_python, "launched.py", "import")
    assert done.returncode == 0
    slow = [frames for frames in stacks if any(frame.file.endswith("slow_import.py") for frame in frames)]
    assert slow
    assert all(frames[0].name == "<module>" and frames[0].file.endswith("launched.py") for frames in slow)


def test_options_after_the_two_dashes_are_the_programs(usual_python, tmp_path):
    """Arguments that look like ours are handed to the program, in order and unchanged."""
    arguments = ["-p", "1", "--", "-d", "", "a b", "--help"]
    done, _ = launch(tmp_path, usual_python, "launched.py", "arguments", *arguments)
    assert done.stdout.decode().splitlines() == [repr(argument) for argument in arguments]


def test_the_path_is_searched(usual_python, tmp_path):
    """A program without a slash is found on PATH, as a shell would."""
    profile = tmp_path / "p.json"
    command = [runs.program(), "-o", profile, "--", "env", *usual_python.command(targets.PROGRAMS / "launched.py", "exit", 5)]
    assert subprocess.run(command, stderr=subprocess.PIPE, timeout=60).returncode == 5
    assert profile.exists()


def test_a_program_that_does_not_exist():
    """A program that cannot be found is named, and the exit code is that of a failure."""
    outcome = runs.pysample("--", "no-such-program-here")
    assert outcome.code == 1
    outcome.one_error("no-such-program-here", "No such file")


def test_a_program_that_may_not_be_run(tmp_path):
    """A file that is not executable is named, with the reason."""
    (tmp_path / "text").write_text("no program")
    (tmp_path / "text").chmod(0o644)
    outcome = runs.pysample("--", tmp_path / "text")
    assert outcome.code == 1
    outcome.one_error(tmp_path / "text", "Permission denied")


def test_a_program_that_is_not_python(tmp_path):
    """Given a program without Python, its exit code is handed on all the same."""
    outcome = runs.pysample("-o", tmp_path / "p.json", "--", "/bin/sh", "-c", "exit 4")
    assert outcome.code == 4


def test_a_shell_that_executes_python(usual_python, tmp_path):
    """Given a launcher script that executes Python in the end, Python is profiled."""
    command = " ".join(["exec", *usual_python.command(targets.PROGRAMS / "launched.py", "die", 15)])
    profile = tmp_path / "p.collapsed"
    outcome = runs.pysample("-o", profile, "--", "/bin/sh", "-c", command)
    assert outcome.code == 128 + 15
    assert "busy_before_death" in runs.names(runs.parse_collapsed(profile.read_text()))


def test_no_process_is_left(usual_python, tmp_path):
    """When pysample is told to end, the launched program gets the signal and nothing is left behind."""
    with runs.recording(
        "-o", tmp_path / "p.collapsed", "--", *usual_python.command(targets.PROGRAMS / "launched.py", "for-ever")
    ) as run:
        run.wait_sampling()
        child = runs.procfs.children(run.pid)[0]
        run.tell(signal.SIGTERM)
        run.result(10)
        runs.procfs.wait_until(lambda: not runs.procfs.is_alive(child), "the launched program ended", 5)
    assert "run_on" in runs.names(runs.parse_collapsed((tmp_path / "p.collapsed").read_text()))


def test_the_profile_names_the_program_and_not_pysample(usual_python, tmp_path):
    """The launched process was a copy of pysample for a moment; what is written is what it ran from then on."""
    profile = tmp_path / "p.json"
    command = usual_python.command(targets.PROGRAMS / "launched.py", "echo")
    runs.pysample("-o", profile, "--", *command).ok()
    process = json.loads(profile.read_text())["processes"][0]
    assert os.path.samefile(process["executable"], os.path.realpath(shutil.which(command[0])))
