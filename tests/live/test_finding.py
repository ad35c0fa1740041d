# SPDX-License-Identifier: MIT
"""The interpreter is found wherever it is, whatever it is called, and whatever happened to its files."""

import os
import shutil
import subprocess
import sys

import pytest

import interpreters
import procfs
import runs
import targets


def check_busy(target, seconds=1):
    """busy.py is seen with its names and lines, nearly always complete."""
    outcome = runs.record(target, seconds)
    stacks = outcome.stacks()
    assert runs.share(stacks, "outer") == 100
    assert runs.share(stacks, "leaf") > 50
    assert all(frame.line for frames in stacks for frame in frames)
    assert outcome.complete_percent >= 95
    return outcome


def copyable(*wanted):
    found = interpreters.one(*wanted)
    if not found or not interpreters.is_copyable(found):
        pytest.skip("needs a pyenv build of CPython %s" % " or ".join(wanted))
    return found


@pytest.mark.parametrize("what", ["libpython", "executable", "both"])
def test_case_16_files_deleted(copyable_python, tmp_path, what):
    """Given libpython or the executable deleted while it runs, names and lines come from what is still mapped."""
    copy = interpreters.copied(copyable_python, tmp_path / "python")
    with targets.python(copy, "busy.py") as target:
        if what in ("libpython", "both"):
            for library in (tmp_path / "python" / "lib").glob("libpython*"):
                library.unlink()
        if what in ("executable", "both"):
            os.unlink(copy.program)
        check_busy(target)
        target.finish()


@pytest.mark.parametrize("first, second", [("3.9.", "3.12."), ("3.13.", "3.11."), ("2.7.", "3.6.")])
def test_case_16_libpython_replaced_by_another_version(tmp_path, first, second):
    """Given libpython replaced on disk by that of another version, the symbols of the new file are never used."""
    old, new = copyable(first), copyable(second)
    copy = interpreters.copied(old, tmp_path / "python")
    other = interpreters.copied(new, tmp_path / "other")
    library = next((tmp_path / "python" / "lib").glob("libpython*"))
    replacement = next((tmp_path / "other" / "lib").glob("libpython*"))
    with targets.python(copy, "busy.py") as target:
        os.replace(replacement, library)
        check_busy(target)
        target.finish()
    assert other.version != copy.version


def test_case_16_executable_replaced(tmp_path):
    """Given a static executable replaced on disk by another program, the running one is profiled."""
    python = interpreters.one("system")
    if not python:
        pytest.skip("needs the system's CPython")
    program = tmp_path / "python"
    shutil.copy2(os.path.realpath(python.program), program)
    copy = interpreters.Interpreter(python.name + "-copy", str(program), environment={"PYTHONHOME": "/usr"})
    with targets.python(copy, "busy.py") as target:
        shutil.copy2("/bin/true", tmp_path / "new")
        os.replace(tmp_path / "new", program)
        check_busy(target)
        target.finish()


def test_case_17_two_libpythons(tmp_path):
    """Given 3.11 that runs and a 3.12 that was only loaded, the one that is initialised is profiled."""
    python, other = copyable("3.11."), copyable("3.12.")
    copy = interpreters.copied(other, tmp_path / "other")
    library = next((tmp_path / "other" / "lib").glob("libpython*"))
    with targets.python(python, "loads.py", library) as target:
        assert len([path for path in procfs.mapped_files(target.pid) if "libpython" in path]) == 2
        check_busy(target)
        target.finish()
    assert copy.version == (3, 12)


def test_case_17_a_section_called_pyruntime(usual_python, build):
    """Given an extension with a .PyRuntime section of its own, loaded before and after Python: not fooled."""
    decoy = build("decoy.c", "-shared", "-fPIC")
    with targets.python(usual_python, "loads.py", decoy) as target:
        check_busy(target)
        target.finish()
    if not usual_python.in_chroot:
        with targets.python(usual_python, "busy.py", environment={"LD_PRELOAD": decoy}) as target:
            assert decoy in procfs.mapped_files(target.pid)
            check_busy(target)
            target.finish()


