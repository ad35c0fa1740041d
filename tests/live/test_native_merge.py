# SPDX-License-Identifier: MIT
"""Python frames and C frames in one stack, on every interpreter: in their order, each once."""

import collections
import contextlib
import os

import pytest

import interpreters
import runs
import stacks
import targets

# outer_X calls C, that calls inner_X, and that spin(): what may be between them in Python.
BETWEEN = {
    "sorted": [],
    "reduce": [],
    "qsort": [],
    "del": ["__del__"],
    "json": [],
    "generator": [],
    "sub": ["sub"],
    "compare": ["__lt__"],
    "getattr": ["__getattr__"],
    "raise": [],
    "nested": [],
}
# C functions that must be between them where the interpreter's file tells their names.
C_BETWEEN = {
    "sorted": {"builtin_sorted", "list_sort_impl", "listsort", "sortmethod"},
    "reduce": {"functools_reduce", "builtin_reduce", "_functools_reduce"},
    "qsort": {"_ctypes_callproc"},
    "generator": {"builtin_sum", "builtin_sum_impl"},
    "sub": {"pattern_subx"},
    "compare": {"min_max"},
}


def way_of(frames):
    """Which of mixed.py's ways a stack is of, if it has got as far as spin."""
    found = [runs.last(frame.name) for frame in frames]
    for name in found:
        if name.startswith("outer_"):
            return name[len("outer_") :] if "spin" in found else None
    return None


def python_frames(frames):
    return [frame for frame in frames if frame.line is not None]


def check_way(way, frames):
    """The Python frames are main → outer → inner → spin, and there is C between outer and inner."""
    found = [runs.last(frame.name) for frame in python_frames(frames)]
    middle = found[found.index("outer_" + way) + 1 : found.index("spin")]
    assert found[: found.index("outer_" + way)] == ["<module>", "main"], found
    if way == "nested":
        assert middle == ["<lambda>", "inner_nested", "inner_generator"], found
    else:
        middle = [name for name in middle if name not in BETWEEN[way]]
        assert middle in (["inner_" + way], ["loads", "decode", "raw_decode", "inner_json"]), found
    names = stacks.names(frames)
    if way == "raise":
        return
    outer, inner = names.index("outer_" + way), names.index("inner_" + way)
    assert any(stacks.is_native(frame) for frame in frames[outer:inner]), names


def check_mixed(found, names_are_known):
    """All that is asked of a profile of mixed.py."""
    fitting = stacks.percent(found, stacks.fits)
    assert fitting >= 99, next(frames for frames in found if not stacks.fits(frames))
    ways = collections.Counter()
    for frames, weight in found.items():
        way = way_of(frames) if stacks.fits(frames) else None
        if way and not stacks.is_cut(frames):
            check_way(way, frames)
            ways[way] += weight
            if names_are_known and way in C_BETWEEN:
                assert C_BETWEEN[way] & set(stacks.names(frames)), frames
    assert set(BETWEEN) <= set(ways), "not seen: %s" % (set(BETWEEN) - set(ways))
    complete = stacks.percent(found, lambda frames: not stacks.is_cut(frames))
    assert complete >= 99.5, next(frames for frames in found if stacks.is_cut(frames))


def record_mixed(python, *arguments, **options):
    with targets.python(python, "mixed.py", **options) as target:
        outcome = runs.record(target, 6, "-F", 200, *(arguments or ("--native",)))
        target.finish()
    return outcome.stacks()


def knows_names(python):
    return python.name.endswith(("-pyenv", "-copy", "-debug"))


@pytest.mark.slow
def test_python_called_by_c_called_by_python(every_python):
    """
    Given Python that C calls back in eleven ways, 99 % of the samples show Python and C frames merged, in the order of
    the calls, and 99.5 % are complete.
    """
    check_mixed(record_mixed(every_python), knows_names(every_python))


@pytest.mark.slow
def test_a_stripped_interpreter(copyable_python, tmp_path):
    """The same of an interpreter without a symbol table: its evaluation loop is found, with all its parts."""
    check_mixed(record_mixed(interpreters.copied(copyable_python, tmp_path / "python", strip=True)), False)


@pytest.mark.slow
def test_each_way_of_showing_native_frames(usual_python):
    """fold hides frames that only pass a call on, full shows all of them, leaf only what is below the last Python frame."""
    shown = {how: record_mixed(usual_python, "--native=" + how) for how in ("fold", "full", "leaf")}
    glue = {"_PyFunction_Vectorcall", "_PyEval_Vector", "PyObject_Vectorcall", "Py_RunMain", "Py_BytesMain"}
    names = {how: {name for frames in found for name in stacks.names(frames)} for how, found in shown.items()}
    assert names["full"] & glue and not names["fold"] & glue and not names["leaf"] & glue
    for frames in shown["leaf"]:
        kinds = [stacks.is_native(frame) for frame in frames]
        assert kinds == sorted(kinds), frames  # Python frames first
    assert any(stacks.is_native(frames[-1]) for frames in shown["leaf"])


