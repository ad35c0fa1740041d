# SPDX-License-Identifier: MIT
"""Names of every kind come out as they are, and no name can damage the profile."""

import json

import pytest

import runs
import targets

UNDECODABLE = "bytes_\udcff\udcfe.py"


def test_case_23_collapsed(every_python):
    """
    Given names of 1-, 2- and 4-byte kinds and names with semicolons, spaces, newlines, quotes, escapes and undecodable
    bytes: as many lines as stacks, each with a weight, no control character anywhere, and every name can be had again.
    """
    with targets.python(every_python, "strange.py") as target:
        said = json.loads(target.read_line())
        outcome = runs.record(target, 1, "-F", 400, "--full-paths")
        stacks = outcome.stacks()
        assert not [character for character in outcome.out if ord(character) < 32 and character != "\n" or ord(character) == 127]
        depths = {len(frames) for frames in stacks}
        assert max(depths) == said["depth"], depths
        found = {frame.name for frames in stacks for frame in frames}
        assert set(said["names"]) <= found
        assert set(said["files"]) | {UNDECODABLE} <= {frame.file for frames in stacks for frame in frames}
        assert outcome.complete_percent >= 99
        target.finish()


def test_case_23_json_has_the_names_as_they_are(every_python):
    """JSON has each name and each file name again, character for character, and undecodable bytes can be told apart."""
    with targets.python(every_python, "strange.py") as target:
        said = json.loads(target.read_line())
        outcome = runs.record(target, 0.5, "-F", 400, "-f", "json", "--full-paths")
        outcome.out.encode("utf-8")
        profile = runs.JsonProfile(json.loads(outcome.out))
        found = {frame.name for frames in profile.stacks() for frame in frames}
        files = {frame.file for frames in profile.stacks() for frame in frames}
        assert set(said["names"]) <= found
        assert set(said["files"]) | {UNDECODABLE} <= files
        target.finish()


def test_case_23_speedscope(every_python):
    """speedscope is valid UTF-8 JSON with every function in it."""
    with targets.python(every_python, "strange.py") as target:
        said = json.loads(target.read_line())
        outcome = runs.record(target, 0.5, "-F", 400, "-f", "speedscope")
        document = json.loads(outcome.out.encode("utf-8").decode("utf-8"))
        names = [frame["name"] for frame in document["shared"]["frames"]]
        for name in said["names"]:
            assert any(name in found for found in names), (name, names)
        target.finish()


def test_case_23_dump(every_python):
    """The text of dump has no control characters of foreign names; its JSON has the names."""
    with targets.python(every_python, "strange.py") as target:
        said = json.loads(target.read_line())
        outcome = runs.pysample("dump", "-p", target.pid).ok()
        assert not [character for character in outcome.out if ord(character) < 32 and character not in "\n\t"]
        dumped = runs.dump(target)
        assert said["names"][0] in [frame.name for thread in dumped.values() for frame in runs.frames_of(thread)]
        target.finish()


@pytest.mark.parametrize("length", [300, 5000, 200000])
def test_long_names(usual_python, length):
    """Given a function whose name has many characters, the profile is made, with the name or its beginning in it."""
    with targets.python(usual_python, "long_name.py", length) as target:
        stacks = runs.record(target, 1).stacks()
        assert any(frame.name.startswith("n" * 100) for frames in stacks for frame in frames)
        target.finish()
