# SPDX-License-Identifier: MIT
"""What stands in the way of looking at a process is named in one line, with what to do; the target does not notice."""

import contextlib
import os
import pathlib
import shutil
import signal
import stat
import struct
import subprocess
import tempfile

import pytest

import interpreters
import procfs
import runs
import targets

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
OTHER = ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups"]
# A sanitizer build looks for leaks by tracing itself, which needs what these tests take away.
NO_LEAK_CHECK = {"ASAN_OPTIONS": "detect_leaks=0"}


def run_plainly(*command, **options):
    words = [str(word) for word in command]
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **options)


def can_run(*command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


@pytest.fixture(scope="module", autouse=True)
def program_for_all():
    """A copy of pysample that every user can run, wherever the tree is."""
    directory = tempfile.mkdtemp(prefix="pysample-live-", dir="/tmp")
    os.chmod(directory, 0o755)
    copy = shutil.copy(runs.program(), directory)
    os.chmod(copy, 0o755)
    before = os.environ.get("PYSAMPLE")
    os.environ["PYSAMPLE"] = copy
    yield copy
    if before is None:
        del os.environ["PYSAMPLE"]
    else:
        os.environ["PYSAMPLE"] = before
    shutil.rmtree(directory)


@pytest.fixture
def system_python():
    found = interpreters.one("system")
    if not found:
        pytest.skip("no system Python, and pyenv's is in a folder that is closed to other users")
    return found


def refuse(pid, *words, **options):
    """Recording fails with one line that has the words in it, and doctor says the same; returns the line."""
    outcome = runs.pysample("-p", pid, "-d", "200ms", **options)
    assert outcome.code == 1, outcome
    assert outcome.out == ""
    line = outcome.one_error(*words)
    doctor = runs.pysample("doctor", "-p", pid, **options)
    assert doctor.code == 1, doctor
    assert "cannot be sampled" in doctor.out
    for word in words:
        assert str(word) in doctor.out, doctor
    return line


def test_no_such_process():
    with open("/proc/sys/kernel/pid_max") as file:
        pid = int(file.read()) - 1
    refuse(pid, pid, "no such process")


def test_process_that_has_ended_and_was_not_collected():
    child = subprocess.Popen(["true"])
    procfs.wait_until(lambda: procfs.state(child.pid) == "Z", "the child does not end")
    refuse(child.pid, child.pid, "has ended")
    child.wait()


def test_pysample_itself():
    outcome = run_plainly("sh", "-c", 'exec "$0" -p $$ -d 200ms', runs.program())
    assert outcome.returncode == 1
    assert "pysample itself" in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1


def test_kernel_thread():
    kernel_threads = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if is_kernel_thread(pid)]
    if not kernel_threads:
        pytest.skip("no kernel thread is to be seen in this PID namespace")
    refuse(kernel_threads[0], "kernel thread")


