# SPDX-License-Identifier: MIT
"""The flame graph page in a real browser: it shows the numbers that the other formats have, and its controls do what they say."""

import collections
import json
import os
import pathlib
import re
import subprocess
import time
import urllib.parse
import xml.etree.ElementTree

import pytest

import browser

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PYSAMPLE", SOURCE / "build" / "pysample")).resolve().parent
MS = 1e6
ALL_MS = 1000  # of the small profile


def made(kind, format=None):
    """What made_profile writes."""
    program = BUILD / "tests" / "consumers" / "made_profile"
    assert program.exists(), "not built: make tests/consumers/made_profile"
    return subprocess.run([str(program), kind, *([format] if format else [])], stdout=subprocess.PIPE, check=True).stdout


@pytest.fixture(scope="module")
def chromium():
    if not browser.program():
        pytest.skip("no chromium on this machine")
    started = browser.Browser()
    yield started
    started.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    directory = tmp_path_factory.mktemp("pages")
    written = {}

    def path_of(kind, format="flamegraph"):
        if (kind, format) not in written:
            path = directory / ("%s.%s" % (kind, "svg" if format == "svg" else "html"))
            path.write_bytes(made(kind) if kind == "diff" else made(kind, format))
            written[kind, format] = path
        return written[kind, format]

    return path_of


@pytest.fixture
def show(chromium, files):
    """show(KIND) opens the page of a made profile. At the end the page must have made no error and no request."""
    pages = []

    def opened(kind, address="", width=1400, height=900, scheme="light", format="flamegraph"):
        page = browser.Page(chromium, width, height)
        pages.append(page)
        page.prefer(scheme)
        page.url = files(kind, format).as_uri()
        page.open(page.url + address)
        return page

    yield opened
    for page in pages:
        assert page.errors == []
        assert [url for url in page.requests if not url.startswith("data:")] == [page.requests[0]]
        page.close()


def frames(page):
    return page.run("flamegraph.frames()")


def names(page):
    return {frame["name"] for frame in frames(page)}


def frame(page, name, depth=None):
    found = [f for f in frames(page) if f["name"] == name and depth in (None, f["depth"])]
    assert len(found) == 1, "%s: %s" % (name, found)
    return found[0]


def ms_of(page, name, depth=None):
    return frame(page, name, depth)["total"][0] / MS


def click_frame(page, name, depth=None):
    found = frame(page, name, depth)
    page.click(found["x"] + found["w"] / 2, found["y"] + found["h"] / 2)


def totals(page, key="own"):
    found = page.run("flamegraph.totals()")
    return {entry["name"]: round(entry[key][0] / MS) for entry in found if entry[key][0] and entry["name"][0] != "["}


def table(page):
    return page.run("[...document.querySelectorAll('#hottest tbody tr')].map(r => [...r.cells].map(c => c.innerText))")


def view(page):
    return page.run("flamegraph.view()")


def by_function(document):
    """Own and total nanoseconds of each function in pysample's JSON; own is what the innermost frame has."""
    own, total = collections.Counter(), collections.Counter()
    for sample in document["samples"]:
        stack, seen = sample["stack"], set()
        while stack is not None:
            parent, index = document["stacks"][stack]
            function = document["functions"][document["frames"][index][0]]["name"]
            if not seen:
                own[function] += sample["wall_ns"]
            if function not in seen:
                total[function] += sample["wall_ns"]
            seen.add(function)
            stack = parent
    return dict(own), dict(total)


