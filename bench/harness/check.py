# SPDX-License-Identifier: MIT
"""Whether the stacks that a profiler has found are stacks that the workload can have had.

Each check takes [(frames, count)] and returns counts of samples; "samples" is all of them.
"""

import collections
import re

CHAIN = re.compile(r"([ab])(\d+)$")
ORDERS = {
    "callback": ["phase_nest", "c_nest", "c_nest_inner", "py_callback"],
    "comparison": ["phase_qsort", "c_qsort", "py_compare"],
    "calls": ["phase_spin", "c_outer", "c_middle", "c_leaf"],
}
PHASES = ["spin", "zlib", "json", "re", "qsort", "nest", "sorted", "reduce"]
ROOTS = ("<module>", "_bootstrap", "Thread._bootstrap")


def last(name):
    """f of Class.f"""
    return name.rsplit(".", 1)[-1]


def python_names(frames):
    return [last(frame.name) for frame in frames if not frame.is_native and frame.name != "<native>"]


def chains(stacks):
    """chains.py: the names of one chain in order are right; any others are torn."""
    found = collections.Counter(samples=0, in_chain=0, torn=0)
    for frames, count in stacks:
        found["samples"] += count
        names = [name for name in python_names(frames) if CHAIN.match(name)]
        if not names:
            continue
        found["in_chain"] += count
        if names != ["%s%d" % (names[0][0], number + 1) for number in range(len(names))]:
            found["torn"] += count
    return dict(found)


def deep(stacks, depth):
    """deep.py: at the bottom there are exactly so many frames of the recursion."""
    found = collections.Counter(samples=0, at_bottom=0, exact=0)
    for frames, count in stacks:
        found["samples"] += count
        names = python_names(frames)
        if "bottom" in names:
            found["at_bottom"] += count
            found["exact"] += count * (names.count("descend") == depth)
    return dict(found)


def is_in_order(names, order):
    rest = iter(names)
    return all(wanted in rest for wanted in order)


def native(stacks, has_native=True):
    """native.py: Python and C frames in the order in which they called each other, and the samples of each phase.

    Without native frames there is no order to judge.
    """
    found = collections.Counter(samples=0)
    for frames, count in stacks:
        found["samples"] += count
        names = [last(frame.name) for frame in frames]
        for phase in {name for name in names if name.startswith("phase_")}:
            found[phase] += count
        for what, order in ORDERS.items() if has_native else ():
            if order[-1] in names:
                found[what] += count
                found[what + "_ok"] += count * is_in_order(names, order)
    return dict(found)


def phase_error(found, taken_ns):
    """The largest difference, in points of percent, between the share of a phase among samples and in truth."""
    samples = [found.get("phase_" + phase, 0) for phase in PHASES]
    if not sum(samples) or not sum(taken_ns):
        return None
    pairs = zip(samples, taken_ns)
    return max(abs(100 * sample / sum(samples) - 100 * ns / sum(taken_ns)) for sample, ns in pairs)


def roots(stacks):
    """Any workload: stacks that begin where a thread does."""
    found = collections.Counter(samples=0, rooted=0)
    for frames, count in stacks:
        found["samples"] += count
        names = python_names(frames)
        found["rooted"] += count * bool(names and names[0] in ROOTS)
    return dict(found)
