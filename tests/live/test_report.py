# SPDX-License-Identifier: MIT
"""pysample report and pysample diff, on files whose numbers are known and on one that was recorded."""

import fcntl
import gzip
import json
import lzma
import os
import pty
import re
import struct
import subprocess
import termios

import pytest

import runs
import targets

BEFORE = """\
<module> (app.py:1);serve (app.py:5);parse (lib/p.py:3) 50
<module> (app.py:1);serve (app.py:6);store (lib/s.py:9) 30
<module> (app.py:1);serve (app.py:6) 10
<module> (app.py:1);walk (lib/w.py:2);walk (lib/w.py:2);parse (lib/p.py:4) 10
"""
AFTER = """\
<module> (app.py:1);serve (app.py:5);parse (lib/p.py:3) 100
<module> (app.py:1);serve (app.py:6);store (lib/s.py:9) 100
"""


@pytest.fixture
def before(tmp_path):
    (tmp_path / "before.collapsed").write_text(BEFORE)
    return tmp_path / "before.collapsed"


@pytest.fixture
def after(tmp_path):
    (tmp_path / "after.collapsed").write_text(AFTER)
    return tmp_path / "after.collapsed"


@pytest.fixture(scope="module")
def recorded(usual_python, tmp_path_factory):
    """A file of named.py, idle and native frames included, as it was recorded."""
    path = tmp_path_factory.mktemp("report") / "recorded.json"
    with targets.python(usual_python, "named.py") as target:
        runs.record(target, 1, "-F", 100, "--idle", "--native", "-o", path)
        target.finish()
    return path


def report(*words, **options):
    outcome = runs.pysample("report", *words, **options).ok()
    assert outcome.err == ""
    return outcome.out


def table(text):
    """{function: (own %, own, total %, total)} of a printed table, in its order."""
    rows = {}
    for line in text.splitlines():
        match = re.match(r" *([\d.]+) % +([\d.]+)(?: s)? +([\d.]+) % +([\d.]+)(?: s)?  (\S.*)", line)
        if match:
            rows[match[5]] = tuple(float(number) for number in match.groups()[:4])
    return rows


def test_functions_by_own_share(before):
    text = report(before)
    assert text.startswith("100 samples, 100.0 % complete\n")
    assert list(table(text).items()) == [
        ("parse (lib/p.py)", (60, 60, 60, 60)),
        ("store (lib/s.py)", (30, 30, 30, 30)),
        ("serve (app.py)", (10, 10, 90, 90)),
        ("<module> (app.py)", (0, 0, 100, 100)),
        ("walk (lib/w.py)", (0, 0, 10, 10)),
    ]


def test_functions_by_total_share(before):
    text = report("--sort", "total", "--lines", 2, before)
    assert list(table(text)) == ["<module> (app.py)", "serve (app.py)"]
    assert text.endswith("3 more functions: see --lines\n")


def test_options_may_come_after_the_file(before):
    assert report(before, "--lines", "2") == report("--lines", "2", before)


def test_several_files_are_added_up(before, after):
    rows = table(report(before, after))
    assert rows["parse (lib/p.py)"] == (53.33, 160, 53.33, 160)
    assert rows["<module> (app.py)"][3] == 300


def test_numbers_can_be_times(before):
    rows = table(report("--weights", "ns", before))
    assert rows["parse (lib/p.py)"][0] == 60


def test_tree(before):
    lines = report("--tree", "--min-share", "11%", before).splitlines()
    assert lines[2:] == [
        "   own %   total %  function",
        "  0.00 %  100.00 %  <module> (app.py)",
        " 10.00 %   90.00 %    serve (app.py)",
        " 50.00 %   50.00 %      parse (lib/p.py)",
        " 30.00 %   30.00 %      store (lib/s.py)",
        "1 branch of less than 11 % left out: see --min-share",
    ]


def test_callers_and_callees(before):
    text = report("--callers", "parse", before)
    called_by, calls = text.split("called by\n")[1].split("\ncalls\n")
    assert called_by.splitlines() == [" 83.33 %           50  serve (app.py)", " 16.67 %           10  walk (lib/w.py)"]
    assert calls.splitlines() == ["100.00 %           60  [own]"]


def test_a_recursive_call_counts_once(before):
    text = report("--callers", "w*k", before)
    called_by, calls = text.split("called by\n")[1].split("\ncalls\n")
    assert called_by.splitlines() == ["100.00 %           10  <module> (app.py)"]
    assert calls.splitlines() == ["  0.00 %            0  [own]", "100.00 %           10  walk (lib/w.py)"]


def test_a_function_that_is_not_there_is_named(before):
    outcome = runs.pysample("report", "--callers", "nothing", before)
    assert outcome.code == 1
    outcome.one_error("nothing")