def test_the_first_sight_says_what_ran_and_how_well(show):
    page = show("small")
    assert page.text("#title") == "python3 app.py '--name=a b'"
    assert "pid 4711, Python 9.8.7" in page.text("#processes")
    facts = page.text("#facts")
    assert "1.50 s" in facts and "100 Hz of 100 Hz asked for" in facts
    assert re.search(r"samples\s+9\b", facts)
    assert re.search(r"lost\s+2 18\.2 %\s+2 × the frame chain did not reach its base frame \(torn_chain\)", facts)
    assert re.search(r"complete stacks\s+81\.8 %", facts)
    rows = table(page)
    assert len(rows) == 10 and rows[0][0] == "45.0 %" and rows[0][1] == "45.0 %"
    assert rows[0][2].split() == ["work", "jobs.py:10"]
    assert frame(page, "")["w"] == pytest.approx(page.run("document.querySelector('#canvas').clientWidth"))


def test_numbers_are_those_of_the_json(show):
    own, total = by_function(json.loads(made("small", "json")))
    page = show("small")
    for key, expected in (("own", own), ("total", total)):
        found = {e["name"]: e[key][0] for e in page.run("flamegraph.totals()") if e[key][0] and e["name"][0] not in "["}
        assert found == {name: value for name, value in expected.items() if value and name[0] != "["}
    assert page.run("flamegraph.all()")[0] == ALL_MS * MS


def test_stacks_are_those_of_the_collapsed_output(show):
    page = show("small")
    by_depth = collections.Counter()
    for f in frames(page):
        if f["name"] != "[waiting]":
            by_depth[f["name"], f["depth"]] += round(f["total"][0] / MS)
    expected = collections.Counter({("", 0): ALL_MS})
    document = json.loads(made("small", "json"))
    for sample in document["samples"]:
        path, stack = [], sample["stack"]
        while stack is not None:
            parent, index = document["stacks"][stack]
            path.append(document["functions"][document["frames"][index][0]]["name"])
            stack = parent
        for depth, name in enumerate(reversed(path or ["[no frames]"])):
            expected[name, depth + 1] += sample["wall_ns"] / MS
    assert by_depth == expected


def test_search_says_the_share_of_all_stacks_that_match(show):
    page = show("small")
    page.write("#search", "fib")
    assert page.text("#matched") == "10.0 % matched"
    assert view(page)["search"] == "fib"
    page.write("#search", "work|deflate")
    assert page.text("#matched") == "0.0 % matched"
    page.click_on("#regex")
    assert page.text("#matched") == "65.0 % matched"
    page.write("#search", "^(run|memcpy) ")
    assert page.text("#matched") == "80.0 % matched"
    page.write("#search", "(")
    assert page.text("#matched") == "not a regular expression"
    assert page.run("document.querySelector('#search').getAttribute('aria-invalid')") == "true"
    page.write("#search", "")
    assert page.text("#matched") == ""


def test_zooming_makes_a_frame_as_wide_as_the_graph_and_back(show):
    page = show("small")
    width = frame(page, "")["w"]
    before = frame(page, "deflate")["w"]
    click_frame(page, "deflate")
    assert frame(page, "deflate")["w"] == width > before
    assert frame(page, "memcpy")["w"] == pytest.approx(width * 0.75)
    assert "fib" not in names(page)
    assert frame(page, "run", 2)["w"] == width
    click_frame(page, "run")
    assert frame(page, "run")["w"] == width > frame(page, "deflate")["w"]
    click_frame(page, "")
    assert frame(page, "deflate")["w"] == before
    click_frame(page, "deflate")
    page.click_on("#reset")
    assert frame(page, "deflate")["w"] == before


def test_pointing_at_a_frame_shows_its_numbers(show):
    page = show("small")
    found = frame(page, "deflate")
    page.move(found["x"] + 5, found["y"] + 5)
    tip = page.text("#tip")
    assert "deflate" in tip and "libz.so.1" in tip and "extension or library" in tip
    assert "total 200.0 ms, 20.0 % of all, 100.0 % of its parent; own 50.0 ms, 5.0 %" in tip
    assert tip == page.text("#details")
    found = frame(page, "work", 3)
    page.move(found["x"] + 5, found["y"] + 5)
    assert "jobs.py:10" in page.text("#tip")
    assert "total 400.0 ms, 40.0 % of all, 50.0 % of its parent; own 400.0 ms, 40.0 %" in page.text("#tip")
    page.move(5, 5)
    assert page.run("document.querySelector('#tip').hidden")


