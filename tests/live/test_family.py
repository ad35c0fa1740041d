# SPDX-License-Identifier: MIT
"""Processes that others start: found by looking, told apart, left alone where they are no Python."""

import collections
import contextlib
import json
import os
import re
import signal
import statistics

import pytest

import procfs
import runs
import targets


@contextlib.contextmanager
def family(interpreter, *arguments, **options):
    """A program that starts others, in a session of its own, of which nothing is left at the end."""
    with targets.python(interpreter, "family.py", *arguments, start_new_session=True, **options) as target:
        try:
            yield target
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(target.process.pid, signal.SIGKILL)


def by_process(stacks):
    """{pid: {function: weight}} of a profile of several processes."""
    found = collections.defaultdict(collections.Counter)
    for frames, weight in stacks.items():
        match = re.fullmatch(r"process (\d+) \(.*\)", frames[0].name) or re.match(r"process (\d+)", frames[0].name)
        assert match, frames
        for name in {runs.last(frame.name) for frame in frames[1:]}:
            found[int(match.group(1))][name] += weight
    return found


def record(target, seconds, *arguments):
    return runs.pysample("-p", target.pid, "--subprocesses", "-d", "%gs" % seconds, *arguments).ok()


def having(found, function):
    return {pid for pid, names in found.items() if function in names}


def test_the_workers_of_a_prefork_server(usual_python):
    """Given a master and three workers that it forked, each is a process of the profile with what it does."""
    with family(usual_python, "prefork") as target:
        found = by_process(record(target, 1.5).stacks())
        assert having(found, "master_work") == {target.pid}
        assert having(found, "worker_work") == set(procfs.children(target.pid))
        assert len(found) == 4
        target.check_untouched()


def test_without_the_option_children_are_left_alone(usual_python):
    with family(usual_python, "prefork") as target:
        outcome = runs.record(target, 0.5)
        assert "master_work" in runs.names(outcome.stacks())
        assert "worker_work" not in runs.names(outcome.stacks())


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_pool(usual_python, method):
    """Given a pool that is started while we look, its two workers are found, whichever way they come to be."""
    with family(usual_python, method) as target:
        outcome = runs.pysample("-p", target.pid, "--subprocesses").ok()
        workers = having(by_process(outcome.stacks()), "worker_work")
        assert len(workers) == 2 and target.pid not in workers
        target.wait_end()


def test_a_python_below_a_shell(usual_python):
    with family(usual_python, "shell") as target:
        found = by_process(record(target, 1).stacks())
        assert having(found, "master_work") == {target.pid}
        (below,) = having(found, "below_shell")
        assert procfs.children(target.pid) != [below]


def test_children_that_execute_something_else(usual_python):
    """Given a child that executes another Python, what it does afterwards is there; one that executes sleep is left alone."""
    with family(usual_python, "exec") as target:
        outcome = record(target, 2)
        found = by_process(outcome.stacks())
        assert len(having(found, "after_exec")) == 1
        assert having(found, "worker_work") <= set(procfs.children(target.pid))
        assert "lost " not in outcome.err or "after an exec" not in outcome.err
        target.check_untouched()


def test_a_process_stays_known_when_its_parent_ends(usual_python):
    with family(usual_python, "orphan") as target:
        with runs.recording("-p", target.pid, "--subprocesses", "-d", "2s", "-f", "json") as run:
            document = json.loads(run.result().ok().out)
    workers = [process for process in document["processes"] if process["pid"] != target.pid]
    assert len(workers) >= 1
    profile = runs.JsonProfile(document)
    counts = collections.Counter()
    for sample in document["samples"]:
        if any(runs.last(frame.name) == "worker_work" for frame in profile.frames(sample["stack"])):
            counts[document["threads"][sample["thread"]]["process"]] += sample["wall_ns"]
    # Its parent lived for 0.3 s of the two.
    assert max(counts.values()) > 1e9


@pytest.mark.parametrize("options, runs_on", [((), True), (("--until-exit",), False)])
def test_the_run_ends_with_the_last_process_or_with_the_target(usual_python, options, runs_on):
    with family(usual_python, "outlives") as target:
        outcome = runs.pysample("-p", target.pid, "--subprocesses", "--weights", "ns", *options).ok()
        found = by_process(outcome.stacks())
        (child,) = having(found, "runs_on")
        assert (found[child]["runs_on"] > 0.9e9) == runs_on


def test_children_are_found_within_20_ms(usual_python):
    """Given children that live for 60 ms each, most of their time is in the profile: at least 40 ms."""
    with family(usual_python, "short", 60) as target:
        with runs.recording("-p", target.pid, "--subprocesses", "-F", 200, "--weights", "ns") as run:
            run.wait_sampling(5)
            target.process.stdin.write(b"x")
            target.process.stdin.flush()
            children = json.loads(target.read_line())
            target.process.stdin.close()
            found = by_process(run.result().ok().stacks())
    seen = [found[pid]["worker_work"] / 1e6 if pid in found else 0 for pid in children]
    assert statistics.median(seen) >= 40, seen


