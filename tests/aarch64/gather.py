# SPDX-License-Identifier: MIT
"""Profiles of a number of samples: how many there are in a second is up to the machine that emulates this one."""

import collections

import runs


def stacks(target, samples, *arguments, seconds=1, **options):
    """The stacks of at least that many samples; 99 % of each part are complete."""
    found = collections.Counter()
    while sum(found.values()) < samples:
        outcome = runs.record(target, seconds, *arguments, **options)
        assert not outcome.samples or outcome.complete_percent >= 99, outcome
        found += collections.Counter(outcome.stacks())
    return found
