# SPDX-License-Identifier: MIT
"""Imported by pauses.py: the stack goes through the import system."""

from pauses import pause

pause()
