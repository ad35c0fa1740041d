# SPDX-License-Identifier: MIT
"""The page with the sources: its numbers are those of the profile, and a browser shows it without a complaint."""

import collections
import json
import os

import pytest

import formats
import interpreters
import runs
import targets


@pytest.fixture(scope="module")
def shown(run_node, consumer):
    """shown(path) is what heatmap_page.js prints, from a page without an error or a request."""
    consumer("chromium")

    def show(path):
        answer = json.loads(run_node("heatmap_page.js", path))
        assert answer["errors"] == [] and answer["requests"] == []
        return answer["result"]

    return show


def expected_lines(path, unit, no_line=False):
    """(own, total) by file and line, of a JSON profile."""
    document = json.loads(path.read_text("utf-8"))
    functions, frames, stacks = document["functions"], document["frames"], document["stacks"]
    own, total = collections.Counter(), collections.Counter()
    for sample in document["samples"]:
        weight = sample["count"] if unit == "samples" else sample["wall_ns" if document["options"]["mode"] == "wall" else "cpu_ns"]
        lines, stack = [], sample["stack"]
        while stack is not None:
            stack, frame = stacks[stack]
            function = functions[frames[frame][0]]
            if function["kind"] == "python":
                lines.append((formats.unescape(function["short_file"]), function["line"] if no_line else frames[frame][1]))
        if lines:
            own[lines[0]] += weight
        for line in set(lines):
            total[line] += weight
    return {line: (own[line], total[line]) for line in total}


@pytest.mark.parametrize("unit", ["samples", "ns"])
@pytest.mark.parametrize("words", [(), ("no-line",), ("cpu",), ("one-process",)], ids=" ".join)
def test_every_line_weighs_what_the_json_says(write_formats, unit, words):
    """Own and total, in both units."""
    files = write_formats(unit, *words)
    expected = expected_lines(files["json"], unit, "no-line" in words)
    assert len(expected) > 20
    assert formats.lines_of_heatmap(files["heatmap"], unit) == expected


def test_a_browser_shows_hostile_names_as_they_are(shown, write_formats):
    """No script of theirs runs, every file is there with its samples, and there are lines alone."""
    files = write_formats("samples")
    page = shown(files["heatmap"])
    expected = expected_lines(files["json"], "samples")
    by_file = collections.Counter()
    for (file, _), (own, _) in expected.items():
        by_file[file.decode("utf-8", "replace")] += own
    listed = {row["text"]: row["own"] for row in page["files"]}
    plain = [name for name in by_file if name.isprintable() and "\ufffd" not in name]
    assert len(plain) > 15
    assert {name: listed[name] for name in plain} == {name: by_file[name] for name in plain}
    assert all("could not be read" in source["note"] for source in page["sources"].values())
    rows = {row["line"]: row for row in page["sources"]["/srv/app/lib/util.py"]["rows"]}
    assert (rows[11]["own"], rows[11]["total"]) == (307, 307)
    assert rows[21]["jumps"] == ["→ fib 1.9 %"]


def test_a_browser_shows_the_source(shown, usual_python, tmp_path):
    """A real program: the text of each line, the hottest line chosen, jumps that lead where they say, both themes, a narrow window."""
    path = tmp_path / "busy.heatmap.html"
    with targets.python(usual_python, "busy.py") as target:
        runs.record(target, 1, "-o", path)
        target.finish()
    page = shown(path)
    (source,) = [source for name, source in page["sources"].items() if name.endswith("/busy.py")]
    text = (targets.PROGRAMS / "busy.py").read_text().splitlines()
    assert [row["text"] for row in source["rows"]] == text and source["note"] == ""
    loop = 1 + text.index("        x = (x * 31 + i) & 0xFFFF")
    call = 1 + text.index("        leaf()")
    rows = {row["line"]: row for row in source["rows"]}
    assert rows[loop]["own"] > 20 and page["first"][1].startswith("#")
    assert page["hottest"][0]["text"].startswith("busy.py:") and page["hottest"][0]["own"] == max(row["own"] for row in source["rows"])
    assert rows[call]["total"] > 0.9 * page["files"][0]["total"]
    assert [jump for jump in rows[call]["jumps"] if jump.startswith("→ leaf ")]
    assert page["jump"]["after"] != page["jump"]["before"] == page["jump"]["back"]
    assert page["steps"][0] == page["steps"][1]
    assert page["dark"] == ["dark", "rgb(20, 23, 27)"]
    assert page["overflow"] <= 0


