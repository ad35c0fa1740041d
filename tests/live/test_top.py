# SPDX-License-Identifier: MIT
"""pysample top, driven by keys on a terminal of tmux."""

import os
import re
import signal
import subprocess

import pytest

import procfs
import runs
import targets
import terminal

HEADS = 6  # lines above the rows


@pytest.fixture
def target(usual_python):
    with targets.python(usual_python, "top.py") as started:
        yield started
        if started.process.poll() is None:
            started.check_untouched()


def top(target, *options, **rest):
    return terminal.running(runs.program(), "top", "-p", target.pid, *options, **rest)


def row_of(lines, name):
    """The numbers of a function's row: own % and total % of the last seconds and since the start, own seconds; None without one."""
    for line in lines[HEADS:]:
        match = re.match(r"((?:\s*[\d.]+){4})\s+([\d.]+)s  %s(?: |$)" % re.escape(name), line)
        if match:
            return [float(word) for word in match.group(1).split()] + [float(match.group(2))]
    return None


def names(lines):
    """The names of the functions from top to bottom."""
    found = [re.match(r"(?:\s*[\d.]+){4}\s+[\d.]+s  (.*?)(?: \(|$)", line) for line in lines[HEADS:]]
    return [match.group(1) for match in found if match]


def wait_rows(screen):
    screen.wait(lambda lines: "spin" in names(lines), "rows")


def child_of(screen):
    """The process id of the pysample on the terminal."""
    return screen.processes()[1]


def test_functions_have_own_and_total_time(target, built):
    with top(target) as screen:
        # The first picture may be of one sample, whose few milliseconds are none at two digits.
        screen.wait(lambda lines: (row_of(lines, "spin") or [0] * 5)[4] > 0.2, "the time of spin")
        screen.wait(lambda lines: (row_of(lines, "hot_one") or [0, 0])[1] > 30, "the share of hot_one")
        lines = screen.lines()
        assert "pysample top: %d, Python " % target.pid in lines[0] and "top.py" in lines[0]
        assert re.search(r"running [\d.]+ s  [\d.]+ of 100.0 Hz  \d+ samples  \d+ lost \([\d.]+ %\)  complete [\d.]+ %", lines[1])
        assert re.search(r"2 threads, [\d.]+ of them running, GIL held \d+ %", lines[2])
        spin, outer = row_of(lines, "spin"), row_of(lines, "run")
        assert spin[0] > 50 and spin[4] > 0
        assert outer[0] < 20 and outer[1] == pytest.approx(100, abs=3)
        screen.press("q")
        assert screen.wait_exit() == 0
        screen.wait_text("samples in")


def test_recent_time_follows_the_program(target):
    with top(target) as screen:
        screen.wait(lambda lines: (row_of(lines, "hot_one") or [0, 0])[1] > 30, "the share of hot_one")
        target.process.stdin.write(b"two\n")
        target.process.stdin.flush()
        row = screen.wait(
            lambda lines: (lambda row: row if row and row[1] == 0 else None)(row_of(lines, "hot_one")),
            "hot_one is not recent any more",
        )
        assert row[3] > 0


def test_strange_names_leave_the_screen_as_it_is(target):
    with top(target, columns=120) as screen:
        screen.wait_text("odd\\x1b[31mred\\x0aline (top.py:")
        screen.wait_text("日本語e\u0301nd (top.py:")
        # In a narrow place the wide name is cut, and the next line begins where it should.
        screen.resize(54, 24)
        screen.wait(lambda lines: any(line.endswith("s  日本語e\u0301~") or "日本語e\u0301nd" in line for line in lines), "the name in a narrow place")


def test_what_the_locale_can_not_show_is_replaced(target):
    with top(target, LC_ALL="C") as screen:
        screen.wait_text("???e?nd (top.py:")


def test_threads_have_states_and_the_gil(target):
    with top(target) as screen:
        wait_rows(screen)
        screen.press("t")
        screen.wait(lambda lines: any(re.match(r"\s+%d  (GIL|running)\s.*MainThread  in " % target.pid, line) for line in lines), "the main thread")
        screen.wait(lambda lines: any(re.match(r"\s+\d+  idle\s+0\.0\s+0\.0\s+\d+\.\d\s.*sleepy", line) for line in lines), "the sleeping thread")
        screen.press("Tab")
        wait_rows(screen)


