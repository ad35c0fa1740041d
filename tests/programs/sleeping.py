# SPDX-License-Identifier: MIT
"""The main thread sleeps for ever. Runs on CPython 2.7 and 3.6 to 3.15."""

import handshake

handshake.ready()
handshake.sleep_for_ever()