def test_json_report(before):
    document = json.loads(report("--json", before))
    assert (document["unit"], document["sum"], document["samples"]) == ("samples", 100, 100)
    assert document["functions"][0] == {
        "name": "parse", "file": "lib/p.py", "line": 0, "kind": "python", "own": 60, "total": 60}  # fmt: skip
    tree = json.loads(report("--json", "--tree", before))["tree"]
    assert [(node["name"], node["depth"], node["total"]) for node in tree][:2] == [("<module>", 0, 100), ("serve", 1, 90)]
    callers = json.loads(report("--json", "--callers", "parse", before))
    assert {caller["name"]: caller["weight"] for caller in callers["callers"]} == {"serve": 50, "walk": 10}


def test_a_recorded_file_comes_back_as_it_was(recorded):
    assert report("-f", "json", recorded) == recorded.read_text()


def test_a_recorded_file_is_described(recorded):
    document = json.loads(recorded.read_text())
    text = report(recorded)
    process = document["processes"][0]
    assert "process %d, Python %s: " % (process["pid"], process["python_version"]) in text
    assert "%d samples" % document["stats"]["samples"] in text
    rows = table(text)
    assert abs(sum(row[0] for row in table(report("--lines", 0, recorded)).values()) - 100) < 1
    assert all(row[0] <= row[2] <= 100 for row in rows.values())


def test_threads_can_be_chosen(recorded):
    """The samples of each thread together are those of all."""
    document = json.loads(recorded.read_text())
    counts = {}
    for sample in document["samples"]:
        tid = document["threads"][sample["thread"]]["tid"]
        counts[tid] = counts.get(tid, 0) + sample["count"]
    assert len(counts) > 1
    for tid, count in counts.items():
        assert json.loads(report("--json", "--weights", "samples", "-T", tid, recorded))["sum"] == count
    pid = document["processes"][0]["pid"]
    assert json.loads(report("--json", "--weights", "samples", "-p", pid, recorded))["sum"] == sum(counts.values())
    outcome = runs.pysample("report", "-T", 999999999, recorded)
    assert outcome.code == 1
    outcome.one_error("no samples")


def test_every_format_can_be_made_of_it(recorded, tmp_path):
    for name in ("a.collapsed", "a.speedscope.json", "a.html", "a.pb.gz", "a.svg"):
        assert report(recorded, "-o", tmp_path / name) == ""
        assert (tmp_path / name).stat().st_size > 100
    assert runs.parse_collapsed((tmp_path / "a.collapsed").read_text())


def test_packed_files_and_standard_input(before, tmp_path):
    expected = report(before)
    (tmp_path / "a.gz").write_bytes(gzip.compress(BEFORE.encode()))
    (tmp_path / "a.xz").write_bytes(lzma.compress(BEFORE.encode()))
    assert report(tmp_path / "a.gz") == expected
    assert report(tmp_path / "a.xz") == expected
    with before.open() as stdin:
        assert report("-", stdin=stdin) == expected


@pytest.mark.parametrize("command", ["report", "diff"])
@pytest.mark.parametrize(
    "text, words",
    [
        ("", ["no stacks"]),
        ("f 1\nwhat is this?\n", ["line 2"]),
        ("f\x1b 1.5", ["line 1"]),
        ('{"format": "pysample", "version": 2', ["line 1", "ends"]),
        ('{"format": "pysample", "version": 99}', ["there are no"]),
        ('{"exporter": "other"}', ["not a profile"]),
        ("\x7fELF\0\0\0", ["line 1"]),
    ],
    ids=["empty", "no-number", "decimal", "cut", "version", "other", "binary"],
)
def test_what_is_no_profile_is_refused(command, text, words, before, tmp_path):
    bad = tmp_path / "bad"
    bad.write_text(text)
    outcome = runs.pysample(command, *([before] if command == "diff" else []), bad)
    assert (outcome.code, outcome.out) == (2, "")
    outcome.one_error(bad, *words)
    assert "\x1b" not in outcome.err


