# SPDX-License-Identifier: MIT
"""What is asked of every interpreter: the profile of tests/programs/shape.py is the program's own account of itself."""

import collections
import contextlib
import json
import os

import runs
import targets

SECONDS = 10
RATE = 200
LEAF = {"alpha": "spin_alpha", "beta": "spin_beta", "gamma": "spin_gamma"}
CALLERS = {  # who may call whom, outermost first; every path of the program is one of these
    "alpha": ["<module>", "main", "run", "wrapper", "alpha", "method"] + ["alpha_down"] * 15 + ["spin_alpha"],
    "beta": ["<module>", "main", "run", "beta", "beta_parts"] + ["beta_down"] * 15 + ["spin_beta"],
    "gamma": ["<module>", "main", "run", "gamma", "nested", "größe"] + ["gamma_down"] * 15 + ["spin_gamma"],
}
INLINE = {"<listcomp>"}  # functions below a leaf, in versions that make a function of a comprehension


class Shape:
    """A profile of shape.py beside what the program said of itself."""

    def __init__(self, facts, spent, outcome):
        self.edges = {tuple(edge) for edge in facts["edges"]}
        self.lines = {(name, file): set(lines) for name, file, lines in facts["lines"]}
        self.spent = spent
        self.outcome = outcome
        self.stacks = outcome.stacks()
        self.total = sum(self.stacks.values())

    def add(self, other):
        """Takes another profile of the same program as a part of this one."""
        self.spent = {path: self.spent[path] + other.spent[path] for path in self.spent}
        self.stacks = dict(collections.Counter(self.stacks) + collections.Counter(other.stacks))
        self.total += other.total

    def paths(self):
        """Function names of the stacks, without what is below the leaf."""
        for frames in self.stacks:
            yield tuple(runs.last(frame.name) for frame in frames if runs.last(frame.name) not in INLINE)

    def share(self, path):
        return runs.share(self.stacks, LEAF[path])

    def true_share(self, path):
        return 100.0 * self.spent[path] / sum(self.spent.values())

    def impossible_pairs(self):
        """Caller and callee that are neighbours in a stack, at a line where the program never made that call."""
        found = set()
        for frames in self.stacks:
            for caller, callee in zip(frames, frames[1:]):
                if (caller.name, os.path.basename(caller.file), caller.line, callee.name) not in self.edges:
                    found.add((caller, callee.name))
        return found

    def impossible_lines(self):
        found = set()
        for frames in self.stacks:
            leaf = frames[-1]
            if leaf.line not in self.lines.get((leaf.name, os.path.basename(leaf.file)), ()):
                found.add(leaf)
        return found


@contextlib.contextmanager
def shape_target(python):
    with targets.python(python, "shape.py") as target:
        target.facts = json.loads(target.read_line())
        yield target


def profile(target, *arguments, seconds=SECONDS):
    before = target.count()
    outcome = runs.record(target, seconds, "-F", RATE, "--weights", "ns", *arguments)
    after = target.count()
    return Shape(target.facts, {path: after[path] - before[path] for path in after}, outcome)


def renamed(path, python):
    """The names of a path in this interpreter: identifiers of 2.7 are ASCII."""
    return tuple("groesse" if name == "größe" and python.version < (3,) else name for name in CALLERS[path])


def check(shape, python):
    """All that the issue asks of one interpreter; the first thing that is wrong fails."""
    found = set(shape.paths())
    for path in CALLERS:
        assert renamed(path, python) in found, "path %s is missing; the deepest stack: %s" % (path, max(found, key=len))
        assert len(CALLERS[path]) >= 20
    assert not shape.impossible_pairs()
    assert not shape.impossible_lines()
    for path in CALLERS:
        assert abs(shape.share(path) - shape.true_share(path)) <= 3.0, (path, shape.share(path), shape.true_share(path))
    assert shape.outcome.complete_percent >= 99.0, shape.outcome.err
    ticks, _, skipped = shape.outcome.ticks  # a busy machine makes ticks late or skips them; none is lost without a word
    assert abs(ticks + skipped - SECONDS * RATE) <= 0.02 * SECONDS * RATE, shape.outcome.err
    assert shape.outcome.samples >= 0.99 * ticks, shape.outcome.err