def test_inverted_has_what_ran_outermost_and_its_callers_within(show):
    page = show("small")
    page.click_on("#inverted")
    outermost = {f["name"]: round(f["total"][0] / MS) for f in frames(page) if f["depth"] == 1}
    assert outermost == {"work": 450, "poll": 200, "memcpy": 150, "fib": 100, "deflate": 50, "[no frames]": 50}
    assert ms_of(page, "[cut: depth_limit]", 2) == 50
    assert totals(page)["work"] == 450
    page.click_on("#inverted")
    assert ms_of(page, "<module>", 1) == 900


def test_callers_and_callees_of_one_function(show):
    page = show("small")
    click_frame(page, "work", 3)
    page.run("[...document.querySelectorAll('#details button')].find(b => b.innerText === 'Callers of it').click()")
    assert page.text("#focus b") == "work"
    assert ms_of(page, "work") == 450 and ms_of(page, "run") == 400 and ms_of(page, "[cut: depth_limit]") == 50
    assert "deflate" not in names(page)
    page.key("Escape")
    assert "deflate" in names(page)
    click_frame(page, "fib", 2)
    page.run("[...document.querySelectorAll('#details button')].find(b => b.innerText === 'Called from it').click()")
    # The outermost call holds the others: recursion counts once.
    assert ms_of(page, "fib", 1) == 100 and ms_of(page, "fib", 2) == 100 and ms_of(page, "fib", 3) == 80
    assert "<module>" not in names(page)


@pytest.mark.parametrize(
    "group, expected",
    [
        ("function", {"work": 450, "poll": 200, "memcpy": 150, "fib": 100, "deflate": 50}),
        ("line", {"work:11": 350, "work:14": 100, "poll": 200, "memcpy": 150, "fib:21": 100, "deflate": 50}),
        ("module", {"jobs": 550, "libc.so.6": 350, "libz.so.1": 50}),
        ("file", {"jobs.py": 550, "libc.so.6": 350, "libz.so.1": 50}),
    ],
)
def test_grouping(show, group, expected):
    page = show("small")
    page.choose("#group", group)
    found = collections.Counter()
    for entry in page.run("flamegraph.totals()"):
        if entry["own"][0] and entry["name"][0] != "[":
            line = ":%d" % entry["line"] if group == "line" and entry["line"] else ""
            found[entry["name"] + line] += round(entry["own"][0] / MS)
    assert found == expected
    assert "Hottest %ss" % group == page.text("#hottest-title")


def test_frames_of_a_module_that_call_each_other_are_one(show):
    page = show("small", "#by=module")
    # fib, three deep, is one frame of jobs below main.
    assert sorted((f["depth"], round(f["total"][0] / MS)) for f in frames(page) if f["name"] == "jobs") == [(2, 50), (2, 500)]


def test_one_thread_alone(show):
    page = show("small")
    options = page.run("[...document.querySelectorAll('#thread option')].map(o => [o.value, o.text])")
    assert options == [["", "all threads"], ["t0", "MainThread (4711)"], ["t1", "worker-1 (4712)"]]
    page.choose("#thread", "t1")
    assert totals(page) == {"poll": 200, "work": 50} and page.run("flamegraph.all()")[0] == 300 * MS
    page.choose("#thread", "t0")
    assert page.run("flamegraph.all()")[0] == 700 * MS
    page.choose("#thread", "")
    assert page.run("flamegraph.all()")[0] == 1000 * MS