def test_a_column_sorts_the_rows(target):
    with top(target) as screen:
        screen.wait(lambda lines: names(lines)[:1] == ["spin"], "sorted by own time")
        screen.press("2")
        screen.wait(lambda lines: ">total" in lines[5] and names(lines)[:1] in (["<module>"], ["run"]), "sorted by total time")
        screen.press("Right")
        screen.wait(lambda lines: re.search(r"total % +>own %", lines[5]) and names(lines)[:1] == ["spin"], "sorted by own time since the start")


def test_typed_text_filters(target):
    with top(target) as screen:
        wait_rows(screen)
        screen.type("/HOT_q")
        screen.wait_text("filter: HOT_q_")
        screen.press("BSpace", "Enter")
        screen.wait(lambda lines: sorted(names(lines)) == ["hot_one", "hot_two"], "only the hot functions")
        screen.wait_text("filter: HOT_ (2)")
        screen.press("Escape")
        wait_rows(screen)


def test_a_pause_holds_the_picture(target):
    with top(target) as screen:
        wait_rows(screen)
        screen.press("Space")
        screen.wait_text("PAUSED")
        before = screen.lines()
        # The keys are taken, and change what is to be seen but not the numbers.
        screen.press("t")
        screen.wait_text("name and function")
        screen.press("t")
        wait_rows(screen)
        assert screen.lines() == before
        screen.press("l")
        screen.wait_text("by line")
        screen.press("l")
        screen.wait_text("by function")
        assert screen.lines() == before
        screen.press("Space")
        screen.wait_text("running ")
        screen.wait(lambda lines: lines[1] != before[1].replace("PAUSED", "running"), "other figures")


def test_a_reset_counts_anew(target):
    def elapsed(lines):
        match = re.match(r"running ([\d.]+) s", lines[1])
        return float(match.group(1)) if match else None

    with top(target) as screen:
        screen.wait(lambda lines: (elapsed(lines) or 0) > 2, "two seconds")
        screen.press("r")
        screen.wait(lambda lines: "since the reset" in lines[4] and elapsed(lines) is not None and elapsed(lines) < 2, "a small time")
        screen.wait(lambda lines: (row_of(lines, "spin") or [0] * 5)[4] > 0, "new samples")


def test_lines_have_rows_of_their_own(target, built):
    with top(target) as screen:
        wait_rows(screen)
        screen.press("l")
        screen.wait(lambda lines: names(lines).count("spin") >= 2, "more than one line of spin")


def test_idle_threads_count_when_asked_for(target, built):
    with top(target) as screen:
        wait_rows(screen)
        assert row_of(screen.lines(), "sleeper") is None
        screen.press("i")
        screen.wait(lambda lines: (row_of(lines, "sleeper") or [0])[0] > 20, "the sleeping function")
        screen.wait_text("idle threads too")


def test_native_frames_can_be_turned_off(target, built):
    with top(target, "--native", lines=50) as screen:
        screen.wait(lambda lines: any("python" in line and ".py" not in line for line in lines[HEADS:]), "a native function")
        assert "native frames too" in screen.lines()[3]
        screen.press("n")
        screen.wait(lambda lines: all(".py" in line or not line for line in lines[HEADS:-1]), "only Python functions")
        screen.press("n")
        screen.wait_text("native frames too")
    with top(target) as screen:
        wait_rows(screen)
        screen.press("n")
        screen.wait_text("start with --native")


def test_the_help_lists_the_keys(target):
    with top(target, lines=30) as screen:
        wait_rows(screen)
        screen.press("?")
        screen.wait_text("Keys (any key goes back)")
        keys = "".join(re.match(r"(.*?)  ", line + "  ").group(1) for line in screen.lines()[5:18])
        for key in "q 1 2 3 4 / space p r l n i t P ?".split():
            assert key in keys
        screen.press("F1")
        wait_rows(screen)


def test_the_end_of_the_program_leaves_its_last_state(target):
    with top(target) as screen:
        # Enough samples for more than one line of a function.
        screen.wait(lambda lines: (row_of(lines, "spin") or [0] * 5)[4] > 0.5, "half a second")
        target.process.stdin.write(b"end\n")
        target.process.stdin.close()
        target.wait_end()
        screen.wait_text("the process has ended")
        assert screen.lines()[1].startswith("ENDED ")
        wait_rows(screen)
        screen.press("t")
        screen.wait_text("name and function")
        screen.resize(90, 20)
        screen.press("t", "l")
        screen.wait(lambda lines: names(lines).count("spin") >= 2 and "q end" in lines[-1], "rows by line, 20 lines")
        screen.press("q")
        assert screen.wait_exit() == 0