def test_where_the_last_pid_is_not_told(usual_python, tmp_path, as_root):
    """Given a /proc/loadavg that never changes, as some containers have one, children are found all the same."""
    fake = tmp_path / "loadavg"
    fake.write_text("0.00 0.00 0.00 1/1 1\n")
    hidden = ["unshare", "-m", "sh", "-c", "mount --bind \"$0\" /proc/loadavg && exec \"$@\"", str(fake)]
    with family(usual_python, "short", 100) as target:
        with runs.recording("-p", target.pid, "--subprocesses", prefix=hidden) as run:
            run.wait_sampling(5)
            target.process.stdin.write(b"x")
            target.process.stdin.flush()
            children = json.loads(target.read_line())
            target.process.stdin.close()
            found = by_process(run.result().ok().stacks())
    assert len(set(children) & set(found)) > len(children) / 2


def test_what_is_no_python_is_left_alone(usual_python, as_root):
    """Given programs that are started again and again, none of them is ever held nor in the profile, with native frames neither."""
    with family(usual_python, "others") as target:
        outcome = record(target, 1.5, "--native", "-f", "json")
        document = json.loads(outcome.out)
        executables = {os.path.basename(process["executable"]) for process in document["processes"]}
        assert executables == {os.path.basename(os.readlink("/proc/%d/exe" % target.pid))}
        target.check_untouched()


def test_a_fork_storm_with_subprocesses(usual_python, helpers):
    """Given fork and vfork as fast as can be, looking for children slows the storm by less than 20 %, and leaves none stopped."""
    with targets.python(usual_python, "storm.py", helpers) as target:
        alone, sampled, descriptors = [], [], []
        for _ in range(5):
            alone.append(target.count_rate(0.6))
            with runs.recording("-p", target.pid, "--subprocesses") as run:
                run.wait_sampling()
                sampled.append(target.count_rate(0.6))
                descriptors.append(len(os.listdir("/proc/%d/fd" % run.pid)))
                run.tell(signal.SIGTERM)
                run.result().ok()
        # Whatever else the machine does can only lower a rate: the highest ones are compared.
        assert max(sampled) > 0.8 * max(alone), (alone, sampled)
        assert max(descriptors) < 60, descriptors
        assert len(procfs.children(target.pid)) <= 1
        target.check_untouched()
        target.finish()


def test_children_of_a_process(usual_python):
    """The process itself is not sampled, what it started is; a process without children yields those that it starts later."""
    with family(usual_python, "prefork") as target:
        found = by_process(runs.pysample("--children-of", target.pid, "-d", "1s").ok().stacks())
        assert set(found) == set(procfs.children(target.pid))


def test_several_processes(usual_python):
    with targets.python(usual_python, "busy.py") as one, targets.python(usual_python, "busy.py") as other:
        outcome = runs.pysample("-p", one.pid, "-p", other.pid, "-d", "1s").ok()
        assert set(by_process(outcome.stacks())) == {one.pid, other.pid}
        one.kill()
        outcome = runs.pysample("-p", one.pid, "-p", other.pid, "-d", "1s")
        assert outcome.code == 1
        outcome.one_error(one.pid)


def test_one_of_several_ends(usual_python):
    """The run goes on with the other one; names of the one that has ended are there."""
    with targets.python(usual_python, "busy.py") as one, targets.python(usual_python, "busy.py") as other:
        with runs.recording("-p", one.pid, "-p", other.pid, "-d", "2s", "--native") as run:
            run.wait_sampling(60)
            one.finish()
            found = by_process(run.result().ok().stacks())
        assert set(found) == {one.pid, other.pid}
        assert "_start" in found[one.pid] or "__libc_start_call_main" in found[one.pid]
        other.finish()


def test_dump_shows_one_process_after_the_other(usual_python):
    with family(usual_python, "prefork") as target:
        everyone = [target.pid, *procfs.children(target.pid)]
        text = runs.pysample("dump", "-p", target.pid, "--subprocesses").ok().out
        assert [text.index(str(pid)) for pid in everyone] == sorted(text.index(str(pid)) for pid in everyone)
        assert text.count("worker_work") == 3
        document = json.loads(runs.pysample("dump", "--children-of", target.pid, "--json").ok().out)
        assert [len(process["threads"]) for process in document] == [1, 1, 1]
        target.check_untouched()


def test_a_launched_program_and_what_it_starts(usual_python):
    outcome = runs.pysample(
        "--subprocesses", "--", "sh", "-c", "\"$0\" -c \"$1\"; exit 5", *usual_python.command(), "def inner():\n    for i in range(20000000): pass\ninner()"
    )
    assert outcome.code == 5
    assert "inner" in runs.names(outcome.stacks())


def test_a_pysample_that_is_killed_leaves_all_processes_running(usual_python):
    with family(usual_python, "prefork") as target:
        for _ in range(10):
            with runs.recording("-p", target.pid, "--subprocesses", "-F", 1000) as run:
                run.wait_sampling(20)
                run.tell(signal.SIGKILL)
                run.process.wait()
            for pid in [target.pid, *procfs.children(target.pid)]:
                assert not any(procfs.tracers(pid).values())
                procfs.wait_until(lambda: set(procfs.states(pid).values()) <= set("RS"), "a process is stopped")