def test_sources_are_those_of_the_program_s_root(tmp_path):
    """Given a program in another root folder: its files as it names them, not ours of the same names."""
    found = [interpreter for interpreter in interpreters.every() if interpreter.in_chroot]
    if not found:
        pytest.skip("no root folder: see contrib/python-roots")
    path = tmp_path / "p.heatmap.html"
    with targets.python(found[0], "busy.py") as target:
        runs.record(target, 1, "--full-paths", "-o", path)
        target.finish()
    (name,) = [name for name in source_texts(path) if name.endswith("/busy.py")]
    assert source_texts(path)[name] == (targets.PROGRAMS / "busy.py").read_text()
    assert not os.path.exists(name)


def test_of_a_long_source_there_is_what_has_a_weight(shown, usual_python, tmp_path):
    """20,000 lines: the hot one with those around it, and how many are left out."""
    program, path = tmp_path / "long.py", tmp_path / "long.heatmap.html"
    program.write_text("#\n" * 9999 + "import time\nend = time.monotonic() + 0.5\nwhile time.monotonic() < end:\n    sum(range(9))\n" + "#\n" * 9997)
    runs.pysample("-o", path, "--", usual_python.program, str(program)).ok()
    rows = shown(path)["sources"][str(program)]["rows"]
    by_line = {row["line"]: row for row in rows if row["line"]}
    assert by_line[10003]["text"] == "    sum(range(9))" and by_line[10003]["own"] + by_line[10002]["own"] > 10
    assert 40 < len(by_line) < 100
    gaps = [row["text"] for row in rows if not row["line"]]
    assert len(gaps) in (2, 3) and all(gap.endswith(" lines without a weight") for gap in gaps)
    assert len(by_line) + sum(int(gap.split()[0].replace(",", "")) for gap in gaps) == 20000


def source_texts(path):
    return {formats.unescape(file["path"]).decode(): file["source"] for file in formats.page_data(path)["files"]}


def test_a_source_that_the_program_may_not_read_is_left_out(usual_python, tmp_path):
    """Given code that says it is from a file that only pysample may read, or may reach: lines alone."""
    if os.getuid():
        pytest.skip("not root: no program of another user")
    hidden_folder = tmp_path / "hidden"
    hidden_folder.mkdir()
    hidden_folder.chmod(0o750)
    names = {"shared": tmp_path / "shared.py", "secret": tmp_path / "secret.py", "group": tmp_path / "group.py", "hidden": hidden_folder / "hidden.py"}
    for name, file in names.items():
        file.write_text("# the text of %s\n" % name)
        file.chmod({"secret": 0o600, "group": 0o640}.get(name, 0o644))
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    path = tmp_path / "p.heatmap.html"
    program = "import sys, os, time\nos.setgid(65534); os.setuid(65534)\n" + (
        "def make(name):\n made = {}\n exec(compile('def f(g):\\n for i in range(100): g and g()', name, 'exec'), made)\n return made['f']\n"
        "functions = [make(name) for name in sys.argv[1:]]\n"
        "print('ready', flush=True)\nwhile True:\n for function in functions: function(None)\n"
    )
    with targets.command(usual_python.program, "-c", program, *map(str, names.values()), ready=False) as target:
        assert target.read_line().strip() == "ready"
        runs.record(target, 1, "-o", path)
        target.kill()
    texts = source_texts(path)
    assert {name: texts[str(file)] for name, file in names.items()} == {
        "shared": "# the text of shared\n",
        "secret": None,
        "group": None,
        "hidden": None,
    }