def test_one_process_or_one_of_its_threads(show):
    page = show("processes")
    assert page.text("#title") == "3 processes: gunicorn 'worker 0'"
    assert page.text("#processes").splitlines()[2].startswith("pid 102, Python 9.8.7")
    assert totals(page) == {"handle": 600, "read": 630}
    page.choose("#thread", "p2")
    assert totals(page) == {"handle": 300, "read": 310}
    page.choose("#thread", "t3")
    assert totals(page) == {"read": 210}


def test_idle_samples_can_be_left_out(show):
    page = show("small")
    assert ms_of(page, "[waiting]") == 200
    page.click_on("#idle")
    assert "[waiting]" not in names(page) and "poll" not in names(page)
    assert page.run("flamegraph.all()")[0] == 800 * MS
    page.click_on("#idle")
    assert page.run("flamegraph.all()")[0] == 1000 * MS


def test_native_frames_can_be_left_out(show):
    page = show("small")
    page.click_on("#native")
    assert not names(page) & {"deflate", "memcpy", "poll", "_PyEval_EvalFrameDefault"}
    # Their time is their Python callers' own.
    assert totals(page)["run"] == 400 and page.run("flamegraph.all()")[0] == 1000 * MS


def test_what_was_not_recorded_cannot_be_chosen(show):
    page = show("processes")
    assert view(page)["colour"] == "module"
    assert page.run("document.querySelector('#idle').disabled && document.querySelector('#native').disabled")
    assert "--idle" in page.run("document.querySelector('#idle').closest('label').title")


def test_samples_in_the_place_of_time(show):
    page = show("small")
    page.choose("#weight", "samples")
    assert page.run("flamegraph.all()")[0] == 9
    click_frame(page, "fib", 2)
    assert "total 2 samples, 22.2 % of all" in page.text("#details")


def test_colours_have_a_legend(show):
    page = show("small")
    legend = page.text("#legend")
    assert re.search(r"Python 55\.0 %.*extension or library 5\.0 %.*interpreter 0\.0 %.*C library 15\.0 %.*kernel, waiting 20\.0 %", legend, re.S)
    page.choose("#colour", "module")
    assert re.search(r"jobs 55\.0 %.*libc\.so\.6 15\.0 %", page.text("#legend"), re.S)
    colours = page.run("[...document.querySelectorAll('#legend i')].map(i => i.style.background)")
    assert len(set(colours)) == len(colours) > 4


def pixel(page, x, y):
    return page.run(
        "(() => { const c = document.querySelector('#canvas'), b = c.getBoundingClientRect();"
        " const g = document.createElement('canvas').getContext('2d', {willReadFrequently: true});"
        " g.drawImage(c, b.left - %f, b.top - %f); return [...g.getImageData(0, 0, 1, 1).data].slice(0, 3); })()" % (x, y)
    )


def test_flame_and_icicle(show):
    page = show("small")
    assert frame(page, "run", 2)["y"] > frame(page, "<module>")["y"] > frame(page, "")["y"]
    page.click_on("#flame")
    assert frame(page, "run", 2)["y"] < frame(page, "<module>")["y"] < frame(page, "")["y"]
    found = frame(page, "<module>")
    assert pixel(page, found["x"] + found["w"] - 3, found["y"] + 3) == pixel(page, found["x"] + found["w"] - 9, found["y"] + 3)
    box = page.run("(() => { const b = document.querySelector('#scroll').getBoundingClientRect(); return [b.top, b.bottom]; })()")
    assert box[0] < frame(page, "")["y"] < box[1]


def test_a_flame_higher_than_the_screen_shows_its_foot(show):
    page = show("large", "#fl=1", height=500)
    box = page.run("(() => { const b = document.querySelector('#scroll').getBoundingClientRect(); return [b.top, b.bottom]; })()")
    assert frame(page, "")["h"] * max(f["depth"] for f in frames(page)) > box[1] - box[0], "it is higher"
    assert box[0] < frame(page, "")["y"] < box[1]
    page.click_on("#flame")
    assert box[0] <= frame(page, "")["y"] < box[1]


