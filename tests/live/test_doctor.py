# SPDX-License-Identifier: MIT
"""`pysample doctor` says what is so, tries what it says, and leaves the target as it was."""

import json
import os
import re
import signal
import subprocess

import pytest

import procfs
import runs
import targets

LINE = re.compile(r"  (ok|note|no) +(\S+(?: \S+)*?)  +(\S.*)")
TRIED = ["process_vm_readv", "/proc/PID/mem", "/proc syscall", "/proc schedstat"]


def sections(text):
    """{section: {what: (level, text)}} of doctor's report."""
    found, section = {}, None
    for line in text.splitlines():
        if re.fullmatch(r"\w+:", line):
            section = found.setdefault(line[:-1], {})
        elif LINE.fullmatch(line):
            level, what, said = LINE.fullmatch(line).groups()
            section[what] = (level, said)
    return found


def doctor(*arguments, code=0, **options):
    outcome = runs.pysample("doctor", *arguments, **options)
    assert outcome.code == code, outcome
    assert outcome.err == ""
    return sections(outcome.out)


def has_capability(number):
    return bool(int(procfs.status(os.getpid())["CapEff"], 16) >> number & 1)


def unshared(*options):
    command = ["unshare", *options]
    if subprocess.run([*command, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("unshare %s is not allowed here" % " ".join(options))
    return command


def test_machine():
    outcome = runs.pysample("doctor")
    found = sections(outcome.out)["system"]
    assert os.uname().release in found["kernel"][1]
    assert found["user"] == ("note", "uid %d, gid %d" % (os.getuid(), os.getgid()))
    for name, number in (("SYS_PTRACE", 19), ("SYS_ADMIN", 21), ("PERFMON", 38)):
        assert "%s %s" % (name, "yes" if has_capability(number) else "no") in found["capabilities"][1]
    for what, file in (("user namespace", "user"), ("PID namespace", "pid"), ("mount namespace", "mnt")):
        assert found[what][1].split(",")[0] == re.search(r"\d+", os.readlink("/proc/self/ns/" + file)).group()
    if os.path.exists("/proc/sys/kernel/yama/ptrace_scope"):
        with open("/proc/sys/kernel/yama/ptrace_scope") as file:
            assert "= %s" % file.read().strip() in found["Yama"][1]
    else:
        assert found["Yama"] == ("ok", "not in this kernel")
    assert found["NoNewPrivs"][1].startswith("no")
    assert found["attach"][0] == "ok"
    for what in TRIED:
        assert found[what] == ("ok", "works")
    in_the_way = any(level == "no" for level, _ in found.values())
    assert outcome.code == (1 if in_the_way else 0)


def test_new_privileges_forbidden():
    found = doctor(prefix=["setpriv", "--no-new-privs"])["system"]
    assert found["NoNewPrivs"] == ("note", "yes: sudo has no effect here")


def test_inner_user_namespace():
    found = doctor(prefix=unshared("--user", "--map-root-user"))["system"]
    assert "not the initial one" in found["user namespace"][1]
    assert "SYS_PTRACE yes" in found["capabilities"][1]


@pytest.mark.parametrize("errnum", [1, 38], ids=["EPERM", "ENOSYS"])
def test_without_ptrace(build, errnum):
    prefix = [build("without_calls.c"), errnum, "ptrace", "--"]
    # A sanitizer build looks for leaks by tracing itself.
    outcome = runs.pysample("doctor", prefix=prefix, environment={"ASAN_OPTIONS": "detect_leaks=0"})
    assert outcome.code == 1
    found = sections(outcome.out)["system"]
    assert found["attach"] == ("no", "pysample itself runs under a seccomp filter that forbids ptrace")
    assert found["seccomp"][1].startswith("filter")
    assert found["process_vm_readv"][0] == "ok"
    assert "to do: start its container with" in outcome.out
    assert outcome.out.splitlines()[-1] == "something is in the way of sampling here"


@pytest.mark.parametrize("errnum, text", [(1, "Operation not permitted"), (38, "Function not implemented")])
def test_without_process_vm_readv(build, errnum, text):
    found = doctor(prefix=[build("without_calls.c"), errnum, "process_vm_readv", "--"])["system"]
    assert found["process_vm_readv"] == ("note", text + ": the other ways of reading serve instead")
    assert found["attach"][0] == "ok"
    assert found["/proc/PID/mem"] == ("ok", "works")


def test_json_says_the_same(usual_python):
    with targets.python(usual_python, "busy.py") as target:
        text = doctor("-p", target.pid)
        report = json.loads(runs.pysample("doctor", "-p", target.pid, "--json").ok().out)
        target.check_untouched()
    assert report["schema"] == "pysample-doctor/1"
    assert report["pid"] == target.pid
    assert report["can_sample"] is True
    again = {}
    for finding in report["findings"]:
        again.setdefault(finding["section"], {})[finding["what"]] = (finding["level"], finding["text"])
        assert finding["advice"] is None or finding["level"] != "ok"
    # How many threads sleep just now may differ.
    del again["target"]["threads"], text["target"]["threads"]
    assert again == text


def test_python_target(every_python):
    with targets.python(every_python, "busy.py") as target:
        found = doctor("-p", target.pid)
        target.check_untouched()
        mapped = procfs.mapped_files(target.pid)
        target.finish()
    python = found["python"]
    level, text = python["runtime"]
    version, path = re.match(r"CPython (\d\S*?)(?:,.*)? in (.*), found by \S", text).groups()
    assert level == "ok"
    said = subprocess.run(
        every_python.command("-c", "import platform; print(platform.python_version())"),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=targets.environment(**every_python.environment),
    ).stdout.strip()
    assert version.rstrip("+") in (said.rstrip("+"), re.match(r"[\d.]+", said).group())
    assert path in mapped
    assert ("debug build" in text) == every_python.name.endswith("-debug")
    minor = every_python.version >= (3, 13)
    assert re.search("debug offsets|untested" if minor else "measured", python["layout"][1])
    assert python["C library"][0] == "ok"
    assert "interpreter" in python["thread states"][1] or re.search(r"key \d|thread-local", python["thread states"][1])
    assert python["Python threads"] == ("ok", "1 thread state in 1 interpreter, 1 thread in all")
    assert found["target"]["attach"] == ("ok", "a thread was stopped and let go")
    if every_python.in_chroot:
        assert found["target"]["root folder"][1].startswith(os.path.realpath(every_python.root) + ":")


def test_process_without_python():
    with targets.command("sleep", 60, ready=False) as target:
        procfs.wait_until(lambda: procfs.state(target.pid) == "S", "sleep does not sleep")
        found = doctor("-p", target.pid, code=1)
        target.check_untouched()
    assert found["target"]["attach"][0] == "ok"
    assert found["python"]["runtime"][0] == "no"


def test_threads_and_their_states(usual_python, helpers):
    with targets.python(usual_python, "parked.py", helpers, 3, 2, -1, "epoll_wait") as target:
        found = doctor("-p", target.pid)
        target.check_untouched()
        target.finish()
    assert re.fullmatch(r"6 \(\d R, 5 S\)|6 \(6 S\)", found["target"]["threads"][1])
    assert found["python"]["Python threads"] == ("ok", "4 thread states in 1 interpreter, 6 threads in all")


def test_target_stopped_by_job_control_stays_so(usual_python):
    with targets.python(usual_python, "busy.py") as target:
        target.tell(signal.SIGSTOP)
        procfs.wait_until(lambda: procfs.state(target.pid) == "T", "the target does not stop")
        found = doctor("-p", target.pid)
        procfs.wait_until(lambda: procfs.state(target.pid) == "T", "the target was set going")
        assert found["target"]["threads"] == ("note", "1 (1 T): stopped by job control, and stays so")
        assert found["target"]["attach"][0] == "ok"
        target.tell(signal.SIGCONT)
        target.check_untouched()
        target.finish()


def test_target_without_its_main_thread(usual_python):
    with targets.python(usual_python, "leaderless.py") as target:
        procfs.wait_until(lambda: procfs.state(target.pid) == "Z", "the main thread does not end")
        found = doctor("-p", target.pid)
        assert found["target"]["attach"][0] == "ok"
        assert found["python"]["runtime"][0] == "ok"
        target.check_untouched()
        target.finish(by="stdin")


def test_target_in_namespaces_of_its_own(usual_python, as_root):
    command = unshared("--pid", "--fork", "--kill-child", "--mount-proc")
    program = targets.PROGRAMS / "busy.py"
    with targets.command(*command, *usual_python.command(program)) as target:
        inner = procfs.children(target.pid)[0]
        found = doctor("-p", inner)
        assert found["target"]["user namespace"] == ("note", "ours")
        assert found["target"]["PID namespace"] == ("note", "another one, in which the process is 1")
        assert found["target"]["mount namespace"][1].startswith("another one")
        assert found["python"]["runtime"][0] == "ok"
        os.kill(inner, signal.SIGKILL)


def test_hostile_name_reaches_no_terminal(usual_python):
    rename = "open('/proc/self/comm', 'w').write(chr(27) + '[31m\\nx'); print('ready', flush=True); input()"
    with targets.command(*usual_python.command("-c", rename)) as target:
        outcome = runs.pysample("doctor", "-p", target.pid).ok()
        assert "\x1b" not in outcome.out
        assert "%d (?[31m" % target.pid in outcome.out
        target.check_untouched()


def test_ten_visits_leave_the_program_as_it_was(usual_python):
    with targets.python(usual_python, "busy.py") as target:
        for _ in range(10):
            doctor("-p", target.pid)
        target.check_untouched()
        assert target.count()
        target.finish()


@pytest.mark.parametrize("arguments", [["-p", "x"], ["-p", "0"], ["-p", "-1"], ["-p"], ["surplus"], ["--no-such-option"]], ids=" ".join)
def test_wrong_usage(arguments):
    outcome = runs.pysample("doctor", *arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err
