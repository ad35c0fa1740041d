# SPDX-License-Identifier: MIT
"""`pysample dump` shows every thread once, with names, states and the right lines."""

import json
import time

import procfs
import runs
import targets


def test_each_thread_once_with_its_state(usual_python, helpers):
    """Given 14 sleepers and 2 that run: 16 threads, each with the system call it waits in or as running."""
    with targets.python(usual_python, "sleepers.py", helpers) as target:
        busy, native = (int(tid) for tid in target.words)
        procfs.wait_settled(target.pid, [tid for tid in procfs.threads(target.pid) if tid not in (busy, native)])
        dumped = runs.dump(target)
        assert sorted(dumped) == procfs.threads(target.pid)
        assert dumped[busy]["state"] == dumped[native]["state"] == "running"
        assert dumped[busy]["gil"] is True
        assert [tid for tid in dumped if dumped[tid]["gil"]] == [busy]
        for tid, thread in dumped.items():
            functions = {frame.name for frame in runs.frames_of(thread)}
            if tid in (busy, native):
                continue
            assert thread["state"] == "waiting"
            if "wait_pipe" in functions:
                assert thread["syscall"] == "read"
            elif "wait_lock" in functions or "wait_event" in functions:
                assert thread["syscall"] == "futex"
            elif "wait_sleep" in functions:
                assert thread["syscall"] in ("clock_nanosleep", "select")
            else:
                assert "sleep_for_ever" in functions and thread["syscall"] == "pause"
        target.finish()


def test_names_of_python_and_of_the_kernel(usual_python):
    """The name that Python gave a thread and the one the kernel knows are both there."""
    with targets.python(usual_python, "named.py") as target:
        dumped = runs.dump(target)
        assert [dumped[int(tid)]["python_name"] for tid in target.words] == ["worker-a", "worker-b"]
        for tid in target.words:
            assert dumped[int(tid)]["name"] == procfs.read(target.pid, int(tid), "comm").rstrip("\n")
        target.finish()


def test_names_of_python_in_every_version(every_python):
    """The names of threading.Thread are found in every version, also where the kernel has none of them."""
    with targets.python(every_python, "named_anywhere.py") as target:
        names = {thread["python_name"] for thread in runs.dump(target).values()}
        assert {"MainThread", "first worker", "zweiter Wörker" if every_python.version > (3,) else "second worker"} <= names
        target.finish()


def test_text_for_people(usual_python):
    """The text has the thread's name and id, and the frames with file and line, innermost last as in a traceback."""
    with targets.python(usual_python, "named.py") as target:
        outcome = runs.pysample("dump", "-p", target.pid).ok()
        target.check_untouched()
        for word in ("worker-a", "worker-b", target.words[0], target.words[1], str(target.pid), "named.py"):
            assert word in outcome.out
        first, second = outcome.out.index("work_a"), outcome.out.index("compute")
        assert outcome.out.count("work_a") == 1 and first < second or "compute" not in outcome.out[first:]
        target.finish()


def test_order_of_frames(usual_python):
    """Innermost last by default, innermost first with --reverse."""
    with targets.python(usual_python, "naps.py", 600, 1) as target:
        procfs.wait_until(lambda: procfs.state(target.pid) == "S", "the target asleep")
        usual = runs.pysample("dump", "-p", target.pid).ok().out
        turned = runs.pysample("dump", "-p", target.pid, "--reverse").ok().out
        assert usual.index("<module>") < usual.index("main (") < usual.index("nap (")
        assert turned.index("nap (") < turned.index("main (") < turned.index("<module>")
        target.finish()


def test_dump_is_quick(usual_python, helpers):
    """Given 200 threads, a dump takes less than a second."""
    with targets.python(usual_python, "parked.py", helpers, 200, 0, 600000, "epoll_wait") as target:
        begin = time.monotonic()
        dumped = runs.dump(target)
        assert time.monotonic() - begin < 1.0
        assert len(dumped) == 201
        target.finish()


def test_dump_names_the_process(usual_python):
    """The JSON says which process and which version of Python it is."""
    with targets.python(usual_python, "busy.py") as target:
        outcome = runs.pysample("dump", "-p", target.pid, "--json").ok()
        document = json.loads(outcome.out)
        assert document["pid"] == target.pid
        assert document["python_version"].startswith("%d.%d" % usual_python.version)
        target.finish()