@pytest.mark.parametrize("wanted", ["system", "3.13.", "3.8."])
def test_case_18_a_second_mapping_at_a_lower_address(wanted):
    """Given executable and libpython mapped a second time below the first, the load bias is that of the first."""
    python = interpreters.one(wanted)
    if not python:
        pytest.skip("no CPython %s" % wanted)
    with targets.python(python, "mapped_twice.py") as target:
        check_busy(target)
        target.finish()


@pytest.mark.parametrize("name", ["app", "my app", "nothing-of-the-kind.bin", "python (deleted)", "grün"])
def test_case_20_renamed_executables(tmp_path, name):
    """Given an interpreter under another name, it is found by what it is."""
    python = interpreters.one("system")
    if not python:
        pytest.skip("needs the system's CPython")
    program = tmp_path / name
    shutil.copy2(os.path.realpath(python.program), program)
    renamed = interpreters.Interpreter(python.name + "-renamed", str(program), environment={"PYTHONHOME": "/usr"})
    with targets.python(renamed, "busy.py") as target:
        check_busy(target)
        target.finish()


def test_case_20_renamed_library(tmp_path):
    """Given a libpython whose file is called otherwise, it is found by what it is."""
    python = copyable("3.10.", "3.12.")
    copy = interpreters.copied(python, tmp_path / "python")
    library = next((tmp_path / "python" / "lib").glob("libpython*"))
    library.rename(library.with_name("engine.so"))
    library.symlink_to("engine.so")
    with targets.python(copy, "busy.py") as target:
        assert any(path.endswith("engine.so") for path in procfs.mapped_files(target.pid))
        check_busy(target)
        target.finish()


def test_case_20_debug_builds():
    """Given a debug build, whose objects and runtime are larger, the profile is as good."""
    python = interpreters.one("debug")
    if not python:
        pytest.skip("no debug build")
    with targets.python(python, "busy.py") as target:
        check_busy(target)
        target.finish()


def test_a_virtual_environment(usual_python, tmp_path):
    """Given a virtual environment, whose python is a link, it is profiled as any other."""
    made = subprocess.run([usual_python.program, "-m", "venv", "--without-pip", str(tmp_path / "venv")])
    if usual_python.in_chroot or made.returncode != 0:
        pytest.skip("cannot make a virtual environment")
    python = interpreters.Interpreter(usual_python.name + "-venv", str(tmp_path / "venv" / "bin" / "python"))
    with targets.python(python, "busy.py") as target:
        check_busy(target)
        target.finish()


def test_case_15_pid_1_of_a_namespace_from_outside(usual_python, as_root):
    """Given a target that is PID 1 of a PID namespace, it is profiled from outside by its outer pid."""
    with namespaced(usual_python) as target:
        assert procfs.status(target.pid)["NSpid"].split()[-1] == "1"
        check_busy(target)
        target.finish()


def test_case_15_pid_1_of_a_namespace_from_inside(usual_python, as_root):
    """The same from inside the namespace, where its pid is 1."""
    with namespaced(usual_python) as target:
        inside = ["nsenter", "-t", str(target.pid), "-p", "-m"]
        outcome = runs.pysample("-p", 1, "-d", "1s", prefix=inside).ok()
        assert runs.share(outcome.stacks(), "outer") == 100
        dumped = runs.pysample("dump", "-p", 1, prefix=inside).ok()
        assert "outer" in dumped.out
        target.check_untouched()
        target.finish()


def test_case_15_one_thread_by_its_id_across_namespaces(usual_python, helpers, as_root):
    """Given threads that run in a namespace, the ids of Python and of the kernel are matched."""
    with namespaced(usual_python, "named.py") as target:
        dumped = runs.dump(target)
        named = {thread["python_name"]: tid for tid, thread in dumped.items()}
        assert {"MainThread", "worker-a", "worker-b"} <= set(named)
        for name, function in (("worker-a", "work_a"), ("worker-b", "work_b")):
            assert function in [frame.name for frame in runs.frames_of(dumped[named[name]])]
        target.finish()