def test_a_recorded_file_that_was_cut_is_refused(recorded, tmp_path):
    whole = recorded.read_bytes()
    cut = tmp_path / "cut.json"
    for part in range(1, 16):
        cut.write_bytes(whole[: len(whole) * part // 16])
        outcome = runs.pysample("report", cut)
        assert (outcome.code, outcome.out) == (2, "")
        outcome.one_error(cut)


def test_a_file_that_is_not_there(tmp_path):
    outcome = runs.pysample("report", tmp_path / "none")
    assert outcome.code == 2
    outcome.one_error(tmp_path / "none")


def test_a_reader_that_goes_away_is_no_error(tmp_path):
    many = tmp_path / "many.collapsed"
    many.write_text("".join("function_%d (a.py:%d) 1\n" % (i, i) for i in range(20000)))
    run = subprocess.Popen(
        [runs.program(), "report", "--lines", "0", str(many)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    run.stdout.readline()
    run.stdout.close()
    assert run.stderr.read() == b""
    assert run.wait() == 0


def on_terminal(columns, *words, **environment):
    """What is written to a terminal of that width."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    run = subprocess.Popen(
        [runs.program(), *map(str, words)], stdout=follower, env={**os.environ, "TERM": "xterm", **environment}
    )
    os.close(follower)
    text = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
    os.close(leader)
    assert run.wait() == 0
    return text.decode().replace("\r\n", "\n")


def test_lines_fit_the_terminal_and_colour_is_for_it_alone(before):
    plain = on_terminal(60, "report", before, NO_COLOR="1")
    assert "\x1b" not in plain
    assert max(map(len, plain.splitlines())) <= 60
    assert "lib/p.py..." not in plain and "..." in plain
    wide = on_terminal(200, "report", before, NO_COLOR="")
    assert "\x1b[1m" in wide
    assert re.sub(r"\x1b\[\d*m", "", wide) == report(before)


def test_names_do_no_harm_to_a_terminal(tmp_path):
    bad = tmp_path / "bad.collapsed"
    bad.write_bytes(b"\x1b[2Jf (a\x07.py:1) 1\n")
    text = report(bad)
    assert "\x1b" not in text and "\x07" not in text
    assert "\\x1b[2Jf" in text


def test_diff_compares_shares(before, after):
    outcome = runs.pysample("diff", before, after).ok()
    rows = [line for line in outcome.out.splitlines() if line.endswith(")")]
    assert rows == [
        " 30.00 %   50.00 %   +20.00 %   30.00 %   50.00 %   +20.00 %  store (lib/s.py)",
        " 10.00 %    0.00 %   -10.00 %   90.00 %  100.00 %   +10.00 %  serve (app.py)",
        " 60.00 %   50.00 %   -10.00 %   60.00 %   50.00 %   -10.00 %  parse (lib/p.py)",
        "  0.00 %    0.00 %     0.00 %  100.00 %  100.00 %     0.00 %  <module> (app.py)",
        "  0.00 %    0.00 %     0.00 %   10.00 %    0.00 %   -10.00 %  walk (lib/w.py)",
    ]


def test_diff_can_compare_numbers(before, after):
    document = json.loads(runs.pysample("diff", "--json", "--absolute", before, after).ok().out)
    assert document["sum"] == [100, 200]
    assert {row["name"]: (row["own"], row["total"]) for row in document["functions"]} == {
        "store": ([30, 100], [30, 100]),
        "parse": ([60, 100], [60, 100]),
        "serve": ([10, 0], [90, 200]),
        "<module>": ([0, 0], [100, 200]),
        "walk": ([0, 0], [10, 0]),
    }
    assert document["functions"][0]["name"] == "store"


def test_diff_of_stacks_has_two_columns(before, after):
    absolute = runs.pysample("diff", "--absolute", "-f", "collapsed", before, after).ok().out
    assert absolute.splitlines() == [
        "<module> (app.py:1);serve (app.py:5);parse (lib/p.py:3) 50 100",
        "<module> (app.py:1);serve (app.py:6);store (lib/s.py:9) 30 100",
        "<module> (app.py:1);serve (app.py:6) 10 0",
        "<module> (app.py:1);walk (lib/w.py:2);walk (lib/w.py:2);parse (lib/p.py:4) 10 0",
    ]
    scaled = runs.pysample("diff", "-f", "collapsed", before, after).ok().out
    assert [line.split()[-2:] for line in scaled.splitlines()] == [["100", "100"], ["60", "100"], ["20", "0"], ["20", "0"]]


def test_diff_of_a_file_with_itself_is_nothing(recorded, tmp_path):
    """Whichever of the two formats each is in."""
    collapsed = tmp_path / "same.collapsed"
    report("-o", collapsed, recorded)
    for one, other in ((recorded, recorded), (recorded, collapsed), (collapsed, recorded)):
        document = json.loads(runs.pysample("diff", "--json", "--lines", 0, one, other).ok().out)
        assert document["functions"]
        for row in document["functions"]:
            assert row["own"][0] == row["own"][1] and row["total"][0] == row["total"][1], row


def test_diff_makes_a_page(before, after, tmp_path):
    runs.pysample("diff", before, after, "-o", tmp_path / "d.html").ok()
    assert "<html" in (tmp_path / "d.html").read_text()
    outcome = runs.pysample("diff", before, after, "-f", "speedscope")
    assert outcome.code == 2
    outcome.one_error("speedscope")


def test_diff_does_not_compare_modes(recorded, tmp_path):
    other = tmp_path / "cpu.json"
    text = recorded.read_text()
    assert '"mode": "wall"' in text
    other.write_text(text.replace('"mode": "wall"', '"mode": "cpu"'))
    outcome = runs.pysample("diff", recorded, other)
    assert outcome.code == 2
    outcome.one_error("wall", "cpu")