def test_light_and_dark(show):
    page = show("small", scheme="dark")
    dark = "getComputedStyle(document.body).backgroundColor"
    assert page.run(dark) == "rgb(20, 23, 27)"
    page.choose("#theme", "light")
    assert page.run(dark) == "rgb(255, 255, 255)"
    page.choose("#theme", "auto")
    assert page.run(dark) == "rgb(20, 23, 27)"
    page.prefer("light")
    page.until(dark + " === 'rgb(255, 255, 255)'")
    page.choose("#theme", "dark")
    found = frame(page, "")
    assert page.run(dark) == "rgb(20, 23, 27)"
    assert max(pixel(page, found["x"] + found["w"] - 5, found["y"] + found["h"] - 3)) < 100


def test_keys(show):
    page = show("small")
    page.key("/")
    assert page.run("document.activeElement.id") == "search"
    page.write("#search", "memcpy")
    page.key("Enter")
    assert page.run("document.activeElement.id") == "canvas"
    assert page.text("#details").startswith("memcpy")
    page.key("Escape")
    assert view(page)["search"] == ""
    page.run("document.querySelector('#canvas').focus()")
    for key, name in [("ArrowDown", "all"), ("ArrowDown", "<module>"), ("ArrowDown", "run"), ("ArrowRight", "fib"), ("ArrowLeft", "run"), ("ArrowDown", "work"), ("ArrowUp", "run"), ("ArrowUp", "<module>")]:
        page.key(key)
        if name != "all" or view(page)["zoom"]:
            assert page.text("#details").split()[0] == name, key
    page.key("ArrowDown")
    page.key("Enter")
    assert "fib" not in names(page)
    page.key("Backspace")
    assert "fib" in names(page)
    page.key("i")
    assert view(page)["inverted"]
    page.key("i")
    page.key("f")
    assert view(page)["flame"] and not view(page)["inverted"]
    page.key("?")
    assert "Backspace" in page.text("#keys")


def test_letters_in_the_search_field_are_letters(show):
    page = show("small")
    page.run("document.querySelector('#search').focus()")
    for letter in "fib":
        page.key(letter)
    assert view(page)["search"] == "fib" and not view(page)["flame"] and not view(page)["inverted"]


def test_controls_can_be_reached_by_tab(show):
    page = show("small")
    reached = page.run(
        "[...document.querySelectorAll('input, select, button, canvas')].filter(e => !e.disabled && e.offsetParent && e.tabIndex >= 0).map(e => e.id || e.className)"
    )
    assert {"search", "group", "thread", "canvas", "name", "theme", "reset"} <= set(reached)
    unnamed = page.run(
        "[...document.querySelectorAll('input, select, button, canvas')].filter(e => e.offsetParent && !e.getAttribute('aria-label') && !e.closest('label') && !e.innerText.trim()).length"
    )
    assert unnamed == 0


def test_the_address_keeps_the_view(show):
    page = show("small")
    page.choose("#group", "line")
    page.choose("#colour", "module")
    page.write("#search", "wo")
    page.click_on("#flame")
    click_frame(page, "run", 2)
    address = urllib.parse.urlparse(page.run("location.href")).fragment
    again = show("small", "#" + address)
    assert view(again) == view(page)
    assert [(f["name"], f["w"]) for f in frames(again)] == [(f["name"], f["w"]) for f in frames(page)]
    assert again.text("#matched") == page.text("#matched") != ""
    page.click_on("#reset")
    assert "#" not in page.run("location.href")


@pytest.mark.parametrize("address", ["#by=nothing&of=t999&z=1.99.x.-1&n=x&sort=none&f=gone", "#z=" + "0." * 5000, "#%ff%00=<script>", "#q=%5B&re=1"])
def test_a_broken_address_still_shows_the_profile(show, address):
    page = show("small", address)
    assert page.run("flamegraph.all()")[0] == 1000 * MS
    assert len(table(page)) > 5