def is_kernel_thread(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return int(file.read().rpartition(")")[2].split()[6]) & 0x200000 != 0
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_process_of_32_bits(tmp_path):
    code = b"\xb8\x1d\0\0\0\xcd\x80\xeb\xf7"  # for (;;) pause();
    base = 0x08048000
    header = b"\x7fELF\x01\x01\x01" + bytes(9)
    header += struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, base + 84, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    header += struct.pack("<IIIIIIII", 1, 0, base, base, 84 + len(code), 84 + len(code), 5, 4096)
    program = tmp_path / "pause32"
    program.write_bytes(header + code)
    program.chmod(0o755)
    try:
        target = targets.start_command([program])
    except OSError:
        pytest.skip("this kernel runs no 32-bit programs")
    try:
        refuse(target.pid, "32-bit", "64-bit")
        target.check_untouched()
    finally:
        target.kill()


def test_process_of_another_user(system_python, as_root):
    with targets.python(system_python, "busy.py") as target:
        refuse(target.pid, "another user", "uid 0", "uid 65534", "sudo", prefix=NOBODY)
        target.check_untouched()
        target.finish()


def test_sudo_is_no_advice_under_no_new_privs(system_python, as_root):
    with targets.python(system_python, "busy.py") as target:
        refuse(target.pid, "another user", "NoNewPrivs", prefix=[*NOBODY, "--no-new-privs"])
        target.finish()


def test_process_of_the_same_ordinary_user(system_python, as_root):
    with as_user(NOBODY, system_python, "busy.py") as target:
        outcome = runs.pysample("-p", target.pid, "-d", "500ms", prefix=NOBODY).ok()
        assert outcome.stacks()
        assert runs.pysample("doctor", "-p", target.pid, prefix=NOBODY).ok()
        target.check_untouched()
        target.finish()


def test_process_with_another_group(system_python, as_root):
    other_group = ["setpriv", "--reuid=65534", "--regid=65533", "--clear-groups"]
    with as_user(other_group, system_python, "busy.py") as target:
        refuse(target.pid, "another group", "gid 65533", prefix=NOBODY)
        target.finish()


def test_process_with_a_capability_of_its_own(system_python, as_root):
    capable = [*NOBODY, "--inh-caps=+net_bind_service", "--ambient-caps=+net_bind_service"]
    if not can_run(*capable, "true"):
        pytest.skip("setpriv cannot set ambient capabilities here")
    with as_user(capable, system_python, "busy.py") as target:
        refuse(target.pid, "holds capabilities", "0000000000000400", prefix=NOBODY)
        target.check_untouched()
        target.finish()


def test_process_that_is_not_dumpable(build, as_root):
    with targets.command(*NOBODY, build("nondumpable.c")) as target:
        line = refuse(target.pid, "not dumpable", "PR_SET_DUMPABLE", "CAP_SYS_PTRACE", prefix=NOBODY)
        assert "another user" not in line
        target.check_untouched()
        target.finish()


def test_capability_overrides_dumpable(build, as_root):
    with targets.command(*NOBODY, build("nondumpable.c")) as target:
        outcome = runs.pysample("doctor", "-p", target.pid)
        assert "ok    attach" in outcome.out
        assert "dumpable          no" in outcome.out
        target.check_untouched()
        target.finish()


def test_other_tracer_is_named(usual_python, build):
    holder = build("tracer.c")
    with targets.python(usual_python, "busy.py") as target:
        with targets.command(holder, target.pid) as tracer:
            name = os.path.basename(holder)[:15]
            line = refuse(target.pid, "traced by %s (pid %d)" % (name, tracer.pid), "--nonblocking")
            assert "\n" not in line
            assert procfs.tracers(target.pid)[target.pid] == tracer.pid
        target.check_untouched()
        target.finish()


def test_debugger_is_named(usual_python):
    if not shutil.which("strace"):
        pytest.skip("no strace")
    with targets.python(usual_python, "busy.py") as target:
        tracer = subprocess.Popen(
            ["strace", "-f", "-e", "trace=none", "-p", str(target.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            procfs.wait_until(lambda: procfs.tracers(target.pid)[target.pid], "strace does not attach")
            refuse(target.pid, "traced by strace (pid %d)" % tracer.pid)
        finally:
            tracer.send_signal(signal.SIGTERM)
            tracer.wait()
        target.check_untouched()
        target.finish()


def test_target_under_its_own_strict_seccomp_filter(build):
    """Attaching works, and the target makes no system call for us: it would die of it."""
    with targets.command(build("seccomp_strict.c")) as target:
        for _ in range(5):
            outcome = runs.pysample("doctor", "-p", target.pid)
            assert "ok    attach" in outcome.out, outcome
            assert "filter of its own" in outcome.out
            target.process.stdin.write(b"\n")
            target.process.stdin.flush()
            assert target.read_line() == "."
        target.check_untouched()
        target.finish(by="stdin")


@pytest.mark.parametrize("errnum", [1, 38], ids=["EPERM", "ENOSYS"])
def test_own_seccomp_filter_without_ptrace(system_python, build, errnum):
    prefix = [build("without_calls.c"), errnum, "ptrace", "--"]
    with targets.python(system_python, "busy.py") as target:
        refuse(target.pid, "seccomp filter that forbids ptrace", "--cap-add SYS_PTRACE", prefix=prefix, environment=NO_LEAK_CHECK)
        target.check_untouched()
        target.finish()


@pytest.mark.parametrize("errnum", [1, 38], ids=["EPERM", "ENOSYS"])
def test_own_seccomp_filter_without_process_vm_readv_is_no_obstacle(system_python, build, errnum):
    prefix = [build("without_calls.c"), errnum, "process_vm_readv", "--"]
    with targets.python(system_python, "busy.py") as target:
        outcome = runs.pysample("-p", target.pid, "-d", "500ms", prefix=prefix).ok()
        assert outcome.stacks()
        doctor = runs.pysample("doctor", "-p", target.pid, prefix=prefix).ok()
        assert "note  process_vm_readv" in doctor.out
        assert "ok    /proc/PID/mem" in doctor.out
        target.check_untouched()
        target.finish()


def test_from_inside_a_user_namespace(system_python, as_root):
    inside = [*NOBODY, "unshare", "--user", "--map-root-user"]
    if not can_run(*inside, "true"):
        pytest.skip("no user namespaces for ordinary users here")
    with as_user(NOBODY, system_python, "busy.py") as target:
        refuse(target.pid, "outside of pysample's user namespace", "nsenter", prefix=inside)
        target.check_untouched()
        target.finish()


def test_target_in_a_user_namespace_of_the_same_user(system_python, as_root):
    inside = [*NOBODY, "unshare", "--user", "--map-root-user"]
    if not can_run(*inside, "true"):
        pytest.skip("no user namespaces for ordinary users here")
    with as_user(inside, system_python, "busy.py") as target:
        assert runs.pysample("-p", target.pid, "-d", "500ms", prefix=NOBODY).ok().stacks()
        doctor = runs.pysample("doctor", "-p", target.pid, prefix=NOBODY).ok()
        assert "below ours" in doctor.out
        target.check_untouched()
        target.finish()


def test_target_in_a_user_namespace_of_another_user(system_python, as_root):
    inside = [*OTHER, "unshare", "--user", "--map-root-user"]
    if not can_run(*inside, "true"):
        pytest.skip("no user namespaces for ordinary users here")
    with as_user(inside, system_python, "busy.py") as target:
        refuse(target.pid, "another user", "uid 65533", prefix=NOBODY)
        target.check_untouched()
        target.finish()


def test_proc_of_another_pid_namespace(system_python, as_root):
    """Ids in that /proc are not those that ptrace takes: another process would be hit."""
    inside = ["unshare", "--pid", "--fork", "--kill-child"]
    if not can_run(*inside, "true"):
        pytest.skip("no PID namespaces here")
    with targets.python(system_python, "busy.py") as target:
        refuse(target.pid, "/proc belongs to another PID namespace", "--mount-proc", prefix=inside)
        target.check_untouched()
        target.finish()


def test_pid_that_is_another_in_this_namespace(system_python, as_root):
    inside = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if not can_run(*inside, "true"):
        pytest.skip("no PID namespaces here")
    with targets.python(system_python, "busy.py") as target:
        refuse(target.pid, "no such process", "PID namespace", prefix=inside)
        target.finish()


def test_process_that_proc_hides(system_python, as_root):
    script = 'mount -t proc -o hidepid=2 proc /proc && exec "$@"'
    hidden = ["unshare", "--mount", "sh", "-c", script, "sh", *NOBODY]
    if not can_run(*hidden, "true"):
        pytest.skip("/proc cannot be mounted here")
    with targets.python(system_python, "busy.py") as target:
        refuse(target.pid, target.pid, "hidepid", "sudo", prefix=hidden)
        target.finish()


def test_root_without_proc(as_root, tmp_path, program_for_all):
    copy_into_root(program_for_all, tmp_path)
    outcome = run_plainly("chroot", tmp_path, "/pysample", "-p", "1", "-d", "200ms", env=dict(os.environ, **NO_LEAK_CHECK))
    assert outcome.returncode == 1
    assert "/proc is not mounted here" in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1


def copy_into_root(program, root):
    """The program as /pysample, with the libraries that it needs where it looks for them."""
    shutil.copy(program, root / "pysample")
    listing = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    for word in listing.split():
        if word.startswith("/"):
            place = root / word.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(word, place)


@contextlib.contextmanager
def as_user(prefix, interpreter, program):
    """Runs tests/programs/<program> as another user, from a copy that this user can read."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="pysample-live-", dir="/tmp"))
    directory.chmod(0o755)
    try:
        for path in targets.PROGRAMS.glob("*.py"):
            shutil.copy(path, directory)
            (directory / path.name).chmod(stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
        with targets.command(*prefix, *interpreter.command(directory / program)) as target:
            yield target
    finally:
        shutil.rmtree(directory)