def test_another_size_is_taken_at_once(target):
    with top(target, columns=100, lines=24) as screen:
        wait_rows(screen)
        screen.resize(130, 40)
        screen.wait(lambda lines: len(lines) == 40 and lines[39].startswith("q end"), "40 lines")
        screen.resize(40, 24)
        screen.wait_text("too small: 50x10 is needed")
        screen.resize(80, 9)
        screen.wait_text("too small: 50x10 is needed")
        screen.resize(80, 24)
        wait_rows(screen)
        screen.wait(lambda lines: all(len(line) <= 80 for line in lines) and lines[23].startswith("q end"), "24 lines")


def test_a_terminal_that_is_too_small_from_the_start_says_so(target):
    with top(target, columns=30, lines=5) as screen:
        screen.wait_text("too small: 50x10 is needed")
        screen.press("q")
        assert screen.wait_exit() == 0


@pytest.mark.parametrize("key", ["q", "C-c", "F10"])
def test_a_key_ends_it_and_the_terminal_is_as_before(target, key):
    with top(target, "-q") as screen:
        wait_rows(screen)
        assert screen.show("alternate_on") == "1"
        screen.press(key)
        assert screen.wait_exit() == 0
        assert "samples in" not in screen.screen()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_it_and_the_terminal_is_as_before(target, number):
    with top(target) as screen:
        wait_rows(screen)
        os.kill(child_of(screen), number)
        assert screen.wait_exit() == 0


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGQUIT])
def test_the_terminal_is_as_before_when_it_crashes(target, number):
    with top(target) as screen:
        wait_rows(screen)
        os.kill(child_of(screen), number)
        assert screen.wait_exit() == 128 + number


def cpu_ticks(pid):
    with open("/proc/%d/stat" % pid) as file:
        return sum(map(int, file.read().rpartition(")")[2].split()[11:13]))


def test_held_up_output_does_not_hold_up_the_samples(target):
    """Ctrl-S stops the output of the terminal. A program that waits for it would use no CPU time."""
    with top(target, "-F", 1000) as screen:
        wait_rows(screen)
        pid = child_of(screen)
        screen.press("C-s")
        before = screen.wait(lambda lines: lines if lines == screen.lines() else None, "a picture that stands still")
        used = cpu_ticks(pid)
        procfs.wait_until(lambda: cpu_ticks(pid) >= used + 10, "pysample to go on")
        assert screen.lines() == before
        screen.press("C-q")
        screen.wait(lambda lines: lines != before and "spin" in names(lines), "another picture")
        screen.press("C-s")
        os.kill(pid, signal.SIGTERM)
        assert screen.wait_exit() == 0


def test_a_terminal_that_goes_away_ends_it(target):
    with top(target) as screen:
        wait_rows(screen)
        pid = child_of(screen)
        screen.tmux("respawn-pane", "-k", "cat")
        procfs.wait_until(lambda: not procfs.is_alive(pid), "pysample to end")


def test_a_process_that_is_not_there_leaves_the_terminal_alone(usual_python):
    with terminal.running(runs.program(), "top", "-p", 2**22 - 1) as screen:
        assert screen.wait_exit() == 1
        screen.wait_text("pysample: ")
        assert "top:" not in screen.screen()


def test_without_colours_there_is_no_colour(target):
    def has_colours(screen):
        return re.search(r"\033\[[\d;]*3[0-7][\d;]*m", screen.tmux("capture-pane", "-pe"))

    with top(target, NO_COLOR="1") as screen:
        wait_rows(screen)
        screen.press("Space")
        screen.wait_text("PAUSED")
        assert not has_colours(screen)
    with top(target) as screen:
        wait_rows(screen)
        screen.press("Space")
        screen.wait_text("PAUSED")
        assert has_colours(screen)


def test_a_given_time_ends_it(target):
    with top(target, "-d", "1s") as screen:
        assert screen.wait_exit() == 0


def refused(*words, **environment):
    run = subprocess.run(
        [runs.program(), "top", *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr.count("\n") == 1
    return run.stderr


def test_without_a_terminal_it_says_so_in_a_line():
    assert "needs a terminal" in refused("-p", os.getpid())


def test_without_a_process_it_says_so():
    assert "-p PID" in refused()


def test_an_unknown_terminal_is_named(target):
    with top(target, TERM="no-such-terminal") as screen:
        assert screen.wait_exit() == 2
        screen.wait_text('type "no-such-terminal"')