def test_the_table_can_be_sorted_and_marks_a_function(show):
    page = show("small")
    page.click_on("[data-sort=total]")
    assert [row[1] for row in table(page)][:3] == ["90.0 %", "80.0 %", "45.0 %"]
    assert [row[2].split()[0] for row in table(page)][:2] == ["<module>", "run"]
    page.run("[...document.querySelectorAll('button.name')].find(b => b.innerText.trim() === 'work').click()")
    assert "total 450.0 ms, 45.0 % of all; own 450.0 ms, 45.0 %" in page.text("#marked")
    page.key("Escape")
    assert page.run("document.querySelector('#marked')") is None


def test_a_narrow_screen(show):
    page = show("small", width=380, height=800)
    assert page.run("document.documentElement.scrollWidth") <= 380
    box = page.run("document.querySelector('#side').getBoundingClientRect().top > document.querySelector('#scroll').getBoundingClientRect().bottom")
    assert box
    assert frame(page, "")["w"] > 340
    page.resize(900, 800)
    page.until("flamegraph.frames()[0].w > 480")


def test_names_that_mean_something_elsewhere_mean_nothing_here(show):
    page = show("hostile")
    assert page.run("window.hit") is None
    assert page.run("document.scripts.length") == 2
    assert page.run("document.querySelectorAll('img, b').length") == 0
    found = names(page)
    assert {"</script><script>window.hit=1</script>", "<!--<script>", "&lt;&amp;&#60;", "]]>", "__proto__", "constructor", "[unnamed]", "@data"} <= found
    assert "\\xff\\xfe\\x80" in found and "\\xed\\xa0\\x80" in found and "a\u2028\u2029b" in found
    assert page.text("#title").startswith("'</script><script>alert(1)</script>'")
    for name in found - {""}:
        f = frame(page, name)
        page.move(f["x"] + f["w"] / 2, f["y"] + 5)
    page.choose("#group", "file")
    page.choose("#group", "module")
    assert page.run("window.hit") is None


def test_no_samples(show):
    page = show("empty")
    assert page.text("#hottest") == "No samples in this view."
    assert [f["name"] for f in frames(page)] == [""]
    page.click_on("#inverted")


def test_the_difference_of_two_profiles(show):
    page = show("diff")
    assert page.text("#title").startswith("What changed in python3 app.py")
    assert page.run("flamegraph.all()") == [1000 * MS, 2000 * MS]
    # work: 45 % of 1.0 s before, 72.5 % of 2.0 s after; all the rest lost share.
    assert table(page)[0][:3] == ["45.0 %", "72.5 %", "+27.50"]
    assert table(page)[0][4].split()[0] == "work"
    assert table(page)[1][2] == "−10.00"
    found, same = frame(page, "work", 3), frame(page, "[no frames]")
    assert found["total"] == [400 * MS, 1400 * MS]
    more, less = (pixel(page, f["x"] + f["w"] / 2, f["y"] + 3) for f in (found, same))
    assert more[0] > more[2] and less[2] > less[0], "more is warm, less is cold"
    widths = {}
    for choice in ("both", "before", "after"):
        page.choose("#width", choice)
        widths[choice] = frame(page, "work", 3)["w"] / frame(page, "")["w"]
    assert widths["before"] == pytest.approx(0.40) and widths["after"] == pytest.approx(0.70) and widths["both"] == pytest.approx(0.55)
    found = frame(page, "work", 3)
    page.move(found["x"] + 5, found["y"] + 5)
    assert "before: total 400.0 ms, 40.0 % of all" in page.text("#tip") and "+30.00 points" in page.text("#tip")
    assert "gone" in page.text("#legend") and "new" in page.text("#legend")


