# SPDX-License-Identifier: MIT
"""
Into containers from the host, inside them, and beside them. A container is made on the spot by bubblewrap: namespaces of all
kinds, this system's files seen through bind mounts, a /proc of its own.
"""

import collections
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

import interpreters
import places
import procfs
import runs
import targets

NO_LEAK_CHECK = {"ASAN_OPTIONS": "detect_leaks=0"}
# What containers forbid that have no capability beyond the usual ones.
FORBIDDEN = ["bpf", "kcmp", "mount", "perf_event_open", "pidfd_getfd", "process_vm_readv", "process_vm_writev", "setns", "unshare"]
USER = ["--reuid=1000", "--regid=1000", "--clear-groups"]
NO_CAPABILITIES = ["--bounding-set=-all", "--inh-caps=-all"]
ONLY_PTRACE = ["--bounding-set=-all,+sys_ptrace", "--inh-caps=-all,+sys_ptrace"]


@pytest.fixture(scope="module", autouse=True)
def program_for_all():
    """pysample where every user can run it."""
    with folder_for_all() as folder:
        copy = shutil.copy(runs.program(), folder)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYSAMPLE", str(copy))
            yield copy


@pytest.fixture(autouse=True)
def _needs_root(as_root):
    pass


@pytest.fixture
def python():
    """An interpreter that every user can run."""
    found = interpreters.one("system")
    return found or pytest.skip("no system Python, and pyenv's is in a folder that is closed to other users")


@contextlib.contextmanager
def folder_for_all():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pysample-live-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def programs_for_all():
    """A folder with copies of the test programs that every user can read."""
    with folder_for_all() as folder:
        for path in targets.PROGRAMS.glob("*.py"):
            shutil.copy(path, folder)
        yield folder


@contextlib.contextmanager
def container(interpreter, *options, wrapper=(), folder=None):
    """
    A target in a container: bubblewrap with these options in place of "everything unshared, the files read-only". With
    --as-pid-1 it is the first process in there, else the second. The Target has its number out here. The wrapper runs in there;
    the folder is where the programs are.
    """
    options = options or ("--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev")
    places.need("bwrap", "--ro-bind", "/", "/", "--unshare-all")
    with programs_for_all() as copies:
        reading, writing = os.pipe()
        program = pathlib.Path(folder or copies) / "busy.py"
        command = ["bwrap", "--info-fd", writing, *options, *wrapper, *interpreter.command(program)]
        target = targets.start_command(command, pass_fds=[writing])
        os.close(writing)
        try:
            with os.fdopen(reading) as file:
                first = json.loads(file.read())["child-pid"]
            target.pid = first if "--as-pid-1" in options else child_of(first)
            yield target.wait_ready()
        finally:
            target.kill()


def child_of(pid):
    def children():
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            return file.read().split()

    return int(procfs.wait_until(children, "bubblewrap starts no child")[0])


def inside(target, *names):
    """A prefix: into the target's namespaces."""
    return ["nsenter", "--target", target.pid, *["--" + name for name in (names or ["all"])]]


def inner_pid(target):
    return int(procfs.status(target.pid)["NSpid"].split()[-1])


def check(target, *options, pid=None, prefix=(), **rest):
    """A profile of busy.py with all its frames."""
    outcome = runs.pysample("-p", pid or target.pid, "-d", "700ms", *options, prefix=prefix, environment=NO_LEAK_CHECK, **rest).ok()
    stacks = outcome.stacks()
    assert runs.share(stacks, "outer") > 95, outcome
    assert {"inner", "leaf"} <= runs.names(stacks)
    target.check_untouched()
    return outcome


def refuse(target, *words, pid=None, prefix=()):
    outcome = runs.pysample("-p", pid or target.pid, "-d", "200ms", prefix=prefix, environment=NO_LEAK_CHECK)
    assert outcome.code == 1, outcome
    outcome.one_error(*words)
    target.check_untouched()


# ---- from the host ----


@pytest.mark.parametrize("options", [(), ("--native=full",)], ids=["python", "native"])
@pytest.mark.parametrize("first", [False, True], ids=["second", "PID-1"])
def test_from_the_host(python, first, options):
    """Other mount, PID, user, network, IPC, UTS and cgroup namespaces."""
    more = ["--as-pid-1"] if first else []
    with container(python, "--unshare-all", *more, "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev") as target:
        assert inner_pid(target) == (1 if first else 2)
        outcome = check(target, *options)
        if options:
            assert runs.share(outcome.stacks(), "Py_BytesMain") > 90
        target.finish()


