# SPDX-License-Identifier: MIT
"""Stacks of C programs without Python, each from _start to the function that runs."""

import itertools
import os
import resource
import shutil
import struct
import subprocess

import pytest

import runs
import stacks
import targets

ROOTS = ["_start", "__libc_start_main", "__libc_start_call_main"]
PT_GNU_EH_FRAME = 0x6474E550


def profile(target, *arguments, seconds=1, rate=400):
    """A recording with native frames; every tick has a stack, but for those that a busy machine drops."""
    outcome = runs.record(target, seconds, "-F", rate, "--native=full", *arguments)
    assert outcome.samples >= 10, outcome
    return outcome.stacks()


def below_root(frames):
    """The names from main on; fails if there is anything but the C library's start above it."""
    found = stacks.names(frames)
    assert "main" in found, "main is not in %s" % found
    start = found.index("main")
    assert all(name in ROOTS for name in found[:start]), found
    return found[start:]


@pytest.mark.slow
@pytest.mark.parametrize("callers", ["-fno-omit-frame-pointer", "-fomit-frame-pointer"])
@pytest.mark.parametrize("turns", [20000, 4])
@pytest.mark.parametrize("program", ["realigned", "saved_cfa"])
def test_a_cfa_that_is_saved_on_the_stack(build, program, turns, callers):
    """
    Given a function whose CFA is in memory, as GCC's realigned frames and OpenSSL's assembly have it, callers with and
    without frame pointers, and a leaf that takes most of the time or next to none: every sample at 999 Hz reaches main,
    the frames are in their order, none is there twice. With a short leaf the prologues and epilogues are met, too.
    """
    chain = ["main"] + [program + "_" + part for part in ("caller", "frame", "leaf")]
    with targets.command(build(program + ".c", "-O2", callers), turns) as target:
        found = profile(target, seconds=5, rate=999)
        for frames in found:
            names = below_root(frames)
            assert names == chain[: len(names)], names
        if turns > 4:
            assert stacks.percent(found, lambda frames: frames[-1].name == chain[-1]) > 90
        else:
            assert {frames[-1].name for frames in found} == set(chain)
        assert stacks.percent(found, lambda frames: not stacks.is_cut(frames)) == 100


def test_the_programs_have_the_rules_that_they_are_about(build):
    """A compiler that does without would make the tests above mean nothing."""
    for program, rule in (("realigned", r"DW_OP_breg6 (rbp)"), ("saved_cfa", "DW_OP_breg7 (rsp): 8; DW_OP_deref; DW_OP_plus_uconst: 8")):
        path = build(program + ".c", "-O2", "-fomit-frame-pointer")
        rules = subprocess.run(["readelf", "--debug-dump=frames", path], stdout=subprocess.PIPE, text=True, check=True).stdout
        assert any("DW_CFA_def_cfa_expression" in line and rule in line for line in rules.splitlines()), program


def own_cpu_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_case_25_a_stack_of_50000_frames_is_cut_with_a_mark(build):
    """
    Given 50,000 nested C frames, every sample is the 8,192 inner ones below a mark. A sample takes less of our CPU than
    it would with 50 ms for each, on a machine however busy.
    """
    with targets.command(build("nested.c"), 50000) as target:
        before = own_cpu_s()
        outcome = runs.record(target, 2, "-F", 20, "--native")
        used = own_cpu_s() - before
        for frames in outcome.stacks():
            names = stacks.names(frames)
            assert names[0] == "[cut: depth_limit]"
            assert len(names) == 8193 and names[-1] == "spin" and set(names[1:-1]) == {"nested"}
        assert used / outcome.samples < 0.050


def test_case_25_a_stack_of_5000_frames_is_whole(build):
    """Given 5,000 nested C frames, none is missing: the copy of the stack grows with the need."""
    with targets.command(build("nested.c"), 5000) as target:
        for frames in profile(target, rate=50):
            assert below_root(frames) == ["main"] + ["nested"] * 5000 + ["spin"]


HANDLERS = {
    "alternate": ["work", "raise", "[signal]", "on_first", "spin"],
    "nested": ["work", "raise", "[signal]", "on_first", "raise", "[signal]", "on_second", "spin"],
    "plain": ["work", "raise", "[signal]", "on_first", "spin"],
    "bad": ["work", "call_nowhere", "[signal]", "on_fault", "spin"],
}


@pytest.mark.parametrize("way", sorted(HANDLERS))
def test_case_27_through_signal_handlers(build, way):
    """
    Given handlers on an alternate stack mapped above all others, nested ones, and one of a call through a bad pointer:
    every stack leads through the signal to main.
    """
    with targets.command(build("handlers.c"), way) as target:
        found = profile(target)
        for frames in found:
            names = below_root(frames)
            assert stacks.order(frames, set(HANDLERS[way])) == HANDLERS[way], names
            assert ("+0x10" in names) == (way == "bad")
            assert not stacks.is_cut(frames)


# What is between main and spin, and whether the walk gets beyond it.
WITHOUT_CFI = {
    "straight": (["straight"], True),
    "framed": (["framed"], True),
    "neither": (["neither"], False),
    "anonymous": (["anonymous", "copied", "+0x6"], True),
    "anonymous_framed": (["anonymous_framed", "copied", "+0xc"], True),
    "anonymous_neither": (["+0x10"], False),
}


def is_at(name, wanted):
    """A call's address may be told by its own bytes: [anon]+0x6 is the return address of a call at +0x4."""
    return name == wanted or (wanted.startswith("+") and name == "+%#x" % (int(wanted, 16) - 1))