def test_a_hundred_thousand_stacks_are_usable_in_two_seconds(show, files):
    files("large")
    seconds = []
    # A busy machine may take the time of one try or two.
    while len(seconds) < 5 and (not seconds or min(seconds) >= 2.0):
        start = time.monotonic()
        page = show("large")
        assert page.run("document.documentElement.dataset.ready") == "yes"
        seconds.append(time.monotonic() - start)
    assert page.run("flamegraph.all()")[0] == sum(1 + n % 7 for n in range(100000)) * MS
    steps = page.run(
        """(async () => {
            const steps = {}, timed = (name, action) => {
                const start = performance.now();
                action();
                steps[name] = performance.now() - start;
            };
            const change = (id, value) => () => {
                const e = document.getElementById(id);
                if (typeof value === "boolean") e.checked = value; else e.value = value;
                e.dispatchEvent(new Event(id === "search" ? "input" : "change"));
            };
            timed("search", change("search", "function_3"));
            timed("module", change("group", "module"));
            timed("inverted", change("inverted", true));
            timed("function", change("group", "function"));
            return steps;
        })()"""
    )
    print("seconds to show: %s; milliseconds: %s" % (seconds, steps))
    assert min(seconds) < 2.0
    assert max(steps.values()) < 2000


def test_a_recorded_profile_has_the_same_totals_in_every_way(show, files):
    document = json.loads(made("large", "json"))
    own, total = by_function(document)
    page = show("large")
    found = {e["name"]: (e["own"][0], e["total"][0]) for e in page.run("flamegraph.totals()") if e["total"][0]}
    assert found == {name: (own.get(name, 0), value) for name, value in total.items()}


# ---- the picture ----

SVG = "{http://www.w3.org/2000/svg}"


def titles(root):
    return [group.find(SVG + "title").text for group in root.iter(SVG + "g")]


def test_the_picture_is_xml_with_a_title_for_each_frame():
    root = xml.etree.ElementTree.fromstring(made("small", "svg"))
    assert root.find(SVG + "title").text == "python3 app.py --name=a b"
    found = titles(root)
    assert "all\ntotal 1.000 s, 100.00 %; own 0.050 s, 5.00 %" in found
    assert "work (jobs.py:10)\ntotal 0.400 s, 40.00 %; own 0.400 s, 40.00 %" in found
    assert "fib (jobs.py:10)\ntotal 0.100 s, 10.00 %; own 0.000 s, 0.00 %" in found
    widths = {group.find(SVG + "title").text.split("\n")[0]: float(group.find(SVG + "rect").get("width")) for group in root.iter(SVG + "g")}
    assert widths["all"] == pytest.approx(1180, abs=1) and widths["<module> (main.py:10)"] == pytest.approx(1180 * 0.9, abs=1)


def test_the_picture_of_hostile_names_is_xml():
    found = "\n".join(titles(xml.etree.ElementTree.fromstring(made("hostile", "svg"))))
    assert "</script><script>window.hit=1</script>" in found and "\\x07" in found and "\\xff\\xfe\\x80" in found


def test_small_frames_are_left_out_of_the_picture():
    data = made("large", "svg")
    root = xml.etree.ElementTree.fromstring(data)
    assert 1000 < len(titles(root)) < 60000 and len(data) < 10_000_000
    assert min(float(rect.get("width")) for group in root.iter(SVG + "g") for rect in [group.find(SVG + "rect")]) >= 0.29


def test_several_processes_stand_side_by_side_in_the_picture():
    found = titles(xml.etree.ElementTree.fromstring(made("processes", "svg")))
    assert [title.split("\n")[0] for title in found if title.startswith("process")] == ["process 102 (python9)", "process 101 (python9)", "process 100 (python9)"]


@pytest.mark.parametrize("kind", ["small", "hostile", "empty"])
def test_the_browser_shows_the_picture(show, kind):
    page = show(kind, format="svg")
    assert page.run("document.documentElement.tagName") == "svg"
    assert page.run("document.querySelectorAll('parsererror').length") == 0
    assert page.run("document.querySelector('rect').getBoundingClientRect().width") == 1200