PERF = [("3.12", "perf"), ("3.13", "perf"), ("3.13", "perf_jit"), ("3.14", "perf"), ("3.14", "perf_jit"), ("3.15", "perf_jit")]


@contextlib.contextmanager
def without_leftovers(python):
    """Removes the files about generated code that an interpreter leaves behind."""
    folder = python.outside("/tmp")
    before = set(os.listdir(folder))
    try:
        yield
    finally:
        for name in set(os.listdir(folder)) - before:
            if name.startswith(("perf-", "jit-")):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(folder, name))


@pytest.mark.slow
@pytest.mark.parametrize("version,option", PERF, ids=["-".join(pair) for pair in PERF])
def test_case_30_trampolines_are_no_frames_of_their_own(version, option):
    """
    Given -X perf or -X perf_jit, stacks are merged and complete as without; no frame is called py::…, since that is the
    Python frame's own trampoline.
    """
    python = interpreters.one(version)
    if not python:
        pytest.skip("no CPython %s" % version)
    with without_leftovers(python):
        with targets.python(python, "mixed.py", options=("-X", option)) as target:
            outcome = runs.record(target, 6, "-F", 200, "--native=full")
            mapped = any("[anon" in line or "jit-" in line for line in open("/proc/%d/maps" % target.pid))
            files = [name for name in os.listdir(python.outside("/tmp")) if str(target.pid) in name]
            target.kill()
    assert files or mapped, "%s does not write about its code" % option
    found = outcome.stacks()
    check_mixed(found, False)
    doubled = [frames for frames in found if any(frame.name.startswith("py::") for frame in frames[:-1])]
    assert stacks.percent(found, lambda frames: frames in doubled) <= 0.5, doubled[0]


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2.7", "3.8", "3.10", "3.12", "3.13"])
def test_cases_24_and_25_a_deep_recursion(version):
    """
    Given a Python stack of 3,000 calls, and one of 50,000: the Python frames are all there as far as the limits go,
    whatever the C stack below them is cut to, and a mark says what is missing.
    """
    python = interpreters.one(version)
    if not python:
        pytest.skip("no CPython %s" % version)
    for depth in (3000, 50000):
        with targets.python(python, "deep.py", depth) as target:
            found = runs.record(target, 1, "-F", 20, "--native").stacks()
            busy = {frames: weight for frames, weight in found.items() if "down" in stacks.names(frames)}
            assert busy
            for frames in busy:
                count = stacks.names(frames).count("down")
                assert stacks.fits(frames)
                if depth == 3000:
                    assert count == depth + 1, count
                else:
                    assert stacks.is_cut(frames) and count >= 2000, count
            target.finish()


@pytest.mark.parametrize("function", ["straight", "framed", "neither", "anonymous", "anonymous_framed", "anonymous_neither"])
def test_case_26_in_the_middle_of_a_python_stack(usual_python, build, function):
    """
    Given a C function without unwind information between two Python frames: both are there, and where the walk ends a mark is
    between them.
    """
    library = build("no_cfi.c", "-shared", "-fPIC")
    with targets.python(usual_python, "no_cfi.py", library, function) as target:
        found = runs.record(target, 1, "-F", 100, "--native").stacks()
        for frames in found:
            names = stacks.names(frames)
            assert stacks.fits(frames)
            assert [name for name in names if name in ("<module>", "outer", "inner")] == ["<module>", "outer", "inner"]
            assert stacks.is_cut(frames) == function.endswith("neither"), names
            if function.endswith("neither"):
                assert names.index("outer") < names.index("[cut: gap]") < names.index("inner")
        target.finish()


def test_dump_shows_native_frames(every_python):
    """dump --native has the stack that a recording has, outermost first, from _start or the thread's start."""
    with targets.python(every_python, "mixed.py", "sorted") as target:
        for _ in range(20):
            (thread,) = runs.dump(target, "--native").values()
            frames = runs.frames_of(thread)
            if way_of(frames) == "sorted" and stacks.fits(frames) and thread["complete"]:
                break
        check_way("sorted", frames)
        kinds = {frame["name"]: frame["kind"] for frame in thread["frames"]}
        assert kinds["<module>"] == "python" and "native" in kinds.values()
        target.finish()