@pytest.mark.parametrize("way", sorted(WITHOUT_CFI))
def test_case_26_a_function_without_unwind_information(build, way):
    """
    Given a function that no unwind information covers between main and the leaf, in a file or in an anonymous page: its
    name or address is in the stack; the walk goes on where the code's way out or a frame pointer leads up, else a mark
    says that there is a gap.
    """
    between, goes_on = WITHOUT_CFI[way]
    with targets.command(build("no_cfi.c", "-DPROGRAM"), way) as target:
        for frames in profile(target):
            assert stacks.is_cut(frames) == (not goes_on)
            names = below_root(frames)[1:] if goes_on else stacks.names(frames)[1:]
            assert names[-1] == "spin" and len(names) == len(between) + 1, names
            assert all(is_at(name, wanted) for name, wanted in zip(names, between)), names
            if not goes_on:
                assert frames[0].name == "[cut: gap]"
            if "anonymous" in way:
                assert frames[-2].file == "[anon]"


def test_a_perf_map_names_generated_code(build):
    """Given a program that writes /tmp/perf-PID.map, its generated function has the name that is in there."""
    with targets.command(build("no_cfi.c", "-DPROGRAM"), "anonymous", "made by hand") as target:
        try:
            for frames in profile(target):
                assert below_root(frames) == ["main", "anonymous", "copied", "made by hand", "spin"]
        finally:
            os.unlink("/tmp/perf-%d.map" % target.pid)


@pytest.mark.parametrize("how", [("-static",), ("-static-pie",), ("-no-pie",)])
def test_case_28_static_programs(build, how):
    """Given a program without the C library beside it, every stack reaches main."""
    with targets.command(build("nested.c", *how), 4) as target:
        for frames in profile(target):
            assert below_root(frames) == ["main"] + ["nested"] * 4 + ["spin"]


@pytest.mark.parametrize("how", [(), ("-static",)])
def test_case_28_musl(tmp_path, how):
    """Given a program with musl, whose own code has no unwind information: every stack reaches main, and says what is missing."""
    if not shutil.which("musl-gcc"):
        pytest.skip("no musl-gcc")
    program = tmp_path / "nested"
    subprocess.run(["musl-gcc", "-O1", *how, str(targets.PROGRAMS / "nested.c"), "-o", str(program)], check=True)
    with targets.command(program, 4) as target:
        for frames in profile(target):
            names = stacks.names(frames)
            assert names[-6:] == ["main"] + ["nested"] * 4 + ["spin"]
            assert names[0] in ("_start", "[cut: gap]")


def damaged(original, path, change):
    """A copy of an ELF file whose search table of unwind information change(bytes, header, offset, size) has altered."""
    content = bytearray(open(original, "rb").read())
    headers, count = struct.unpack_from("<Q", content, 32)[0], struct.unpack_from("<H", content, 56)[0]
    for header in (headers + 56 * i for i in range(count)):
        kind, _, offset, _, _, size = struct.unpack_from("<IIQQQQ", content, header)
        if kind == PT_GNU_EH_FRAME:
            change(content, header, offset, size)
            break
    else:
        raise AssertionError("%s has no PT_GNU_EH_FRAME" % original)
    path.write_bytes(content)
    path.chmod(0o755)
    return path


def rubbish(content, header, offset, size):
    for i in range(offset + 12, offset + size):
        content[i] = (content[i] * 7 + 13) & 255


def no_version(content, header, offset, size):
    content[offset : offset + 4] = b"\xff\xff\xff\xff"


def no_header(content, header, offset, size):
    struct.pack_into("<I", content, header, 0)


@pytest.mark.parametrize("change", [rubbish, no_version, no_header])
def test_case_28_a_damaged_search_table(build, tmp_path, change):
    """Given a .eh_frame_hdr that is rubbish, of no known version or not there, the stacks are those of the sound program."""
    program = damaged(build("nested.c"), tmp_path / "nested", change)
    with targets.command(program, 4) as target:
        for frames in profile(target):
            assert below_root(frames) == ["main"] + ["nested"] * 4 + ["spin"]


@pytest.mark.parametrize("size", [100, 1000, 0x1800, 0x2080])
def test_case_28_a_file_that_was_cut_off(build, tmp_path, size):
    """Given a program whose file is replaced by a shorter one under way, it is profiled without an error, and stays alive."""
    program = tmp_path / "nested"
    shutil.copy(build("nested.c"), program)
    with targets.command(program, 4) as target:
        short = tmp_path / "short"
        short.write_bytes(program.read_bytes()[:size])
        os.rename(short, program)
        found = profile(target)
        assert stacks.percent(found, lambda frames: len(frames) > 1) == 100


def test_a_process_without_python(build):
    """Given a program that is no Python, --native profiles it, and dump --native shows it."""
    with targets.command(build("nested.c"), 3) as target:
        outcome = runs.record(target, 1, "--native")
        assert stacks.percent(outcome.stacks(), lambda frames: below_root(frames) == ["main"] + ["nested"] * 3 + ["spin"]) == 100
        (thread,) = runs.dump(target, "--native").values()
        assert below_root(runs.frames_of(thread)) == ["main"] + ["nested"] * 3 + ["spin"]
        assert thread["complete"] and not thread["python"]
        text = runs.pysample("dump", "-p", target.pid, "--native").ok().out
        assert "    main (nested" in text and "Python" not in text
        assert runs.pysample("dump", "-p", target.pid).code == 1


def test_a_stub_of_the_linker_has_the_name_of_what_it_calls(build):
    """Given a program that is often in the stub of an imported function, the frame is called after the function."""
    with targets.command(build("stubs.c")) as target:
        found = profile(target, seconds=2)
        names = set(itertools.chain.from_iterable(stacks.names(frames) for frames in found))
        assert "rand_r@plt" in names, names
        assert not any(name.startswith("+") for name in names), names