class namespaced:
    """A target in PID and mount namespaces of its own; target.pid is the pid out here."""

    def __init__(self, python, program="busy.py"):
        words = python.command(targets.PROGRAMS / program)
        self.context = targets.command("unshare", "--pid", "--fork", "--mount-proc", "--kill-child", *words)

    def __enter__(self):
        target = self.context.__enter__()
        target.pid = procfs.children(target.process.pid)[0]
        return target

    def __exit__(self, *error):
        return self.context.__exit__(*error)


def embedded(build, python, how, strip, tmp_path):
    """tests/programs/embed.c linked against a libpython, dynamically or statically; skips where that cannot be built."""
    config = "%s%d.%d-config" % (os.path.join(os.path.dirname(python.program), "python"), *python.version)
    if not os.path.exists(config):
        pytest.skip("no %s" % config)

    def flags(*what):
        return subprocess.run([config, *what], stdout=subprocess.PIPE, text=True, check=True).stdout.split()

    prefix = os.path.dirname(os.path.dirname(python.program))
    compile_flags = [flag for flag in flags("--includes") if flag.startswith("-I")]
    link = flags("--ldflags", "--embed") if python.version >= (3, 8) else flags("--ldflags")
    if how == "static":
        ask = "import sysconfig; print(sysconfig.get_config_var('LIBPL'))"
        directory = subprocess.run([python.program, "-c", ask], stdout=subprocess.PIPE, text=True).stdout.strip()
        archives = [name for name in os.listdir(directory) if name.startswith("libpython") and name.endswith(".a")]
        if not archives:
            pytest.skip("no static libpython")
        archive = os.path.join(directory, archives[0])
        link = [archive if flag.startswith("-lpython") else flag for flag in link] + ["-Wl,-E"]
        link += ["-lexpat", "-lz"] if python.program.startswith("/usr/bin") else []  # Debian builds these modules in
    else:
        link.append("-Wl,-rpath,%s/lib" % prefix)
    built = build("embed.c", "-std=gnu11", "-pthread", *compile_flags, *link)
    program = tmp_path / "server"
    shutil.copy2(built, program)
    if strip:
        subprocess.run(["strip", "--strip-all", str(program)], check=True)
    return program


@pytest.mark.parametrize("options", [[], ["-s"]], ids=["alone", "with-sub-interpreter"])
@pytest.mark.parametrize("strip", [False, True], ids=["symbols", "stripped"])
@pytest.mark.parametrize("how", ["shared", "static"])
@pytest.mark.parametrize("wanted", ["2.7.", "3.8.", "3.10.", "3.12.", "3.13.", "system"])
def test_case_19_embedded_in_a_program_of_another_name(build, tmp_path, wanted, how, strip, options):
    """
    Given a program that starts Python in a second thread, shared or static, stripped or not, alone or with a
    sub-interpreter in a third thread: it is profiled, all its Python threads.
    """
    python = interpreters.one(wanted)
    if not python:
        pytest.skip("no CPython %s" % wanted)
    program = embedded(build, python, how, strip, tmp_path)
    prefix = os.path.dirname(os.path.dirname(python.program))
    environment = {"PYTHONHOME": prefix, "PYTHONPATH": str(targets.PROGRAMS)}
    path = targets.PROGRAMS / "embedded.py"
    text = "exec(compile(open('%s').read(), '%s', 'exec'))" % (path, path)  # an import would hold a lock in 2.7
    with targets.command(program, *options, text, environment=environment) as target:
        if options:
            target.wait_ready()
        libraries = [path for path in procfs.mapped_files(target.pid) if "libpython" in path]
        if how == "shared" or python.version >= (3,):  # extension modules of 2.7 bring a second, idle libpython with them
            assert bool(libraries) == (how == "shared")
        outcome = runs.record(target, 1)
        stacks = outcome.stacks()
        assert runs.share(stacks, "embedded_loop") == 100
        assert outcome.complete_percent >= 95
        dumped = [runs.names([runs.frames_of(thread)]) for thread in runs.dump(target).values()]
        assert len([functions for functions in dumped if "embedded_loop" in functions]) == (2 if options else 1)
        target.finish(by="stdin")


def test_this_python_is_one_of_them():
    """The interpreter of the tests themselves is no special case: it is found by the same list, if it is CPython."""
    version = "%d.%d" % sys.version_info[:2]
    assert version in ["%d.%d" % found.version for found in interpreters.every()]
