# SPDX-License-Identifier: MIT
"""Profiles of a number of samples: how many there are in a second is up to the machine that emulates this one."""

import collections

import runs


def stacks(target, samples, *arguments, seconds=1, complete=99, **options):
    """The stacks of at least that many samples, so many percent of them complete."""
    found = collections.Counter()
    while sum(found.values()) < samples:
        outcome = runs.record(target, seconds, *arguments, **options)
        assert not outcome.samples or outcome.complete_percent >= complete, outcome
        found += collections.Counter(outcome.stacks())
    return found
