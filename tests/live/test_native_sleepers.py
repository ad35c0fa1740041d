# SPDX-License-Identifier: MIT
"""Threads that sleep are not stopped for their native frames either."""

import time

import pytest

import runs
import stacks
import targets

CALLS = ["epoll_wait", "semtimedop", "sigtimedwait", "inotify", "recv"]


@pytest.mark.slow
def test_sleepers_are_read_unstopped(usual_python, helpers):
    """
    Given Python and native threads parked in five system calls that do not restart after a stop: with native frames, their stacks
    are complete, and none of the calls returned EINTR.
    """
    with targets.python(usual_python, "parked.py", helpers, 2, 2, 600000, *CALLS) as target:
        time.sleep(0.3)
        outcome = runs.record(target, 4, "-F", 50, "--native", "--idle", "--threads")
        counted = target.count()
        for call in CALLS:
            waits, interrupted, failed = counted[call]
            assert (interrupted, failed) == (0, 0), (call, counted)
        parked = {frames: weight for frames, weight in outcome.stacks().items() if "park" in stacks.names(frames)}
        assert len(parked) >= 4 * len(CALLS)
        for frames in parked:
            assert not stacks.is_cut(frames) and stacks.fits(frames), frames
            assert stacks.names(frames)[-2:][0] in ("park", "wait_once") or "wait_once" in stacks.names(frames)
            assert "clone3" in stacks.names(frames) or "clone" in stacks.names(frames), frames
        assert "of these 0 stopped" not in outcome.err
        target.finish()
