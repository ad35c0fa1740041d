# SPDX-License-Identifier: MIT
"""Our speedscope files follow speedscope's own schema, and its page imports them and shows our numbers."""

import collections
import json
import re

import pytest

import formats
import runs
import targets

WORDS = [("samples",), ("ns",), ("samples", "one-process"), ("ns", "cpu", "no-line")]


@pytest.fixture(scope="module")
def release(consumer):
    """The folder of the page."""
    return consumer("npm") / "speedscope" / "dist" / "release"


@pytest.fixture(scope="module")
def import_file(run_node, release):
    """import_file(path) is what speedscope_page.js prints, from a page without an error."""

    def imported(path):
        answer = json.loads(run_node("speedscope_page.js", release, path))
        assert answer["errors"] == [] and answer["requests"] == []
        return answer["result"]

    return imported


@pytest.fixture
def chromium(consumer):
    return consumer("chromium")


def test_files_follow_the_schema(write_formats, run_node, release):
    """ajv has nothing to say about any of them."""
    paths = [write_formats(*words)["speedscope"] for words in WORDS]
    assert json.loads(run_node("schema.js", release / "file-format-schema.json", *paths)) == [[]] * len(paths)


def test_the_schema_test_can_fail(write_formats, run_node, release, tmp_path):
    """A profile without its unit is found."""
    document = json.loads(write_formats("samples")["speedscope"].read_text())
    del document["profiles"][1]["unit"]
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps(document))
    (wrong,) = json.loads(run_node("schema.js", release / "file-format-schema.json", broken))
    assert wrong


def test_the_page_shows_our_totals(chromium, import_file, write_formats):
    """Each thread is a profile with its weight; each function has its own and total number of samples."""
    files = write_formats("samples")
    shown = import_file(files["speedscope"])
    by_thread = collections.defaultdict(list)
    for stack in formats.of_json(files["json"], "samples"):
        by_thread[stack.thread].append(stack)
    assert len(shown["profiles"]) == len(by_thread) == 3
    for (title, weight), rows in zip(shown["profiles"], shown["sandwiches"]):
        stacks = by_thread[re.search(r"thread (\d+) ", title).group(1)]
        assert int(weight) == sum(stack.weight for stack in stacks)
        own, total = formats.own(stacks), formats.total(stacks)
        found = collections.defaultdict(lambda: [0, 0])
        for total_text, own_text, name in rows:
            found[name][0] += int(total_text.split()[0])
            found[name][1] += int(own_text.split()[0])
        plain = [name for name in total if re.fullmatch(rb"[\w<>{}()]+", name)]
        assert plain
        assert {name: found[name.decode()] for name in plain} == {name: [total[name], own[name]] for name in plain}


def test_the_page_shows_a_real_recording(chromium, import_file, usual_python, tmp_path):
    """Two busy threads, each with its function."""
    path = tmp_path / "named.speedscope.json"
    with targets.python(usual_python, "named.py") as target:
        runs.record(target, 1, "-o", path)
        target.finish()
    shown = import_file(path)
    names = [{row[2] for row in rows} for rows in shown["sandwiches"]]
    assert any("work_a" in found and "work_b" not in found for found in names)
    assert any("work_b" in found and "work_a" not in found for found in names)


def test_the_page_imports_the_other_formats_too(chromium, import_file, write_formats):
    """A collapsed and a pprof file come to the same sum."""
    files = write_formats("samples")
    weight = sum(stack.weight for stack in formats.of_json(files["json"], "samples"))
    for name in ("collapsed", "pprof"):
        (rows,) = import_file(files[name])["sandwiches"]
        assert sum(int(own.split()[0]) for _, own, _ in rows) == weight, name
