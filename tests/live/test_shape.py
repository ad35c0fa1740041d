# SPDX-License-Identifier: MIT
"""A program of known shape is seen as it is, in every CPython on the machine."""

import pytest

import shapes


@pytest.mark.slow
def test_profile_is_the_programs_own_account(every_python):
    """
    Given a program that spends 70, 20 and 10 % in three paths of more than 20 frames, through a decorator, a method, a
    generator, a nested function and a non-ASCII name: all paths are there, the shares are right within 3 points, every
    line is one that the program confirms, no pair of caller and callee is impossible, 99 % of the samples are complete.
    """
    with shapes.shape_target(every_python) as target:
        shapes.check(shapes.profile(target), every_python)
        target.finish()
