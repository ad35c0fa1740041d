# SPDX-License-Identifier: MIT
"""What can be measured, a module each.

A kind has run(settings), which yields records {"kind": …, "profiler": …, …, "repeats": [{…}, …]} of plain values; tables(records),
which makes Markdown of its own records; and goals(records), which returns (goal, measured, "met" | "missed" | "not measured").
"""

import importlib
import pkgutil


def every():
    """Name → module of all kinds, in the order of their names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {name: importlib.import_module("%s.%s" % (__name__, name)) for name in names}