def test_doctor_and_dump_from_the_host(python):
    with container(python) as target:
        doctor = runs.pysample("doctor", "-p", target.pid).ok()
        assert "PID namespace" in doctor.out
        threads = runs.dump(target)
        assert "outer" in [frame.name for frame in runs.frames_of(threads[target.pid])]
        target.finish()


def test_into_an_overlay(python):
    """Maps and stat() may give two numbers of the device of a file there; its name leads to nothing out here."""
    script = 'mount -t tmpfs none "$1"; mkdir "$1/up" "$1/work" "$1/root"; ' + (
        'mount -t overlay -o lowerdir=/,upperdir="$1/up",workdir="$1/work" none "$1/root"; mount -t proc none "$1/root/proc"; '
        # A file of the upper layer, and the interpreter's name in there is none out here.
        'cp "$2" "$1/root/only-inside"; cp -r "$3" "$1/root/programs"; cd "$1/root"; pivot_root . mnt; umount -l /mnt'
    )
    with folder_for_all() as folder:
        prefix = ["unshare", "--mount", "--pid", "--fork", "--kill-child", *places.shell(script, folder, python.program, targets.PROGRAMS)]
        places.need(*prefix)
        with targets.command(*prefix, "/only-inside", "/programs/busy.py", ready=False) as target:
            target.pid = child_of(target.pid)
            target.wait_ready()
            assert not os.path.exists("/only-inside")
            outcome = check(target, "--native=full")
            assert runs.share(outcome.stacks(), "Py_BytesMain") > 90
            target.finish()


def test_root_with_ptrace_alone_and_files_closed_to_it(python):
    """Without CAP_DAC_OVERRIDE it cannot open what belongs to another user; the kernel's own links to it lead there all the same."""
    with programs_for_all() as folder:
        shutil.copy(python.program, folder / "closed")
        for path in [folder, *folder.iterdir()]:
            os.chown(path, 1000, 1000)
            path.chmod(0o700)
        prefix = ["setpriv", *ONLY_PTRACE]
        assert not places.can_run(*prefix, "cat", folder / "busy.py"), "root can read it, so this tests nothing"
        with targets.command("setpriv", *USER, folder / "closed", folder / "busy.py") as target:
            outcome = check(target, "--native=full", prefix=prefix)
            assert runs.share(outcome.stacks(), "Py_BytesMain") > 90
            target.finish()


# ---- inside ----


def test_inside(python):
    with container(python) as target:
        check(target, pid=inner_pid(target), prefix=inside(target))
        target.finish()


@pytest.mark.parametrize("first", [False, True], ids=["second", "PID-1"])
def test_inside_as_the_same_user_without_capabilities(python, first):
    """As `docker exec` does it in a container that drops all of them."""
    more = ["--as-pid-1"] if first else []
    usual = ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
    with container(python, "--unshare-all", *more, "--uid", "1000", "--gid", "1000", *usual) as target:
        prefix = [*inside(target), "--preserve-credentials", "setpriv", *NO_CAPABILITIES, "--no-new-privs"]
        check(target, pid=inner_pid(target), prefix=prefix)
        target.finish()


def test_inside_under_a_filter_as_containers_have_it(python, build):
    usual = ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
    with container(python, "--unshare-all", "--cap-drop", "ALL", *usual) as target:
        alone = ["setpriv", *NO_CAPABILITIES, "--no-new-privs", build("without_calls.c"), 1, *FORBIDDEN, "--"]
        outcome = check(target, pid=inner_pid(target), prefix=[*inside(target), *alone])
        assert "/proc/PID/mem" in outcome.err
        target.finish()


