# SPDX-License-Identifier: MIT
"""What is asked of stacks with native frames in them."""

import runs

MISFIT = "[native and Python frames do not fit]"


def percent(stacks, wanted):
    """The share in percent of the samples whose frames are as wanted(frames) says."""
    total = sum(stacks.values())
    assert total, "no samples"
    return 100.0 * sum(weight for frames, weight in stacks.items() if wanted(frames)) / total


def is_cut(frames):
    return any(frame.name.startswith("[cut: ") for frame in frames)


def fits(frames):
    return all(frame.name != MISFIT for frame in frames)


def is_native(frame):
    """A frame of C: it has a file, or [anon] and the like in its place, and no line."""
    return frame.file is not None and frame.line is None


def names(frames):
    return [runs.last(frame.name) for frame in frames]


def order(frames, wanted):
    """Of the frames those that have one of the wanted names, in their order."""
    return [name for name in names(frames) if name in wanted]

