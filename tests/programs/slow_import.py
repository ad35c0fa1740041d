# SPDX-License-Identifier: MIT
"""A module whose import takes 0.3 s."""

import time

clock = getattr(time, "monotonic", time.time)
end = clock() + 0.3
while clock() < end:
    pass
