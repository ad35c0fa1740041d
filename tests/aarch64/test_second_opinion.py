# SPDX-License-Identifier: MIT
"""
Another unwinder on the same stopped threads: which functions each stack leads through, up to the first one of the thread. It is
eu-stack of the target's suite: Debian 12's knows no signed addresses, and needs not.
"""

import pytest

import second_opinion
import targets

STOPS = 3


@pytest.mark.slow
@pytest.mark.every_cpu("3.13-trixie")
def test_eu_stack_goes_through_the_same_functions(python):
    """Given a process that is stopped a few times: of each of its threads eu-stack and pysample have the same functions."""
    stacks = []
    with targets.command(*python.command(targets.PROGRAMS / "workers.py", 2)) as target:
        tids = {int(word) for word in target.words}
        for _ in range(STOPS):
            with second_opinion.stopped(target.pid):
                saved = second_opinion.capsules(target.pid)
                found = second_opinion.eu_stack(target.pid, python.root)
            assert set(saved) == set(found) == tids
            stacks += [(saved[tid], found[tid]) for tid in tids]
        target.check_untouched()
    different = [pair for pair in stacks if not second_opinion.agrees(*pair)]
    assert not different, "%d of %d differ: %s\n%s" % (len(different), len(stacks), *map(str, different[0]))