def test_nothing_can_be_written(python):
    """Read-only root, no /tmp, no home: a profile on standard output needs no file."""
    with container(python, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc") as target:
        pid, prefix = inner_pid(target), inside(target)
        check(target, "--native", pid=pid, prefix=prefix)
        refused = runs.pysample("-p", pid, "-d", "200ms", "-o", "/tmp/x.json", prefix=prefix, environment=NO_LEAK_CHECK)
        assert refused.code == 1
        refused.one_error("/tmp/x.json", "Read-only file system")
        target.finish()


@pytest.mark.parametrize("option", ["hidepid=1", "hidepid=2", "hidepid=4", "subset=pid"])
def test_proc_that_shows_less(python, option):
    """hidepid of processes that are ours to see; subset=pid has nothing but processes: no /proc/sys, /proc/stat, /proc/filesystems."""
    prefix = places.need("unshare", "--mount", *places.shell("mount -t proc -o %s none /proc" % option), "setpriv", *USER, *NO_CAPABILITIES)
    with programs_for_all() as folder:
        with targets.command("setpriv", *USER, *python.command(folder / "busy.py")) as target:
            check(target, prefix=prefix)
            target.finish()


MASKED = ["/proc/sys", "/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/stat", "/proc/uptime", "/sys"]
OF_PROCESS = ["syscall", "schedstat", "wchan", "stack", "environ", "cmdline", "auxv", "io", "oom_score"]


def test_masked_pieces_of_proc(python):
    """As containers hide them: empty folders and /dev/null over them."""
    hide = "for place in %s; do if [ -d $place ]; then mount -t tmpfs none $place; elif [ -e $place ]; then mount --bind /dev/null $place; fi; done"
    with targets.python(python, "busy.py") as target:
        check(target, prefix=places.need("unshare", "--mount", *places.shell(hide % " ".join(MASKED))))
        target.finish()


@pytest.mark.parametrize("piece", OF_PROCESS)
def test_masked_piece_of_the_process(python, piece):
    with targets.python(python, "busy.py") as target:
        files = ["/proc/%d/%s" % (target.pid, piece), "/proc/%d/task/%d/%s" % (target.pid, target.pid, piece)]
        hide = "; ".join("[ ! -e %s ] || mount --bind /dev/null %s" % (file, file) for file in files)
        check(target, prefix=places.need("unshare", "--mount", *places.shell(hide)))
        target.finish()


# ---- beside it: a second container in the same PID namespace, with the rights of the manifests of contrib/ ----

# A container as runtimes make it: no user namespace, and the capabilities that they leave.
SHARED = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
LEFT = "chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service net_raw sys_chroot mknod audit_write setfcap".split()
OF_RUNTIMES = [word for name in LEFT for word in ("--cap-add", "CAP_" + name.upper())]


def manifest(name):
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((places.SOURCE / "contrib" / "kubernetes" / name).read_text())


def of_container(document, name):
    return next(found for found in document["spec"]["containers"] if found["name"] == name)["securityContext"]


def with_rights(context, build):
    """The last part of a prefix: user, capabilities, no_new_privs and the filter of a securityContext."""
    assert context["capabilities"]["drop"] == ["ALL"] and context["seccompProfile"] == {"type": "RuntimeDefault"}
    kept = ",".join(["-all", *("+" + name.lower() for name in context["capabilities"].get("add", []))])
    user, group = context["runAsUser"], context["runAsGroup"]
    rights = ["setpriv", "--reuid", user, "--regid", group, "--clear-groups", "--bounding-set=" + kept, "--inh-caps=-all"]
    rights += ["--no-new-privs"] if not context["allowPrivilegeEscalation"] else []
    return [*rights, build("without_calls.c"), 1, *FORBIDDEN, "--"]


def beside(target, *options):
    """A prefix: a container of its own, but in the target's PID namespace."""
    mounted = ["unshare", "--mount", *places.shell("mount -t proc none /proc")]
    own = ["bwrap", *options, "--proc", "/proc", "--unshare-net", "--cap-add", "ALL", "--remount-ro", "/"]
    return ["nsenter", "--target", target.pid, "--pid", *mounted, *own]


@pytest.fixture
def files():
    """The file system of a second container: everything of this system, with devices for the C library's sake."""
    return ["--ro-bind", "/", "/", "--dev", "/dev"]


@pytest.mark.parametrize("user", [0, 1000])
def test_ephemeral_container(python, build, files, user):
    """Of a program of any user, and one of root's that keeps the usual capabilities."""
    context = manifest("ephemeral.yaml")["securityContext"]
    prefix = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups"]
    with container(python, *SHARED, *OF_RUNTIMES, wrapper=prefix) as target:
        rights = with_rights(context, build)
        check(target, "--native", pid=inner_pid(target), prefix=[*beside(target, *files), *rights])
        target.finish()


def test_sidecar(python, build, files):
    document = manifest("sidecar.yaml")
    assert document["spec"]["shareProcessNamespace"]
    app, own = of_container(document, "app"), of_container(document, "pysample")
    if yama() > 0:
        pytest.skip("Yama is at level %d: it needs the capability" % yama())
    prefix = ["setpriv", "--reuid", app["runAsUser"], "--regid", app["runAsGroup"], "--clear-groups"]
    with container(python, *SHARED, wrapper=prefix) as target:
        check(target, "--native", pid=inner_pid(target), prefix=[*beside(target, *files), *with_rights(own, build)])
        record_as_manifest_says(target, document, files, with_rights(own, build))
        target.finish()


def record_as_manifest_says(target, document, files, rights):
    """With the arguments in there, into the one folder that can be written to."""
    words = next(found for found in document["spec"]["containers"] if found["name"] == "pysample")["args"]
    with folder_for_all() as volume:
        volume.chmod(0o777)
        mounted = [*files, "--bind", volume, "/mnt"]
        words = [word.replace("/profiles/", "/mnt/") for word in words]
        outcome = runs.pysample(*words, "-d", "1s", prefix=[*beside(target, *mounted), *rights], environment=NO_LEAK_CHECK).ok()
        written = list(volume.iterdir())
        assert len(written) == 1, outcome
        assert "leaf" in runs.names(runs.JsonProfile(json.loads(written[0].read_text())).stacks())


def test_sidecar_of_a_program_that_keeps_capabilities(python, build, files):
    """What the manifest says of such a program."""
    own = dict(of_container(manifest("sidecar.yaml"), "pysample"), runAsUser=0, runAsGroup=0)
    with container(python, *SHARED, *OF_RUNTIMES) as target:
        prefix = [*beside(target, *files), *with_rights(own, build)]
        refuse(target, "holds capabilities", pid=inner_pid(target), prefix=prefix)
        target.finish()


def test_an_added_capability_does_not_reach_an_ordinary_user(python, build, files):
    """Why the manifest has runAsUser: 0."""
    context = dict(manifest("ephemeral.yaml")["securityContext"], runAsUser=1000, runAsGroup=1000)
    with container(python, *SHARED) as target:
        prefix = [*beside(target, *files), *with_rights(context, build)]
        refuse(target, "another user", pid=inner_pid(target), prefix=prefix)
        target.finish()


@pytest.mark.parametrize("kind", ["glibc", "musl"])
def test_image_of_the_static_binary_alone(python, kind, monkeypatch):
    """Its root folder holds that one file and is read-only, as in the image that contrib/Dockerfile makes."""
    monkeypatch.setenv("PYSAMPLE", "/pysample")
    static = ["--ro-bind", places.static_program(), "/pysample"]
    if kind == "musl":
        found = places.musl_python()
        places.with_programs(found.root, "busy.py", "handshake.py")
        inside_root = ["--bind", found.root, "/", "--proc", "/proc", "--dev", "/dev"]
        options = ["--unshare-pid", "--unshare-net", *inside_root]
        used = interpreters.Interpreter("3.11.2-musl", found.program)
    else:
        options, used = SHARED, python
    with container(used, *options, folder="/programs" if kind == "musl" else None) as target:
        prefix = [*beside(target, *static), "--cap-drop", "ALL", "--cap-add", "CAP_SYS_PTRACE"]
        outcome = check(target, "--native", pid=inner_pid(target), prefix=prefix)
        assert runs.share(outcome.stacks(), "main" if kind == "musl" else "_start") > 90
        target.finish()


def yama():
    try:
        return int(pathlib.Path("/proc/sys/kernel/yama/ptrace_scope").read_text())
    except FileNotFoundError:
        return 0


# ---- the unit ----

UNIT = places.SOURCE / "contrib" / "systemd" / "pysample-agent.service"


def unit_settings():
    """{name: [value, …]} of the section [Service]."""
    found = collections.defaultdict(list)
    for line in UNIT.read_text().partition("[Service]")[2].partition("[Install]")[0].splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found[name].append(value)
    return found


def systemd_analyze(*words):
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd-analyze")
    return subprocess.run(["systemd-analyze", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_unit_is_valid_and_locked_down(tmp_path):
    """With another program in the place of pysample, which need not be installed."""
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/usr/bin/pysample", "/bin/true"))
    verified = systemd_analyze("verify", str(unit))
    assert verified.returncode == 0 and not verified.stdout, verified.stdout
    level = re.search(r"Overall exposure level for \S+: ([\d.]+)", systemd_analyze("security", "--offline=true", str(unit)).stdout)
    assert float(level.group(1)) < 3


def calls_of(name):
    """The system calls of one of systemd's sets, and of the sets in it; a name that is no set's is that of a call."""
    if not name.startswith("@"):
        return {name}
    found, names = set(), [name]
    while names:
        listed = systemd_analyze("syscall-filter", names.pop()).stdout.splitlines()[1:]
        listed = [line.strip() for line in listed if line.strip() and not line.strip().startswith("#")]
        names += [line for line in listed if line.startswith("@")]
        found.update(line for line in listed if not line.startswith("@"))
    return found


def test_unit_allows_the_system_calls_that_pysample_makes(python, tmp_path):
    if not shutil.which("strace"):
        pytest.skip("no strace")
    allowed = set()
    for line in unit_settings()["SystemCallFilter"]:
        sets = set().union(*map(calls_of, line.lstrip("~").split()))
        allowed = allowed - sets if line.startswith("~") else allowed | sets
    trace = tmp_path / "trace"
    with targets.python(python, "busy.py") as target:
        check(target, "--native", prefix=["strace", "-f", "-qq", "-o", trace])
        # To a port that nobody listens on; the library for that is loaded all the same.
        agent = unit_settings()["ExecStart"][0].replace("$PYSAMPLE_AGENT_OPTIONS", "-d 2s --push-window 1s").split()[1:]
        environment = dict(NO_LEAK_CHECK, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
        pushed = runs.pysample(*agent, prefix=["strace", "-f", "-qq", "-A", "-o", trace], environment=environment)
        assert "libcurl" in pushed.err or pushed.ok()
        target.finish()
    made = set(re.findall(r"^\d+ +(\w+)\(", trace.read_text(), re.M))
    assert {"ptrace", "process_vm_readv", "connect"} <= made
    assert made - allowed == set()


def test_rights_of_the_unit(python):
    """An ordinary user with one ambient capability looks at a process of root's, and at one of another user's."""
    settings = unit_settings()
    assert settings["DynamicUser"] == ["yes"] and settings["NoNewPrivileges"] == ["yes"]
    names = [name.lower().replace("cap_", "+") for name in settings["AmbientCapabilities"]]
    assert names == [name.lower().replace("cap_", "+") for name in settings["CapabilityBoundingSet"]]
    kept = ",".join(["-all", *names])
    prefix = ["setpriv", *USER, "--inh-caps=" + kept, "--ambient-caps=" + kept, "--bounding-set=" + kept, "--no-new-privs"]
    for owner in ([], ["setpriv", "--reuid=1001", "--regid=1001", "--clear-groups"]):
        with programs_for_all() as folder:
            with targets.command(*owner, *python.command(folder / "busy.py")) as target:
                check(target, "--native", prefix=prefix)
                target.finish()


# ---- the image and the package ----


def build_packages():
    return re.search(r"BUILD_PACKAGES=\(([^)]*)\)", (places.SOURCE / "dev").read_text()).group(1).split()


def test_package_is_built_with_what_dev_installs():
    wanted = {name for name in build_packages() if name.endswith("-dev") and name != "libc6-dev"}
    assert not wanted - set(re.findall(r"^ ([a-z0-9-]+)", (places.SOURCE / "debian" / "control").read_text(), re.M))


def test_image_is_built_as_dev_does_it():
    """Its packages are those that ./dev installs, what it copies is there, and nothing but the binary is in it."""
    text = (places.SOURCE / "contrib" / "Dockerfile").read_text().replace("\\\n", " ")
    installed = re.search(r"--no-install-recommends ([^&]*)&&", text).group(1).split()
    assert sorted(installed) == sorted(build_packages())
    steps = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    final = steps[max(number for number, step in enumerate(steps) if step[0] == "FROM"):]
    assert final == [["FROM", "scratch"], ["COPY", "--from=build", "/src/build-static/pysample", "/pysample"], ["ENTRYPOINT", '["/pysample"]']]
    assert ["RUN", "./dev", "static"] in steps
